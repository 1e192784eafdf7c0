"""The promise about whole rows: every lemma of docs/privacy.md is driven to its worst case."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.errors import PrivacyError
from plumbob.plan import Plan
from plumbob.plan.row_noise import FEWEST_ROW_PASSES, MOST_ROW_PASSES
from plumbob.privacy import rows
from plumbob.privacy.accounting import gaussian_delta
from plumbob.privacy.rows import RowCost, Sensitivity
from plumbob.protocol.shares.shape import RunShape

BITS = 13


def squares(units: rows.Units) -> list[int]:
    """Squared lengths in whole numbers without a limit."""
    return [sum(int(value) ** 2 for value in row) for row in units]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 60.0), st.integers(1, 30), st.floats(1e-3, 1e6))
def test_no_row_is_longer_than_its_bound(seed: int, norm: float, columns: int, size: float) -> None:
    """Lemma 1: whatever the values, a clipped row's squared length in whole units is at most the bound's."""
    X = np.random.default_rng(seed).normal(size=(20, columns)) * size
    assert max(squares(rows.clipped_units(X, norm, BITS))) <= rows.squared_norm_units(norm, BITS)


def test_rows_reach_the_bound() -> None:
    """Lemma 1 is tight: a row along one column keeps all of a whole norm, and no unit more."""
    X = np.array([[1e9, 0.0], [-3.0, 0.0], [2.0, 0.0]])
    assert rows.clipped_units(X, 3.0, BITS).tolist() == [[3 << BITS, 0], [-3 << BITS, 0], [2 << BITS, 0]]


def test_rounding_is_toward_zero() -> None:
    """Lemma 1: rounding to the nearest unit could lengthen a row; rounding toward zero cannot."""
    units = rows.clipped_units(np.array([[0.99999, -0.99999]]), 5.0, BITS)
    assert units.tolist() == [[(1 << BITS) - 1, 1 - (1 << BITS)]]


def test_short_rows_stay_as_they_are() -> None:
    """Rows within the bound are only rounded, zero rows included."""
    X = np.array([[0.0, 0.0], [0.5, -0.25]])
    assert np.array_equal(rows.clipped_units(X, 1.0, BITS), (X * 2**BITS).astype(np.int64))


def worst_move(norms: list[float]) -> float:
    """How far the longest row of the plan moves a sum whose residual changes from one end to the other."""
    residual = math.ceil(rows.SERIES_BOUND * 2**20) + 1
    return math.sqrt(sum((2 * residual * value) ** 2 for value in [*(int(norm) << BITS for norm in norms), 1 << BITS]))


@pytest.mark.parametrize("norms", [[3.0], [3.0, 4.0], [1.0, 2.0, 2.0, 7.0]])
def test_one_row_moves_the_gradient_by_the_sensitivity_at_most(norms: list[float]) -> None:
    """Lemma 3 is reached by the longest row whose residual changes from one end to the other, up to one rounding."""
    assert worst_move(norms) <= Sensitivity.of(norms, BITS, 20).units <= worst_move(norms) + 2


def test_forgetting_the_intercept_would_be_noticed() -> None:
    """Lemma 3: without the intercept's 1 the claimed figure is below what a row can do."""
    assert Sensitivity.of([3.0, 4.0], BITS, 20, has_intercept=False).units < worst_move([3.0, 4.0])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_pair_of_rows_moves_the_gradient_further(seed: int) -> None:
    """Lemma 3: any two rows and any two residuals within their bounds, replaced one by the other."""
    generator = np.random.default_rng(seed)
    norms = [2.5, 1.3]
    claimed = Sensitivity.of(norms, BITS, 20)
    moved = []
    for _ in range(2):
        parts = [rows.clipped_units(generator.normal(size=(1, 4)) * 50, norm, BITS)[0] for norm in norms]
        row = [int(value) for part in parts for value in part] + [1 << BITS]
        residual = int(generator.choice([-1, 1])) * claimed.residual
        moved.append([residual * value for value in row])
    assert sum((one - other) ** 2 for one, other in zip(*moved, strict=True)) <= claimed.units**2


def test_a_party_beyond_its_norm_is_not_bound() -> None:
    """A label moves the sum of a column within its norm by less than the noise, of one 1,000 times too long by more."""
    norms = [1.0, 1.0]
    cost = rows.calibrated(1.0, 1e-6, Sensitivity.of(norms, BITS, 20).units, passes=6)
    all_noise = cost.std * math.sqrt(len(norms))
    moved_by_a_label = (1 << BITS) * (1 << 20)
    assert moved_by_a_label < all_noise / 5
    assert 1000 * moved_by_a_label > 5 * all_noise


def test_the_reference_figure() -> None:
    """Noise of 20 sensitivities, 20 passes, delta 1e-6: epsilon 1.014; the classic zCDP formula says 1.20."""
    cost = RowCost(sensitivity=1 << 30, std=20 << 30, passes=20)
    assert cost.rho == pytest.approx(0.025)
    assert cost.epsilon(1e-6) == pytest.approx(1.014, abs=5e-4)
    assert cost.rho + 2 * math.sqrt(cost.rho * math.log(1e6)) == pytest.approx(1.20, abs=5e-3)


def test_whitenings_of_all_parties_add_up() -> None:
    """A tenth of the training's cost at each of two parties makes epsilon 1 about 1.2 times larger than it seemed."""
    alone = RowCost(1, 20, 20)
    together = RowCost(1, 20, 20, at_home=(0.0025, 0.0025))
    assert together.rho == pytest.approx(alone.rho * 1.2)
    assert together.epsilon(1e-6) > 1.09 * alone.epsilon(1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("home", [0.0, 0.1])
def test_calibration_keeps_the_promise_and_wastes_nothing(epsilon: float, delta: float, home: float) -> None:
    """The chosen noise costs at most epsilon with everything charged, and less than a thousandth below it."""
    at_home = [home * rows.total_rho(epsilon, delta)] * 3
    cost = rows.calibrated(epsilon, delta, 1 << 40, 20, at_home)
    assert 0.999 * epsilon < cost.epsilon(delta) <= epsilon


@pytest.mark.parametrize("rho", [0.001, 0.025, 0.3, 4.0])
def test_the_conversion_is_proved_by_integration(rho: float) -> None:
    """Proposition 12 holds for the worst case there is, a Gaussian moved by sqrt(2 rho): its true delta is smaller."""
    cost = RowCost(1000, round(1000 / math.sqrt(2 * rho)), 1)
    x = np.linspace(-30, 30 + math.sqrt(2 * rho), 600_001)
    mean = math.sqrt(2 * cost.rho)
    p, q = (np.exp(-((x - at) ** 2) / 2) / math.sqrt(2 * math.pi) for at in (mean, 0.0))
    for delta in (1e-6, 1e-3):
        true = float(np.maximum(0.0, p - math.exp(cost.epsilon(delta)) * q).sum() * (x[1] - x[0]))
        assert true <= delta
        assert true > delta / 100


@pytest.mark.parametrize(("std", "passes"), [(3, 1), (8, 4), (20, 20)])
def test_dp_accounting_agrees(std: int, passes: int) -> None:
    """An independent accountant's Renyi figure is ours, and its loss distribution lies below the proved figure."""
    accounting = pytest.importorskip("dp_accounting", reason="no dp-accounting here")
    rdp = pytest.importorskip("dp_accounting.rdp", reason="no dp-accounting here")
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="no dp-accounting here")
    cost = RowCost(1, std, passes, failure=0.0)
    event = accounting.SelfComposedDpEvent(accounting.GaussianDpEvent(std), passes)
    renyi = rdp.RdpAccountant(orders=list(np.linspace(1.05, 200, 4000))).compose(event).get_epsilon(1e-6)
    assert cost.epsilon(1e-6) == pytest.approx(renyi, rel=1e-3)
    discrete = pld.from_discrete_gaussian_mechanism(sigma=std, sensitivity=1, value_discretization_interval=1e-3)
    lost = discrete.self_compose(passes).get_epsilon_for_delta(1e-6)
    assert lost <= cost.epsilon(1e-6)
    assert cost.unproved_epsilon(1e-6) == pytest.approx(lost, rel=2e-2)


def test_failures_are_paid_from_delta() -> None:
    """A larger chance of failure leaves less delta, and so a larger epsilon; with too large a one there is none."""
    exact, failing = RowCost(1, 20, 20, failure=0.0), RowCost(1, 20, 20, failure=1e-7)
    assert failing.epsilon(1e-6) > exact.epsilon(1e-6)
    assert RowCost(1, 20, 20, failure=1e-6).epsilon(1e-6) == math.inf


@pytest.mark.parametrize(("failure", "delta"), [(1e-12, 1e-6), (1e-9, 1e-6), (2e-8, 1e-6), (3e-7, 1e-4)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0])
def test_failures_count_for_both_neighbours(epsilon: float, failure: float, delta: float) -> None:
    """Lemma 10: noise and 1 + e^epsilon times the chance of a failure together stay within delta, at the epsilon said.

    The noise's own part is integrated for the Gaussian at that epsilon.
    """
    cost = rows.calibrated(epsilon, delta, 1000, 10, failure=failure)
    said = cost.epsilon(delta)
    assert said <= epsilon
    of_noise = gaussian_delta(math.sqrt(2 * cost.rho), said)
    assert of_noise + (1 + math.exp(said)) * failure <= delta


def test_a_failure_that_would_take_half_of_delta_is_refused() -> None:
    """The promise is not made where 1 + e^epsilon times the chance is beyond that: epsilon 8 counts it 2,982 times."""
    with pytest.raises(PrivacyError, match=r"counts 1 \+ e\^epsilon times.*lower epsilon"):
        rows.total_rho(8.0, 1e-6, 2.0**-30)
    assert rows.total_rho(4.0, 1e-6, 2.0**-30) > 0


def test_failures_of_several_runs_add_up() -> None:
    """What two runs spent is the sum of both, failures included, and it costs more than the noise alone."""
    once = rows.RowSpending(0.02, 1e-9)
    twice = once + once
    assert twice == rows.RowSpending(0.04, 2e-9)
    assert rows.RowSpending(0.04).epsilon(1e-6) < twice.epsilon(1e-6) < 2 * once.epsilon(1e-6)


def test_nothing_left_for_training_is_refused() -> None:
    """Parties that spend everything at home are told so."""
    with pytest.raises(PrivacyError, match="nothing is left for training"):
        rows.calibrated(1.0, 1e-6, 100, 10, at_home=[rows.total_rho(1.0, 1e-6)])


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_a_meaningless_epsilon_is_refused(epsilon: float) -> None:
    """Epsilon must be above 0."""
    with pytest.raises(PrivacyError, match="expected epsilon above 0"):
        rows.total_rho(epsilon, 1e-6)


def test_one_honest_party_is_enough() -> None:
    """Lemma 5: the cost that is claimed counts one party's noise; more of it can only lower what a guesser sees."""
    alone = rows.calibrated(1.0, 1e-6, 1 << 30, 20)
    every = RowCost(alone.sensitivity, math.isqrt(5 * alone.std**2), alone.passes)
    assert every.epsilon(1e-6) < 0.5 * alone.epsilon(1e-6) < alone.epsilon(1e-6) <= 1.0


def test_what_epsilon_means_for_a_coin_flip() -> None:
    """A label drawn by a fair coin is named with probability .731, .881 and .982 at most, for epsilon 1, 2 and 4."""
    assert [round(rows.coin_flip_bound(epsilon, 1e-6), 3) for epsilon in (1, 2, 4)] == [0.731, 0.881, 0.982]
    assert rows.coin_flip_bound(0.0, 0.0) == 0.5
    assert rows.coin_flip_bound(800.0, 1e-6) == pytest.approx(1.0)
    assert rows.odds_factor(1.0) == pytest.approx(math.e)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (2.0, 0.05), (0.1, 0.01)])
def test_the_coin_flip_bound_is_reached(epsilon: float, delta: float) -> None:
    """The best (epsilon, delta) answer there is, randomised response with a leak, reaches the bound exactly."""
    honest = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    assert rows.coin_flip_bound(epsilon, delta) == pytest.approx(honest + delta, rel=1e-12)


def test_norms_and_rate_follow_the_public_shape() -> None:
    """R_k is the party's share of the joint norm, sqrt of all columns unless the plan says otherwise."""
    assert rows.norms_of(0.0, (11, 12)) == pytest.approx((math.sqrt(11), math.sqrt(12)))
    assert rows.norms_of(2.0, (0, 4, 12)) == pytest.approx((1.0, math.sqrt(3)))
    assert math.hypot(*rows.norms_of(3.0, (5, 6, 7))) == pytest.approx(3.0)
    assert Plan.for_columns((11, 12), noise="rows", rows=9_000).rate == pytest.approx(4 / 3)  # Lemma 7.


@pytest.mark.parametrize("norm", [0.0, -1.0, 2.0**20])
def test_a_norm_that_cannot_be_counted_in_units_is_refused(norm: float) -> None:
    """Norms are above 0 and small enough for exact squares."""
    with pytest.raises(PrivacyError, match="expected a norm"):
        rows.squared_norm_units(norm, BITS)


# The public rule: passes, norms, and what each party may spend at home.


def test_the_rule_stays_within_its_limits() -> None:
    """However many rows there are, passes stay between the fewest and the most."""
    for n in (1, 100, 10_000, 10**9):
        assert FEWEST_ROW_PASSES <= rows.row_rule(n, (5, 5), 1.0, 1e-6).passes <= MOST_ROW_PASSES


def test_rows_are_shortened_where_noise_is_dear() -> None:
    """Never below a quarter of sqrt of all columns, never above it, and shorter the fewer rows there are."""
    shares = [rows.row_rule(n, (10, 10), 1.0, 1e-6).row_norm / math.sqrt(20) for n in (100, 3000, 6000, 10**6)]
    assert shares[0] == pytest.approx(0.25)
    assert shares[-1] == pytest.approx(1.0)
    assert shares == sorted(shares)
    assert 0.3 < shares[1] < shares[2] < 0.9


@pytest.mark.parametrize("named", [0, 3000])
def test_a_run_follows_the_rule_for_the_rows_that_it_trains_on(named: int) -> None:
    """Whether the plan names rows or not; what a plan says itself stays."""
    plan = Plan.for_columns((10, 10), rows=named, test_share=0.2, noise="rows")
    rule = rows.row_rule(2400, (10, 10), plan.epsilon, plan.delta)
    ruled = plan.on(2400)
    assert ruled.passes_without_sample == plan.passes(2400) == rule.passes
    assert ruled.joint_norm == plan.norm_over(2400) == pytest.approx(rule.row_norm)
    assert RunShape(plan, 2400).plan == ruled
    assert plan.replace(epochs=3).on(2400).passes(2400) == 3
    plain = Plan.for_columns((10, 10), rows=3000)
    assert plain.on(3000) == plain


@pytest.mark.parametrize("parties", [1, 2, 5, 8])
def test_homes_never_spend_more_than_half(parties: int) -> None:
    """A tenth each, and at most half together; a party without columns spends nothing."""
    spent = rows.rho_at_home(1.0, [3] * parties) * parties
    assert spent == pytest.approx(min(0.1 * parties, 0.5))
    assert rows.rho_at_home(1.0, [0, 3, 3]) == rows.rho_at_home(1.0, [3, 3])
