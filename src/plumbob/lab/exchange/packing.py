"""Replies: how sums are laid into ciphertexts, and what of a decrypted one is handed back.

Mask upward, truncate downward (docs/exchange.md, "Replies"). The learner masks with r; the helper decrypts
D = S + r and hands back D modulo 2**K only, K the width of an honest reply, so that nothing fits beside it. In the
paper's form, kept as the target of the packing attack, K is the whole width of a plaintext.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from plumbob.checking.study import Widths
from plumbob.crypto import Encoding
from plumbob.data import largest_batch
from plumbob.errors import EncodingError, RemoteProtocolError
from plumbob.lab.exchange.paillier import EncryptedVector
from plumbob.lab.exchange.profiles import Profile, profile_of
from plumbob.plan import Plan


def sum_bits(rows: int, left: Encoding, right: Encoding) -> int:
    """Width, sign included, that holds any sum over `rows` of a product of two encoded numbers."""
    # abs(sum) <= rows * 2**(left.bits - 1) * 2**(right.bits - 1) < 2**(result - 1).
    return left.bits + right.bits - 1 + rows.bit_length()


@dataclass(frozen=True)
class Slots:
    """`columns` sums of `slot_bits` bits each (sign included), `per_reply` in one ciphertext."""

    columns: int
    slot_bits: int
    per_reply: int
    moduli: tuple[int, ...]
    """For each reply, the power of two modulo which it is handed back."""

    @classmethod
    def packed(cls, profile: Profile, columns: int, slot_bits: int) -> "Slots":
        """As many sums in a ciphertext as fit below the mask; only their own bits come back."""
        return cls.cut(columns, slot_bits, per_reply(profile, slot_bits))

    @classmethod
    def paper(cls, profile: Profile, columns: int, slot_bits: int) -> "Slots":
        """One sum in a ciphertext, and the whole plaintext comes back: room for hidden values."""
        per_reply(profile, slot_bits)
        return cls(columns, slot_bits, 1, (profile.whole_reply,) * columns)

    @classmethod
    def cut(cls, columns: int, slot_bits: int, width: int) -> "Slots":
        """So many sums in a ciphertext, of which only their own bits come back."""
        used = [min(width, columns - start) for start in range(0, columns, width)]
        return cls(columns, slot_bits, width, tuple(1 << (count * slot_bits) for count in used))

    @property
    def replies(self) -> int:
        """How many ciphertexts carry all the sums."""
        return len(self.moduli)

    @property
    def masked_bits(self) -> int:
        """Width, sign included, of the widest reply before its mask."""
        return min(self.per_reply, self.columns) * self.slot_bits

    @property
    def reply_bits(self) -> int:
        """What a learner, honest or not, can read from one step."""
        return sum((modulus - 1).bit_length() for modulus in self.moduli)

    def pack(self, sums: EncryptedVector) -> EncryptedVector:
        """Pack the sums into replies: sum k of a reply moves up by k slots."""
        if len(sums) != self.columns:
            raise EncodingError(f"expected {self.columns} sums to pack, got {len(sums)}")
        if self.per_reply == 1:
            return sums
        key = sums.key
        return EncryptedVector(key, key.engine.pack(key.ring, sums.limbs, self.per_reply, self.slot_bits))

    def truncate(self, opened: Sequence[int]) -> list[int]:
        """The helper's part: what it hands back of the plaintexts it decrypted."""
        return [value & (modulus - 1) for value, modulus in zip(opened, self.moduli, strict=True)]

    def unpack(self, handed_back: Sequence[int], mask: Sequence[int]) -> list[int]:
        """The learner's part: the sums themselves, lowest slot first; a negative one borrows from its neighbour."""
        sums: list[int] = []
        for value, hidden, modulus in zip(handed_back, mask, self.moduli, strict=True):
            rest, left = value - hidden, modulus
            last = min(len(sums) + self.per_reply, self.columns) - 1
            while len(sums) <= last:
                # The last one has all the bits that are left: in the paper's form far more than a slot.
                reach = left if len(sums) == last else 1 << self.slot_bits
                sums.append(centred(rest % left, reach))
                rest, left = (rest - sums[-1]) // reach, left // reach
        return sums

    def to_bytes(self, handed_back: Sequence[int]) -> bytes:
        """The replies as bytes of a fixed width: each in the bytes that its modulus needs."""
        return b"".join(value.to_bytes(size, "little") for value, size in zip(handed_back, self._sizes, strict=True))

    @property
    def opened_bytes(self) -> int:
        """Bytes that the helper hands back in one step."""
        return sum(self._sizes)

    def from_bytes(self, data: bytes) -> list[int]:
        """What the helper handed back, if it has exactly the agreed width."""
        if len(data) != self.opened_bytes:
            raise RemoteProtocolError(f"expected {self.opened_bytes} bytes of opened sums, got {len(data)}")
        values, start = [], 0
        for size, modulus in zip(self._sizes, self.moduli, strict=True):
            values.append(int.from_bytes(data[start : start + size], "little"))
            start += size
            if values[-1] >= modulus:
                raise RemoteProtocolError("an opened sum is wider than agreed; expected it below its modulus")
        return values

    @cached_property
    def _sizes(self) -> list[int]:
        return [-(-(modulus - 1).bit_length() // 8) for modulus in self.moduli]


def slots_for(plan: Plan, widths: Widths, columns: int, training_rows: int) -> Slots:
    """How a learner's sums travel under a helper's key; the widths are proved to hold all that honest parties say."""
    # In `arbiter` the joint residuals hold the learner's own part too.
    helpers = len(plan.learners) - (1 if plan.arbiter is None else 0)
    bits, profile = widths.sums(largest_batch(training_rows, plan), helpers), profile_of(plan)
    if plan.replies == "packed":
        return Slots.packed(profile, columns, bits)
    return Slots.paper(profile, columns, bits)


def per_reply(profile: Profile, slot_bits: int) -> int:
    """How many slots a reply has. Refuses a width that none under such a key can carry: the static overflow proof."""
    count = profile.reply_bits // slot_bits
    if count == 0:
        raise EncodingError(
            f"sums of {slot_bits} bits: a reply under this key carries {profile.reply_bits}; "
            "choose fewer fraction bits or a longer key"
        )
    return count


def centred(value: int, modulus: int) -> int:
    """The residue in [-modulus/2, modulus/2)."""
    return (value + modulus // 2) % modulus - modulus // 2
