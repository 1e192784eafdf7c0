"""lab/exchange/packing.py: replies laid out, masked, truncated and taken apart again, against plain integers."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.crypto import Encoding
from plumbob.errors import EncodingError, RemoteProtocolError
from plumbob.lab.exchange.packing import Slots, centred, per_reply, sum_bits
from plumbob.lab.exchange.paillier import PrivateKey, PublicKey, admit
from tests.crypto.support import LIGHT, seeded
from tests.lab.exchange.support import decrypt_signed

Layout = Callable[[PublicKey, int, int], Slots]


def cut(key: PublicKey, columns: int, bits: int, most: int) -> Slots:
    """At most so many sums in a ciphertext."""
    return Slots.cut(columns, bits, min(most, per_reply(key, bits)))


LAYOUTS: dict[str, Layout] = {
    "packed": Slots.packed,
    "threes": lambda key, columns, bits: cut(key, columns, bits, most=3),
    "single": lambda key, columns, bits: cut(key, columns, bits, most=1),
    "paper": Slots.paper,
}
SLOT_BITS = 21  # No multiple of 8, so that bytes and slots do not share their borders.
LARGEST = (1 << (SLOT_BITS - 1)) - 1

layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def in_the_clear(key: PublicKey, slots: Slots, sums: list[int], mask: list[int]) -> list[int]:
    """What the helper hands back, calculated without encryption: the packed sums plus the mask."""
    width = slots.per_reply
    groups = [sums[start : start + width] for start in range(0, len(sums), width)]
    packed = [sum(value << (k * slots.slot_bits) for k, value in enumerate(group)) for group in groups]
    return slots.truncate([(value + hidden) % key.n for value, hidden in zip(packed, mask, strict=True)])


@st.composite
def reply_sums(draw: st.DrawFn) -> list[int]:
    """Sums that fit their slots, many of them at the limits."""
    entry = st.one_of(st.sampled_from([LARGEST, -LARGEST, 0, -1, 1]), st.integers(-LARGEST, LARGEST))
    return draw(st.lists(entry, min_size=1, max_size=70))


@layouts
@LIGHT
@given(sums=reply_sums())
def test_truncated_replies_are_exact(key: PrivateKey, layout: Layout, sums: list[int]) -> None:
    """Whatever the signs, unpacking what was masked and truncated gives the sums."""
    slots = layout(key.public, len(sums), SLOT_BITS)
    mask = key.public.random_mask(slots.replies, slots.masked_bits)
    assert slots.unpack(in_the_clear(key.public, slots, sums, mask), mask) == sums


PATTERNS: tuple[Callable[[int], int], ...] = (
    lambda k: -1 - k,
    lambda k: -LARGEST,
    lambda k: LARGEST,
    lambda k: LARGEST if k % 2 else -LARGEST,
    lambda k: -1 if k % 2 else 1,
    lambda k: -1 if k == 0 else 0,
    lambda k: 0,
)


@layouts
def test_borrows_are_carried(key: PrivateKey, layout: Layout) -> None:
    """Negative slots borrow from their neighbours and are paid back, in full replies and in a shorter last one."""
    for columns, pattern in product((1, 2, 29, 40, 71), PATTERNS):
        slots, sums = layout(key.public, columns, SLOT_BITS), [pattern(k) for k in range(columns)]
        random, largest = (
            key.public.random_mask(slots.replies, slots.masked_bits),
            [1 << (slots.masked_bits + 1)] * slots.replies,
        )
        for mask in (random, largest):
            assert slots.unpack(in_the_clear(key.public, slots, sums, mask), mask) == sums, (columns, sums)


def digit_by_digit(slots: Slots, packed: list[int]) -> list[int]:
    """Replies taken apart one digit after the other, each borrow paid back at once."""
    sums: list[int] = []
    for value, modulus in zip(packed, slots.moduli, strict=True):
        rest = value % modulus
        while modulus > 1:
            is_last = len(sums) + 1 == slots.columns or modulus >> slots.slot_bits <= 1 or slots.per_reply == 1
            digit_range = modulus if is_last else 1 << slots.slot_bits
            sums.append(centred(rest, digit_range))
            rest, modulus = (rest - sums[-1]) // digit_range, modulus // digit_range
    return sums


@LIGHT
@given(st.integers(1, 13), st.integers(2, 130), st.integers(1, 6), st.booleans(), st.data())
def test_any_reply_is_taken_apart_the_same(
    columns: int, bits: int, width: int, is_whole: bool, data: st.DataObject
) -> None:
    """Whatever came back, digits of any width are those of schoolbook division, in a shorter last reply as well."""
    slots = Slots(columns, bits, 1, (1 << 777,) * columns) if is_whole else Slots.cut(columns, bits, width)
    values, mask = ([data.draw(st.integers(0, 1 << 800)) for _ in slots.moduli] for _ in range(2))
    handed_back = slots.truncate(values)
    packed = [value - hidden for value, hidden in zip(handed_back, mask, strict=True)]
    assert slots.unpack(handed_back, mask) == digit_by_digit(slots, packed)


@layouts
@pytest.mark.parametrize("columns", [1, 31, 33])
def test_encrypted_replies_are_exact(key: PrivateKey, layout: Layout, columns: int) -> None:
    """The same through ciphertexts and bytes, as two parties do it."""
    sums = [LARGEST if k % 3 else -LARGEST + k for k in range(columns)]
    slots = layout(key.public, columns, SLOT_BITS)
    packed = slots.pack(key.encrypt(sums))
    assert len(packed) == slots.replies
    mask = key.public.random_mask(slots.replies, slots.masked_bits)
    reply = (packed + mask).randomised().to_bytes()
    opened = key.decrypt(admit(key.public, reply, slots.replies))
    handed_back = slots.from_bytes(slots.to_bytes(slots.truncate(opened)))
    assert slots.unpack(handed_back, mask) == sums


def test_packing_needs_no_mask_to_be_right(key: PrivateKey) -> None:
    """A packed ciphertext holds the signed sum of the shifted slots, the last reply with fewer of them."""
    slots = Slots.packed(key.public, per_reply(key.public, SLOT_BITS) + 2, SLOT_BITS)
    sums = [(-1) ** k * (LARGEST - k) for k in range(slots.columns)]
    expected = [
        sum(value << (k * SLOT_BITS) for k, value in enumerate(group))
        for group in (sums[: slots.per_reply], sums[slots.per_reply :])
    ]
    assert decrypt_signed(key, slots.pack(key.encrypt(sums))) == expected


def test_only_the_slots_used_come_back(key: PrivateKey) -> None:
    """A truncated reply has the width of its own sums; the paper's form has room for all of n."""
    public = key.public
    full = per_reply(public, SLOT_BITS)
    packed = Slots.packed(public, full + 3, SLOT_BITS)
    assert packed.moduli == (1 << (full * SLOT_BITS), 1 << (3 * SLOT_BITS))
    assert packed.reply_bits == (full + 3) * SLOT_BITS
    assert Slots.cut(5, SLOT_BITS, 1).reply_bits == 5 * SLOT_BITS
    assert Slots.paper(public, 5, SLOT_BITS).reply_bits == 5 * public.profile.key_bits


@pytest.mark.parametrize("room", [1, 4, 19])
def test_a_reply_has_as_many_slots_as_fit(key: PrivateKey, room: int) -> None:
    """Fewer slots in a reply mean more replies and the same bits in all; as many are taken as fit."""
    bits = key.public.reply_bits // room
    slots = Slots.packed(key.public, 40, bits)
    assert slots.per_reply == room
    assert slots.replies == -(-40 // room)
    assert slots.reply_bits == 40 * bits


def test_nothing_hides_beside_the_sums(key: PrivateKey) -> None:
    """What a learner puts above the agreed width is cut off before it is handed back."""
    slots = Slots.packed(key.public, 1, SLOT_BITS)
    hidden = key.encrypt([12345]) * (1 << SLOT_BITS) + key.encrypt([-77])
    assert slots.unpack(slots.truncate(key.decrypt(hidden)), [0]) == [-77]


def test_the_papers_form_has_room_to_hide(key: PrivateKey) -> None:
    """In the paper's form the same learner reads its hidden value, which is what truncation is for."""
    slots = Slots.paper(key.public, 1, SLOT_BITS)
    hidden = key.encrypt([12345]) * (1 << SLOT_BITS) + key.encrypt([-77])
    assert slots.unpack(slots.truncate(key.decrypt(hidden)), [0]) == [(12345 << SLOT_BITS) - 77]


@layouts
def test_width_is_proved_before_anything_is_sent(key: PrivateKey, layout: Layout) -> None:
    """A sum that no reply under this key carries is refused, one that just fits is not."""
    widest = key.public.reply_bits
    assert layout(key.public, 3, widest).replies == 3
    with pytest.raises(EncodingError, match=f"a reply under this key carries {widest}"):
        layout(key.public, 3, widest + 1)


@layouts
def test_the_widest_sums_are_exact(key: PrivateKey, layout: Layout) -> None:
    """At the proved limit of the width both extremes survive mask and truncation."""
    bits = key.public.reply_bits
    sums = [(1 << (bits - 1)) - 1, 1 - (1 << (bits - 1))]
    slots = layout(key.public, 2, bits)
    mask = key.public.random_mask(2, slots.masked_bits)
    opened = key.decrypt(slots.pack(key.encrypt(sums)) + mask)
    assert slots.unpack(slots.truncate(opened), mask) == sums


@LIGHT
@given(st.integers(1, 4096), st.integers(1, 30), st.integers(1, 30))
def test_plans_widths_fit_or_are_refused(key: PrivateKey, rows: int, left: int, right: int) -> None:
    """For every plan, packed extremes of the derived width stay 100 bits below n."""
    bits = sum_bits(rows, Encoding(left, 2), Encoding(right, 2))
    slots = Slots.packed(key.public, 500, bits)
    largest = (1 << (bits - 1)) - 1
    whole = sum(largest << (k * bits) for k in range(slots.per_reply))
    assert whole << 100 < key.public.n


@layouts
def test_opened_sums_have_a_fixed_width(key: PrivateKey, layout: Layout) -> None:
    """The bytes of an answer depend on the layout only, and come back as they were."""
    slots = layout(key.public, 37, SLOT_BITS)
    randomness = seeded("opened")
    lengths = set()
    for values in ([0] * slots.replies, [randomness.below(modulus) for modulus in slots.moduli],
                   [modulus - 1 for modulus in slots.moduli]):  # fmt: skip
        data = slots.to_bytes(values)
        assert slots.from_bytes(data) == values
        lengths.add(len(data))
    assert len(lengths) == 1


@layouts
@pytest.mark.parametrize("change", [-1, 1, 8])
def test_opened_sums_of_another_length_are_refused(key: PrivateKey, layout: Layout, change: int) -> None:
    """An answer with a byte too few or too many is the peer's error."""
    slots = layout(key.public, 37, SLOT_BITS)
    data = slots.to_bytes([0] * slots.replies)
    with pytest.raises(RemoteProtocolError, match=f"got {len(data) + change}"):
        slots.from_bytes(data[:change] if change < 0 else data + bytes(change))


@layouts
@pytest.mark.parametrize("place", ["first", "last"])
def test_opened_sums_that_are_too_wide_are_refused(key: PrivateKey, layout: Layout, place: str) -> None:
    """An answer that is not below its modulus is the peer's error, in every place."""
    slots = layout(key.public, 37, SLOT_BITS)
    if (slots.moduli[0] - 1).bit_length() % 8 == 0:
        pytest.skip("these replies fill their bytes, so nothing too wide can be sent")
    sizes = [len(Slots(1, SLOT_BITS, 1, (modulus,)).to_bytes([0])) for modulus in slots.moduli]
    data = bytearray(sum(sizes))
    start, end = (0, sizes[0]) if place == "first" else (len(data) - sizes[-1], len(data))
    data[start:end] = b"\xff" * (end - start)
    with pytest.raises(RemoteProtocolError, match="wider than agreed"):
        slots.from_bytes(bytes(data))


@LIGHT
@given(st.integers(), st.integers(2, 1 << 80))
def test_centred_residues(value: int, modulus: int) -> None:
    """The centred residue is congruent and at most half the modulus away from 0."""
    residue = centred(value, modulus)
    assert (value - residue) % modulus == 0
    assert -modulus <= 2 * residue <= modulus


encodings = st.builds(Encoding, st.integers(1, 30), st.integers(0, 30))


@LIGHT
@given(st.integers(1, 5000), encodings, encodings)
def test_sum_bits_holds_every_sum(rows: int, left: Encoding, right: Encoding) -> None:
    """The width that the plan derives holds the largest sums that two encodings can produce, and not twice them."""
    largest = rows * ((1 << (left.bits - 1)) - 1) * ((1 << (right.bits - 1)) - 1)
    half = 1 << (sum_bits(rows, left, right) - 1)
    assert -half < -largest <= largest < half
    # Also for entries that use the whole two's complement range.
    assert rows << (left.bits + right.bits - 2) < half
    assert half <= 2 * (rows << (left.bits + right.bits - 2))


@pytest.mark.parametrize("rows", [1, 255, 256, 257])
@pytest.mark.parametrize("sign", [1, -1])
def test_sum_bits_is_tight_at_the_extremes(rows: int, sign: int) -> None:
    """Columns and residuals that are all extreme reach, and do not leave, the slot."""
    features, residuals = Encoding(16, 2), Encoding(20, 4)
    X = features.encode(np.full((rows, 1), features.decode((1 << 18) - 1)))
    v = residuals.encode(np.full(rows, sign * residuals.decode((1 << 24) - 1)))
    total = int((v.values.astype(object) @ X.values.astype(object))[0])
    assert abs(total).bit_length() < sum_bits(rows, features, residuals) <= abs(total).bit_length() + 2
