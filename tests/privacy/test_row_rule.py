"""The public rule of whole rows, and the forecast of what noise costs."""

import math

import numpy as np
import pytest

from plumbob.plan.settings import FEWEST_ROW_PASSES, MOST_ROW_PASSES
from plumbob.privacy import rows
from plumbob.privacy.noise_cost import BEARABLE, Slope
from plumbob.privacy.row_rule import (
    CURVATURE,
    MOMENTUM,
    expected_auc_loss,
    gradient_noise,
    rho_at_home,
    row_rule,
)

DELTA = 1e-6
# (rows, columns, epsilon, passes, whether whitened, measured loss of AUC): forty made-up tables of many shapes, ten
# draws each, everything charged (benchmarks/row_privacy.py); no constant of the forecast was chosen on them.
MEASURED = [
    (19568, (26, 26), 0.97, 7, True, 0.0079),
    (2703, (21, 21), 1.31, 6, False, 0.0348),
    (2471, (6, 7), 0.97, 6, True, 0.0120),
    (8936, (11, 11), 6.37, 20, True, 0.0004),
    (6450, (17, 18), 2.46, 9, True, 0.0075),
    (8054, (23, 24), 3.09, 10, True, 0.0038),
    (33581, (15, 15), 3.68, 20, True, 0.0001),
    (2244, (27, 28), 6.22, 6, True, 0.0150),
    (15603, (11, 11), 0.92, 13, True, 0.0034),
    (30167, (12, 13), 4.80, 20, True, 0.0001),
    (4585, (22, 22), 3.33, 7, True, 0.0070),
    (1690, (28, 29), 1.45, 6, False, 0.0725),
    (2391, (10, 11), 7.32, 15, True, 0.0039),
    (10601, (12, 13), 1.50, 12, True, 0.0052),
    (2743, (19, 19), 3.66, 6, True, 0.0183),
    (30459, (10, 10), 1.62, 20, True, 0.0002),
    (2740, (14, 15), 4.90, 8, True, 0.0045),
    (4946, (16, 17), 1.94, 6, True, 0.0055),
    (9800, (20, 21), 3.45, 15, True, 0.0046),
    (22703, (26, 27), 0.96, 8, True, 0.0026),
    (4904, (5, 6), 7.84, 20, True, 0.0002),
    (2359, (3, 3), 3.66, 20, True, 0.0032),
    (19620, (7, 8), 0.97, 20, True, 0.0013),
    (3969, (25, 25), 2.99, 6, True, 0.0082),
    (3365, (5, 5), 1.03, 7, True, 0.0105),
    (4954, (22, 22), 2.21, 6, True, 0.0106),
    (25710, (24, 25), 3.53, 20, True, 0.0009),
    (31767, (17, 18), 6.53, 20, True, 0.0001),
    (12825, (7, 8), 2.69, 20, True, 0.0007),
    (16040, (9, 9), 1.79, 20, True, 0.0009),
    (17084, (6, 6), 1.86, 20, True, 0.0005),
    (2654, (16, 16), 2.36, 6, True, 0.0171),
    (1541, (10, 10), 1.60, 6, False, 0.0412),
    (24287, (5, 6), 0.62, 20, True, 0.0014),
    (8419, (20, 21), 0.85, 6, True, 0.0200),
    (2840, (4, 5), 4.03, 20, True, 0.0008),
    (6071, (26, 27), 1.34, 6, True, 0.0221),
    (4196, (5, 5), 0.74, 6, True, 0.0048),
    (10610, (8, 8), 2.40, 20, True, 0.0005),
    (4290, (15, 15), 7.94, 20, True, 0.0022),
]


def test_the_forecast_is_close_on_tables_that_it_was_not_fitted_on() -> None:
    """In nine of ten settings the expected loss is within .01 of the measured one."""
    close = [
        abs(expected_auc_loss(n, columns, epsilon, DELTA, passes, is_whitened=is_whitened) - loss) <= 0.01
        for n, columns, epsilon, passes, is_whitened, loss in MEASURED
    ]
    assert sum(close) >= 0.9 * len(MEASURED)


def test_what_it_calls_unbearable_is_dear() -> None:
    """Where the forecast is beyond what it can tell, the measured loss is large."""
    for n, columns, epsilon, passes, is_whitened, loss in MEASURED:
        if expected_auc_loss(n, columns, epsilon, DELTA, passes, is_whitened=is_whitened) > BEARABLE:
            assert loss > BEARABLE - 0.01


@pytest.mark.parametrize(("n", "columns", "epsilon", "passes", "is_whitened", "loss"), MEASURED)
def test_the_measured_settings_are_the_rule_s(
    n: int, columns: tuple[int, int], epsilon: float, passes: int, is_whitened: bool, loss: float
) -> None:
    """The passes that those runs took are what the rule gives, so the comparison is about plans as they are."""
    rule = row_rule(n, columns, epsilon, DELTA)
    assert abs(rule.passes - passes) <= 1
    assert rule.is_whitened == is_whitened


def test_less_budget_more_columns_and_fewer_rows_cost_more() -> None:
    """The forecast moves in the direction that everybody expects."""
    usual = expected_auc_loss(10_000, (10, 10), 1.0, DELTA, 10)
    assert usual < expected_auc_loss(10_000, (10, 10), 0.5, DELTA, 10)
    assert usual < expected_auc_loss(5_000, (10, 10), 1.0, DELTA, 10)
    assert usual < expected_auc_loss(10_000, (20, 20), 1.0, DELTA, 10)
    assert usual < expected_auc_loss(10_000, (5, 5, 5, 5), 1.0, DELTA, 10)
    assert 0 < usual < 0.3


def test_noise_without_end_leaves_a_coin() -> None:
    """Where the noise drowns everything, the expected loss is all that the AUC was above one half."""
    assert expected_auc_loss(50, (10, 10), 0.01, DELTA, 20) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("rate", [4 / 3, 1.0])
def test_the_accumulated_noise_is_the_recursion_s(rate: float) -> None:
    """The variance of a weight after all passes is what a simulated descent on a parabola has."""
    generator = np.random.default_rng(0)
    weights, steps = np.zeros(200_000), np.zeros(200_000)
    for _ in range(12):
        steps = MOMENTUM * steps - rate * (CURVATURE * weights + generator.normal(size=len(weights)))
        weights = weights + steps
    assert Slope(rate, MOMENTUM, CURVATURE).accumulated(12) == pytest.approx(float(weights.var()), rel=0.02)


def test_the_rule_stays_within_its_limits() -> None:
    """However many rows there are, passes stay between the fewest and the most; few rows are not whitened."""
    for n in (1, 100, 10_000, 10**9):
        assert FEWEST_ROW_PASSES <= row_rule(n, (5, 5), 1.0, DELTA).passes <= MOST_ROW_PASSES
    assert not row_rule(500, (10, 10), 1.0, DELTA).is_whitened
    assert row_rule(500, (10, 10), 1.0, DELTA).burden > row_rule(5000, (10, 10), 1.0, DELTA).burden


@pytest.mark.parametrize("parties", [1, 2, 5, 8])
def test_homes_never_spend_more_than_half(parties: int) -> None:
    """A tenth each, and at most half together; a party without columns spends nothing."""
    spent = rho_at_home(1.0, [3] * parties) * parties
    assert spent == pytest.approx(min(0.1 * parties, 0.5))
    assert rho_at_home(1.0, [0, 3, 3]) == rho_at_home(1.0, [3, 3])


def test_the_variance_is_that_of_the_calibrated_noise() -> None:
    """The forecast uses the deviation that calibration gives, to a thousandth."""
    columns, n, passes = (11, 12), 27_000, 20
    rho = rows.total_rho(1.0, DELTA)
    homes = [rho_at_home(rho, columns)] * 2
    sensitivity = rows.Sensitivity.of(rows.norms_of(0.0, columns), 13, 20)
    cost = rows.calibrated(1.0, DELTA, sensitivity.units, passes, homes)
    deviation = cost.std / 2.0**33 * math.sqrt(2) / n
    assert gradient_noise(n, columns, 1.0, DELTA, passes) == pytest.approx(deviation, rel=1e-3)
