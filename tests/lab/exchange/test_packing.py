"""lab/exchange/packing.py: widths that hold whatever honest parties say, and replies against plain integers."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plumbob.checking.study import feature_integer_bits, widths_for
from plumbob.crypto import Encoding
from plumbob.data import build_shard, split_array
from plumbob.errors import EncodingError, RemoteProtocolError
from plumbob.lab import one_step
from plumbob.lab.exchange.packing import Slots, centred, per_reply, slots_for, sum_bits
from plumbob.lab.exchange.paillier import PrivateKey, admit
from plumbob.lab.exchange.profiles import TEST_ONLY, Profile
from tests.crypto.support import LIGHT, seeded
from tests.lab.exchange.support import decrypt_signed
from tests.protocol.support import plan_for

Layout = Callable[[Profile, int, int], Slots]
LAYOUTS: dict[str, Layout] = {
    "packed": Slots.packed,
    "threes": lambda profile, columns, bits: Slots.cut(columns, bits, min(3, per_reply(profile, bits))),
    "single": lambda profile, columns, bits: Slots.cut(columns, bits, min(1, per_reply(profile, bits))),
    "paper": Slots.paper,
}
SLOT_BITS = 21  # No multiple of 8, so that bytes and slots do not share their borders.
LARGEST = (1 << (SLOT_BITS - 1)) - 1

layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


# Replies.


def in_the_clear(n: int, slots: Slots, sums: list[int], mask: list[int]) -> list[int]:
    """What the helper hands back, calculated without encryption: the packed sums plus the mask."""
    width = slots.per_reply
    groups = [sums[start : start + width] for start in range(0, len(sums), width)]
    packed = [sum(value << (k * slots.slot_bits) for k, value in enumerate(group)) for group in groups]
    return slots.truncate([(value + hidden) % n for value, hidden in zip(packed, mask, strict=True)])


def patterned(pattern: Callable[[int], int]) -> list[list[int]]:
    """Sums by their place, in full replies and in a shorter last one."""
    return [[pattern(k) for k in range(columns)] for columns in (1, 2, 29, 40, 71)]


BORROWS = [
    *patterned(lambda k: -1 - k),
    *patterned(lambda k: -LARGEST),
    *patterned(lambda k: LARGEST if k % 2 else -LARGEST),
    *patterned(lambda k: -1 if k == 0 else 0),
]
entries = st.one_of(st.sampled_from([LARGEST, -LARGEST, 0, -1, 1]), st.integers(-LARGEST, LARGEST))


@layouts
def test_borrows_are_carried(key: PrivateKey, layout: Layout) -> None:
    """Negative slots borrow from their neighbours and are paid back, under random masks and the largest."""
    for sums in BORROWS:
        slots = layout(TEST_ONLY, len(sums), SLOT_BITS)
        random = key.public.random_mask(slots.replies, slots.masked_bits)
        for mask in (random, [1 << (slots.masked_bits + 1)] * slots.replies):
            assert slots.unpack(in_the_clear(key.public.n, slots, sums, mask), mask) == sums


@layouts
@LIGHT
@given(sums=st.lists(entries, min_size=1, max_size=70))
def test_truncated_replies_are_exact(key: PrivateKey, layout: Layout, sums: list[int]) -> None:
    """Whatever the signs, unpacking what was masked and truncated gives the sums."""
    slots = layout(TEST_ONLY, len(sums), SLOT_BITS)
    mask = key.public.random_mask(slots.replies, slots.masked_bits)
    assert slots.unpack(in_the_clear(key.public.n, slots, sums, mask), mask) == sums


@LIGHT
@given(st.integers(1, 13), st.integers(2, 130), st.integers(1, 6), st.booleans(), st.data())
def test_any_reply_is_taken_apart_into_digits(
    columns: int, bits: int, width: int, is_whole: bool, data: st.DataObject
) -> None:
    """Whatever came back, the digits, each in its range, add up to the reply modulo its modulus."""
    slots = Slots(columns, bits, 1, (1 << 777,) * columns) if is_whole else Slots.cut(columns, bits, width)
    values, mask = ([data.draw(st.integers(0, 1 << 800)) for _ in slots.moduli] for _ in range(2))
    sums = slots.unpack(slots.truncate(values), mask)
    assert len(sums) == columns
    for place, (value, hidden, modulus) in enumerate(zip(values, mask, slots.moduli, strict=True)):
        own = sums[place * slots.per_reply : (place + 1) * slots.per_reply]
        assert (sum(one << k * bits for k, one in enumerate(own)) - value + hidden) % modulus == 0
        assert all(abs(one) <= 1 << ((777 if is_whole else bits) - 1) for one in own)


@layouts
@pytest.mark.parametrize("columns", [1, 31, 33])
def test_encrypted_replies_are_exact(key: PrivateKey, layout: Layout, columns: int) -> None:
    """The same through ciphertexts and bytes, as two parties do it."""
    sums = [LARGEST if k % 3 else -LARGEST + k for k in range(columns)]
    slots = layout(TEST_ONLY, columns, SLOT_BITS)
    packed = slots.pack(key.encrypt(sums))
    assert len(packed) == slots.replies
    mask = key.public.random_mask(slots.replies, slots.masked_bits)
    reply = (packed + mask).randomised().to_bytes()
    opened = key.decrypt(admit(key.public, reply, slots.replies))
    handed_back = slots.from_bytes(slots.to_bytes(slots.truncate(opened)))
    assert slots.unpack(handed_back, mask) == sums


@layouts
def test_the_widest_sums_are_exact_and_wider_ones_refused(key: PrivateKey, layout: Layout) -> None:
    """At the limit both extremes survive mask and truncation; beyond it nothing is sent."""
    bits = TEST_ONLY.reply_bits
    sums = [(1 << (bits - 1)) - 1, 1 - (1 << (bits - 1))]
    slots = layout(TEST_ONLY, 2, bits)
    mask = key.public.random_mask(2, slots.masked_bits)
    opened = key.decrypt(slots.pack(key.encrypt(sums)) + mask)
    assert slots.unpack(slots.truncate(opened), mask) == sums
    with pytest.raises(EncodingError, match=f"a reply under this key carries {bits}"):
        layout(TEST_ONLY, 3, bits + 1)


def test_only_the_slots_used_come_back() -> None:
    """A truncated reply has the width of its own sums, as many as fit; the paper's form has room for all of n."""
    full = per_reply(TEST_ONLY, SLOT_BITS)
    packed = Slots.packed(TEST_ONLY, full + 3, SLOT_BITS)
    assert packed.moduli == (1 << (full * SLOT_BITS), 1 << (3 * SLOT_BITS))
    assert packed.reply_bits == (full + 3) * SLOT_BITS
    assert Slots.cut(5, SLOT_BITS, 1).reply_bits == 5 * SLOT_BITS
    assert Slots.paper(TEST_ONLY, 5, SLOT_BITS).reply_bits == 5 * TEST_ONLY.key_bits
    for room in (1, 4, 19):
        slots = Slots.packed(TEST_ONLY, 40, TEST_ONLY.reply_bits // room)
        assert (slots.per_reply, slots.replies) == (room, -(-40 // room))


@pytest.mark.parametrize(("layout", "read"), [(Slots.packed, -77), (Slots.paper, (12345 << SLOT_BITS) - 77)])
def test_only_the_papers_form_has_room_to_hide(key: PrivateKey, layout: Layout, read: int) -> None:
    """What a learner puts above the agreed width is cut off; in the paper's form it reads its hidden value."""
    hidden = key.encrypt([12345]) * (1 << SLOT_BITS) + key.encrypt([-77])
    slots = layout(TEST_ONLY, 1, SLOT_BITS)
    assert decrypt_signed(key, hidden) == [(12345 << SLOT_BITS) - 77]
    assert slots.unpack(slots.truncate(key.decrypt(hidden)), [0]) == [read]


@layouts
def test_opened_sums_have_a_fixed_width(layout: Layout) -> None:
    """The bytes of an answer depend on the layout only; one too short, too long or not below its modulus is refused."""
    slots, randomness = layout(TEST_ONLY, 37, SLOT_BITS), seeded("opened")
    for values in (
        [0] * slots.replies,
        [randomness.below(modulus) for modulus in slots.moduli],
        [modulus - 1 for modulus in slots.moduli],
    ):
        data = slots.to_bytes(values)
        assert slots.from_bytes(data) == values
        assert len(data) == slots.opened_bytes
    for unfit in (data[:-1], data + b"\0", data + bytes(8)):
        with pytest.raises(RemoteProtocolError, match=f"got {len(unfit)}"):
            slots.from_bytes(unfit)
    size = -(-(slots.moduli[0] - 1).bit_length() // 8)
    if slots.moduli[0] < 1 << 8 * size:
        with pytest.raises(RemoteProtocolError, match="wider than agreed"):
            slots.from_bytes(b"\xff" * size + bytes(len(data) - size))


@LIGHT
@given(st.integers(), st.integers(2, 1 << 80))
def test_centred_residues(value: int, modulus: int) -> None:
    """The centred residue is congruent and at most half the modulus away from 0."""
    residue = centred(value, modulus)
    assert (value - residue) % modulus == 0
    assert -modulus <= 2 * residue <= modulus


# Widths: whatever an honest party can have to say fits, and the sums of it too.

encodings = st.builds(Encoding, st.integers(1, 30), st.integers(0, 30))


@LIGHT
@given(st.integers(1, 5000), encodings, encodings)
@example(256, Encoding(16, 2), Encoding(20, 4))
def test_sum_bits_holds_every_sum(rows: int, left: Encoding, right: Encoding) -> None:
    """The derived width holds the largest sums of two encodings, and not twice them; packed, 100 bits stay below n."""
    largest = rows * ((1 << (left.bits - 1)) - 1) * ((1 << (right.bits - 1)) - 1)
    bits = sum_bits(rows, left, right)
    half = 1 << (bits - 1)
    # Also for entries that use the whole two's complement range.
    assert largest <= rows << (left.bits + right.bits - 2) < half <= 2 * (rows << (left.bits + right.bits - 2))
    slots = Slots.packed(TEST_ONLY, 500, bits)
    assert sum(half - 1 << k * bits for k in range(slots.per_reply)) << 100 < 1 << (TEST_ONLY.key_bits - 1)


def encodes(X: np.ndarray[tuple[int, int], np.dtype[np.float64]], **keys: object) -> bool:
    """Whether a table's own training rows fit the width that the plan and the number of rows imply."""
    plan = plan_for((X.shape[1], 1), batches="full", protocol="exchange", **keys)
    whole = np.hstack([X, np.zeros((len(X), 1))])
    shard = build_shard(split_array(whole, np.arange(len(X)) % 2, (X.shape[1], 1))[0], plan, "label", b"key")
    encoded = widths_for(plan, len(shard)).features.encode(shard.X, "features")
    return bool(np.array_equal(encoded.values / 2.0**plan.feature_bits, shard.X))


@given(st.integers(2, 70), st.floats(-1e6, 1e6), st.floats(1e-3, 1e9), st.integers(1, 40))
@settings(deadline=None)
def test_one_outlier_fits(rows: int, base: float, jump: float, feature_bits: int) -> None:
    """The worst standardised column, one row apart from all others, stays within its width at any precision."""
    column = np.full(rows, base)
    column[0] += jump
    assert encodes(column[:, None], feature_bits=feature_bits)


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=70), st.sampled_from([0.0, 1e3, 1e9, 1e15]))
@settings(deadline=None)
def test_every_standardised_column_fits(values: list[float], offset: float) -> None:
    """No finite column is too wide after standardisation, however large its mean is beside its deviation."""
    assert encodes(np.array(values)[:, None] + offset)


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=2, max_size=12),
    st.one_of(st.floats(1e-3, 1e3), st.sampled_from([1.0, 2.0, 1.9999999999, 4.0 - 1e-7])),
    st.integers(1, 40),
    st.sampled_from(["standard", "none"]),
)
@settings(deadline=None)
def test_clipped_rows_fit(rows: list[list[float]], row_norm: float, feature_bits: int, scale: str) -> None:
    """A clipped row fits the width of its norm, also where rounding takes it up to the norm's next multiple."""
    assert encodes(np.array(rows), row_norm=row_norm, feature_bits=feature_bits, scale=scale)


def test_unscaled_features_have_a_fixed_width() -> None:
    """Without scaling and clipping features must stay below 128, and larger ones are refused without being shown."""
    features = widths_for(plan_for((1, 1), scale="none", protocol="exchange"), 100).features
    features.encode([127.9, -127.9])
    with pytest.raises(EncodingError, match=r"below 2\*\*7") as caught:
        features.encode([777.0])
    assert "777" not in str(caught.value)


@given(st.integers(1, 10**7))
def test_the_width_depends_on_public_numbers_only(rows: int) -> None:
    """An intercept's 1 always fits, and one more bit would have been enough for twice the bound."""
    bits = feature_integer_bits(plan_for((1, 1), protocol="exchange"), rows)
    assert 2**bits > 1
    assert np.sqrt(rows) < 2**bits <= max(2.0, 2.0 * np.sqrt(rows) + 1e-3)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 40))
def test_no_sum_is_wider_than_its_slot(rows: int, helpers: int, feature_bits: int) -> None:
    """Every entry at its largest, of either sign: the sum over a batch and all helpers still fits, sign included."""
    widths = widths_for(plan_for((1, 1), feature_bits=feature_bits, protocol="exchange"), max(rows, 16))
    largest = (2 ** (widths.features.bits - 1) - 1) * (2 ** (widths.residuals.bits - 1) - 1)
    assert rows * helpers * largest < 2 ** (widths.sums(rows, helpers) - 1)


def test_slots_are_as_wide_as_the_sum_over_all_helpers() -> None:
    """More parties, and in `arbiter` the learner's own part too, make wider slots."""

    def bits(columns: tuple[int, ...], protocol: str) -> int:
        plan = plan_for(columns, protocol=protocol, batch_size=16)
        return slots_for(plan, widths_for(plan, 16), 2, 16).slot_bits

    assert bits((1, 1), "exchange") + 1 == bits((1, 1), "arbiter") == bits((1, 1, 1), "exchange")
    assert bits((1, 1, 1, 1, 1), "exchange") == bits((1, 1), "exchange") + 2


@given(st.floats(-1024.0, 1024.0), st.sampled_from([-1.0, 1.0]), st.floats(0.0, 1e6))
def test_every_released_residual_fits(score: float, sign: float, noise_std: float) -> None:
    """A score within the guard's limit, its label, and eight deviations of noise fit the residuals' width."""
    noise = {"noise": "std", "noise_std": noise_std, "row_norm": 1.0} if noise_std > 0 else {}
    residuals = widths_for(plan_for((1, 1), protocol="exchange", **noise), 100).residuals
    own = one_step.partial_residuals(np.array([score]), np.array([sign]))
    residuals.encode(own + 8 * noise_std)
    residuals.encode(own - 8 * noise_std)


def test_sums_are_decoded_to_what_they_stand_for() -> None:
    """An integer sum is divided by both scales; one that no honest helper hands back is refused, not an overflow."""
    widths = widths_for(plan_for((1, 1), protocol="exchange", feature_bits=16, residual_bits=20), 100)
    assert widths.decode_sums([3 << 36, -(1 << 35)]).tolist() == [3.0, -0.5]
    with pytest.raises(RemoteProtocolError, match="wider than any honest one"):
        widths.decode_sums([1 << 2040])
