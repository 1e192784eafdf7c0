"""`packing`: extra sums hidden in the high bits of honest replies (section 5.2, Algorithm 2). By either party.

View: the replies to own masked sums, by helpers (`exchange`) or by the arbiter. Where the helper hands whole plaintexts
back (`replies = "paper"`), each has room for dozens of values above the honest sum. They are laid there before masking,
so that nothing of what the helper receives looks different, and split off, borrows included, after unmasking. The
honest sum is read from below: training continues undisturbed, the final model is the honest one bit for bit.

Two things can be hidden:

- `AuxiliaryPacking`, the paper's: sums with random auxiliary features, then a linear system in the batch's residuals.
  Cost: a product with as many columns as the batch has rows, and one least-squares solve a step.
- `OneHotPacking`, beyond it: each residual's ciphertext goes straight into a slot. No solve, fewer operations on top
  than an honest step has, exact to the encoding.

Condition: batch size <= slots * own columns, slots = floor((key bits - 101 - honest bits) / slot bits). Slots hold any
signed value that the public widths allow, so that a borrow never reaches further than the next slot.

Against truncated replies (`packed`, `single`) there is no room above. `TruncatedPacking` gives its honest sums up
instead and lays residuals into all the bits that come back: never more than floor(reply bits / (residual bits + 2)) a
step. If that covers the batch, it calculates the honest sums itself from what it read and training stays undisturbed in
every step; otherwise it attacks in the first step only, whose gradient it never gets, and its model is a step short
there.

Feature party: the other parts of residuals carry the labels. Label party: they are the peer's scores (in `minimax` they
travel by themselves, as the third term).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Encoded, Encoding, EncryptedVector, PublicKey, Slots
from plumbob.crypto.fixed_point import sum_bits
from plumbob.crypto.limbs import concatenate
from plumbob.crypto.packing import centred
from plumbob.data import Batch, largest_batch
from plumbob.lab.attacks.active import ActiveAttack
from plumbob.lab.attacks.attacking_parties import AttackingArbitratedParty, AttackingExchangeParty
from plumbob.lab.attacks.integers import exact_product, narrow_residual, signed_digits, solve_exactly
from plumbob.lab.attacks.interface import Condition, NotApplicable
from plumbob.model import bounds
from plumbob.plan import Plan
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.widths import Widths, columns_of

# Narrow auxiliary features leave more slots than features of the plan's width; the solve is exact all the same.
AUXILIARY = Encoding(0, 7)


@dataclass(frozen=True)
class Compression:
    """Below in each reply the honest sum of `honest_bits`, above it `per_reply` hidden values of `slot_bits`."""

    columns: int
    honest_bits: int
    slot_bits: int
    per_reply: int

    @classmethod
    def fitting(cls, key: PublicKey, honest: Slots, slot_bits: int, wanted: int) -> "Compression":
        """Room for `wanted` hidden values, or for as many as a plaintext holds."""
        most = (key.reply_bits - honest.slot_bits) // slot_bits
        return cls(honest.columns, honest.slot_bits, slot_bits, min(most, -(-wanted // honest.columns)))

    @property
    def hidden(self) -> int:
        """Values that one step hides."""
        return self.columns * self.per_reply

    @property
    def bits(self) -> int:
        """Width, sign included, of a reply before its mask."""
        return self.honest_bits + self.per_reply * self.slot_bits

    def compress(self, enc_sums: EncryptedVector, enc_hidden: EncryptedVector) -> EncryptedVector:
        """The paper's compression: hidden values times powers of two, on top of the honest sums."""
        lifted = stacked(enc_hidden, self.columns, self.per_reply, self.slot_bits) * (1 << self.honest_bits)
        return enc_sums + lifted

    def split(self, whole: Sequence[int]) -> tuple[list[int], list[int]]:
        """(the honest sums, the hidden values)."""
        honest = [centred(value, 1 << self.honest_bits) for value in whole]
        above = ((value - low) >> self.honest_bits for value, low in zip(whole, honest, strict=True))
        return honest, [digit for rest in above for digit in signed_digits(rest, self.slot_bits, self.per_reply)]


def stacked(values: EncryptedVector, replies: int, per_reply: int, slot_bits: int) -> EncryptedVector:
    """Each `per_reply` ciphertexts one above the other in one; what is missing at the end is filled with zeros."""
    key = values.key
    zeros = key.embed([0] * (replies * per_reply - len(values)))
    limbs = concatenate([values.limbs, zeros])
    return EncryptedVector(key, key.engine.pack(key.ring, limbs, per_reply, slot_bits))


@dataclass(frozen=True)
class Cut:
    """In each reply, which is cut to its modulus, as many residuals as fit and nothing else."""

    moduli: tuple[int, ...]
    slot_bits: int
    is_whole_batch: bool

    @classmethod
    def fitting(cls, slots: Slots, plan: Plan, widths: Widths, rows: int) -> "Cut":
        """As wide as any residual can be if the batch fits then, otherwise as narrow as labels allow."""
        narrowest = narrow_residual(plan).bits
        choices = [cls(slots.moduli, bits, True) for bits in range(widths.residuals.bits, narrowest - 1, -1)]
        fitting = (choice for choice in choices if sum(choice.counts) >= rows)
        return next(fitting, cls(slots.moduli, narrowest, False))

    @property
    def counts(self) -> list[int]:
        """How many residuals each reply carries."""
        return [(modulus - 1).bit_length() // self.slot_bits for modulus in self.moduli]

    def lay(self, wanted: EncryptedVector) -> EncryptedVector:
        """The first ones that fit."""
        return stacked(wanted[: sum(self.counts)], len(self.counts), max(self.counts), self.slot_bits)

    def read(self, replies: Sequence[int]) -> list[int]:
        pairs = zip(replies, self.counts, strict=True)
        return [digit for reply, count in pairs for digit in signed_digits(reply, self.slot_bits, count)]

    def attacks_in(self, step: int) -> bool:
        """Attack wherever the batch is read whole, because the honest sums follow from it; else once, at first."""
        return self.is_whole_batch or step == 1


def whole_condition(key: PublicKey, slots: Slots, slot_bits: int, rows: int) -> Condition:
    """Section 5.2: the batch must fit into the slots of all replies."""
    count = (key.reply_bits - slots.slot_bits) // slot_bits
    reach, needed = count * slots.columns, f"at least the batch, {rows} rows"
    name = f"hidden values per step ({count} slots of {slot_bits} bits in {slots.columns} replies)"
    return Condition(name, reach, needed, reach >= rows, "section 5.2")


def cut_condition(slots: Slots, residual_bits: int, rows: int) -> Condition:
    """How many residuals fit into replies that are cut to an honest width."""
    bound, needed = bounds.readable_residuals(slots.reply_bits, residual_bits), f"at least the batch, {rows} rows"
    name = f"residuals that {slots.reply_bits} bits of replies can carry per step"
    return Condition(name, bound, needed, bound >= rows, 'docs/protocol.md, "Replies"')


class PackingParty(AttackingExchangeParty):
    """`replies = "paper"`: hidden values above the honest ones."""

    @property
    @abstractmethod
    def slot_bits(self) -> int:
        """Bits of a hidden value, sign included."""

    @abstractmethod
    def hide(self, enc_wanted: EncryptedVector) -> EncryptedVector:
        """What is laid above the honest sums, made of the ciphertexts of the wanted residuals."""

    @abstractmethod
    def uncover(self, matrix: Encoded, honest: list[int], hidden: list[int]) -> list[int] | None:
        """The residuals, from what came back."""

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        compression = self.compression(len(batch))
        self._matrix = matrix

        def lay(received: EncryptedVector) -> EncryptedVector:
            return compression.compress(received @ matrix, self.hide(received)[: compression.hidden])

        return self.ask_for(batch, len(matrix.values), compression.bits, lay)

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        honest, hidden = self.compression(len(batch)).split(self.joint_replies(batch, masks))
        residuals = self.uncover(self._matrix, honest, hidden[: len(batch)])
        if residuals is not None:
            self.keep(batch, range(len(residuals)), residuals)
        return self.widths.decode_sums(honest)

    def compression(self, rows: int) -> Compression:
        """As much as a batch needs, or as fits."""
        return Compression.fitting(self.reply_key, self.slots, self.slot_bits, rows)

    def conditions(self) -> tuple[Condition, ...]:
        rows = largest_batch(len(self.shard), self.plan)
        return (whole_condition(self.reply_key, self.slots, self.slot_bits, rows),)


class OneHotPacking(PackingParty):
    """Every residual in a slot of its own."""

    @property
    def slot_bits(self) -> int:
        return self.widths.residuals.bits

    def hide(self, enc_wanted: EncryptedVector) -> EncryptedVector:
        return enc_wanted

    def uncover(self, matrix: Encoded, honest: list[int], hidden: list[int]) -> list[int]:
        return hidden


class AuxiliaryPacking(PackingParty):
    """Algorithm 2 as the paper has it: sums with random features that nobody agreed on."""

    @property
    def slot_bits(self) -> int:
        return sum_bits(largest_batch(len(self.shard), self.plan), AUXILIARY, self.widths.residuals)

    def hide(self, enc_wanted: EncryptedVector) -> EncryptedVector:
        count = min(len(enc_wanted), self.compression(len(enc_wanted)).hidden)
        limit = 1 << (AUXILIARY.bits - 1)
        self._auxiliary = self._generator.integers(1 - limit, limit, (len(enc_wanted), count))
        return enc_wanted @ Encoded(self._auxiliary, AUXILIARY)

    def uncover(self, matrix: Encoded, honest: list[int], hidden: list[int]) -> list[int] | None:
        return solve_exactly(np.hstack([matrix.values, self._auxiliary]), honest + hidden)

    @cached_property
    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(int.from_bytes(self.participant.draws.of("attack").draw(16), "little"))


class TruncatedPacking(AttackingExchangeParty):
    """`packed`: residuals in place of the honest sums, because nothing comes back beside these."""

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        cut = self.cut(batch)
        if not cut.attacks_in(batch.step):
            return super().ask(batch, matrix)
        self._matrix = matrix

        def lay(received: EncryptedVector) -> EncryptedVector:
            return cut.lay(received)

        return self.ask_for(batch, len(matrix.values), self.slots.masked_bits, lay)

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        cut = self.cut(batch)
        if not cut.attacks_in(batch.step):
            return super().collect(batch, masks)
        residuals = cut.read(self.joint_replies(batch, masks))[: len(batch)]
        self.keep(batch, range(len(residuals)), residuals)
        if not cut.is_whole_batch:
            return np.zeros(self.columns)
        return self.widths.decode_sums(exact_product(residuals, self._matrix.values))

    def cut(self, batch: Batch) -> Cut:
        return Cut.fitting(self.slots, self.plan, self.widths, len(batch))

    def conditions(self) -> tuple[Condition, ...]:
        return (cut_condition(self.slots, self.plan.residual_bits, largest_batch(len(self.shard), self.plan)),)


class ArbitratedPacking(AttackingArbitratedParty):
    """`arbiter`, with either kind of reply: one-hot slots above the honest sums, or in their place."""

    def opened_sums(self, batch: Batch, enc_residuals: EncryptedVector) -> Vector:
        X = self.encoded_features(batch)
        if self.plan.replies == "paper":
            return self._beside(batch, enc_residuals, X)
        cut = Cut.fitting(self.slots, self.plan, self.widths, len(batch))
        if cut.attacks_in(batch.step):
            return self._instead(batch, enc_residuals, X, cut)
        return super().opened_sums(batch, enc_residuals)

    def _beside(self, batch: Batch, enc_residuals: EncryptedVector, X: Encoded) -> Vector:
        compression = Compression.fitting(self.reply_key, self.slots, self.widths.residuals.bits, len(batch))
        enc_laid = compression.compress(enc_residuals @ X, enc_residuals[: compression.hidden])
        honest, hidden = compression.split(self.joint_replies(batch, enc_laid))
        residuals = hidden[: len(batch)]
        self.keep(batch, range(len(residuals)), residuals)
        return self.widths.decode_sums(honest)

    def _instead(self, batch: Batch, enc_residuals: EncryptedVector, X: Encoded, cut: Cut) -> Vector:
        residuals = cut.read(self.joint_replies(batch, cut.lay(enc_residuals)))[: len(batch)]
        self.keep(batch, range(len(residuals)), residuals)
        if not cut.is_whole_batch:
            return np.zeros(self.columns)
        return self.widths.decode_sums(exact_product(residuals, X.values))

    def conditions(self) -> tuple[Condition, ...]:
        rows = largest_batch(len(self.shard), self.plan)
        if self.plan.replies == "paper":
            return (whole_condition(self.reply_key, self.slots, self.widths.residuals.bits, rows),)
        return (cut_condition(self.slots, self.plan.residual_bits, rows),)


def arm(plan: Plan, name: str) -> type[TrainingParty] | NotApplicable:
    """One-hot slots: above the honest sums where replies come back whole, instead of them where they are cut."""
    if not (plan.kind.is_encrypted and plan.kind.shows_gradients):
        return NotApplicable(f'protocol "{plan.protocol}": nobody hands opened sums back')
    if not columns_of(plan, name):
        return NotApplicable("a party without columns gets no replies")
    if plan.unmasked_gradients_for_the_arbiter:
        return NotApplicable("replies have no masks: the arbiter would see what is hidden in them")
    if plan.kind.has_arbiter:
        return ArbitratedPacking
    return OneHotPacking if plan.replies == "paper" else TruncatedPacking


PACKING_BY_FEATURE_PARTY = ActiveAttack("packing", "features", arm)
PACKING_BY_LABEL_PARTY = ActiveAttack("packing", "label", arm)
ATTACKS = (PACKING_BY_FEATURE_PARTY, PACKING_BY_LABEL_PARTY)
