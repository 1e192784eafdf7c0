"""Widths: whatever an honest party can have to say fits, and the sums of it too."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.checking.study import feature_integer_bits, widths_for
from plumbob.data import build_shard, split_array
from plumbob.errors import EncodingError, RemoteProtocolError
from plumbob.lab.exchange.packing import slots_for
from plumbob.model import logistic
from tests.protocol.support import plan_for

SIZES = st.integers(2, 70)


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


@pytest.mark.parametrize("row_norm", [1.9999999, 2.0, 0.5, 7.99999999])
def test_a_row_of_exactly_the_norm_fits(row_norm: float) -> None:
    """One party with all the columns but its peer's empty one uses the whole norm."""
    X = np.array([[1e6], [-1e6], [1e6], [-1e6]])
    plan = plan_for((0, 1), protocol="exchange", intercept=False, row_norm=row_norm, scale="none", feature_bits=8)
    shard = build_shard(split_array(X, np.arange(4) % 2, (0, 1))[1], plan, "features", b"key")
    assert np.abs(widths_for(plan, 4).features.encode(shard.X).values).max() == round(row_norm * 256)


def test_unscaled_features_have_a_fixed_width() -> None:
    """Without scaling and clipping features must stay below 128, and larger ones are refused without being shown."""
    plan = plan_for((1, 1), scale="none", protocol="exchange")
    features = widths_for(plan, 100).features
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
    plan = plan_for((1, 1), feature_bits=feature_bits, protocol="exchange")
    widths = widths_for(plan, max(rows, 16))
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
    own = logistic.partial_residuals(np.array([score]), np.array([sign]))
    residuals.encode(own + 8 * noise_std)
    residuals.encode(own - 8 * noise_std)


def test_sums_are_decoded_to_what_they_stand_for() -> None:
    """An integer sum is divided by both scales."""
    widths = widths_for(plan_for((1, 1), protocol="exchange", feature_bits=16, residual_bits=20), 100)
    assert widths.decode_sums([3 << 36, -(1 << 35)]).tolist() == [3.0, -0.5]


def test_a_sum_beyond_all_numbers_is_the_peers_fault() -> None:
    """A whole plaintext that no honest helper hands back is refused, not an overflow."""
    with pytest.raises(RemoteProtocolError, match="wider than any honest one"):
        widths_for(plan_for((1, 1), protocol="exchange"), 100).decode_sums([1 << 2040])
