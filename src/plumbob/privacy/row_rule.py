"""The public rule of `noise = "rows"`: passes, whitening, and how the budget is split; and what noise will cost.

Everything follows from numbers that are in the plan: rows, columns, parties, epsilon and delta. One figure decides, the
burden: columns / (rows * sqrt(rho)), which is the noise in a score beside the score. The constants come from made-up
tables (benchmarks/row_privacy.py), not from those that results are reported on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.plan.settings import row_passes
from plumbob.privacy.home import LEAST_GAMMA
from plumbob.privacy.noise_cost import USUAL_AUC, Slope, auc_loss
from plumbob.privacy.rows import SERIES_BOUND, public_rate, total_rho

HOME_SHARE = 0.1
"""Of the whole budget, spent by each party on its own scaling and whitening; all of them together at most half."""
LARGEST_BURDEN_WHITENED = 0.05
"""Beyond it the noise in a covariance does more harm than whitening does good."""
CURVATURE = 0.2
"""Of the loss along a whitened direction: the mean of p (1 - p) for scores as they usually are in few passes."""
USUAL_SQUARE = 0.68
"""The variance of a column that is scaled by its range."""
MOMENTUM = 0.5


@dataclass(frozen=True)
class RowRule:
    """What a plan that leaves it open gets."""

    passes: int
    is_whitened: bool
    rho_at_home: float
    """zCDP that each party with columns may spend on its own rows before training."""
    burden: float


def row_rule(rows: int, columns: Sequence[int], epsilon: float, delta: float) -> RowRule:
    """From public numbers alone; `columns` are each party's."""
    rho = total_rho(epsilon, delta)
    burden = max(1, sum(columns)) / (max(1, rows) * math.sqrt(rho))
    passes = row_passes(rows, sum(columns), epsilon, delta)
    return RowRule(passes, burden <= LARGEST_BURDEN_WHITENED, rho_at_home(rho, columns), burden)


def rho_at_home(rho: float, columns: Sequence[int]) -> float:
    """Each party's part of the budget: a tenth, or less where many parties would spend more than half together."""
    parties = sum(own > 0 for own in columns)
    return rho * min(HOME_SHARE, 0.5 / max(1, parties))


def expected_auc_loss(
    rows: int,
    columns: Sequence[int],
    epsilon: float,
    delta: float,
    passes: int,
    auc: float = USUAL_AUC,
    *,
    is_whitened: bool = True,
) -> float:
    """How much AUC the noise is expected to cost, against the same run without it, for a model of this AUC.

    docs/privacy.md compares it with runs. Where it is large, tables differ too much for a figure: see
    `noise_cost.BEARABLE`.
    """
    rate = public_rate(len(columns))
    # The intercept's column is 1 and has no whitening.
    in_score, learned = Slope(rate, MOMENTUM, CURVATURE).accumulated(passes), 0.0
    for own in columns:
        square = _mean_square(rows, own, columns, epsilon, delta) if is_whitened else USUAL_SQUARE
        slope = Slope(rate, MOMENTUM, CURVATURE * square)
        in_score += own * square * slope.accumulated(passes)
        learned += own / sum(columns) * slope.learned(passes)
    variance = gradient_noise(rows, columns, epsilon, delta, passes) ** 2 * in_score
    return auc_loss(variance, learned, auc)


def gradient_noise(rows: int, columns: Sequence[int], epsilon: float, delta: float, passes: int) -> float:
    """The deviation of all parties' noise together, in one coordinate of one pass's gradient."""
    rho = total_rho(epsilon, delta)
    left = rho - rho_at_home(rho, columns) * sum(own > 0 for own in columns)
    sensitivity = 2 * math.sqrt(sum(columns) + 1) * float(SERIES_BOUND)
    return sensitivity * math.sqrt(passes / (2 * left)) * math.sqrt(len(columns)) / rows


def _mean_square(rows: int, own: int, columns: Sequence[int], epsilon: float, delta: float) -> float:
    """Of a whitened column: below 1, because the whitening must not trust a covariance beyond its own noise."""
    rho = rho_at_home(total_rho(epsilon, delta), columns) / 2
    noise = (own + 1) / (rows * math.sqrt(2 * rho))
    gamma = max(LEAST_GAMMA, 2 * noise * math.sqrt(own))
    return USUAL_SQUARE / (USUAL_SQUARE + gamma)
