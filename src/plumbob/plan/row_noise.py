"""The public rules of noise for whole rows: passes, norm and bins follow from rows, columns and budget alone."""

import math

BIN_SCALE = 0.6
"""The factor on bins beside their plain column, so that their weights are penalised more.

The plain column says what rises or falls evenly; what is left to the bins is less.
"""
FEWEST_ROW_PASSES, MOST_ROW_PASSES = 6, 20
PASSES_AT_FULL_BURDEN = 0.13
NORM_AT_FULL_BURDEN, LEAST_NORM = 0.12, 0.25
MOST_ROW_BINS = 64
"""Under noise for whole rows, a column's cuts are ends of this many cells."""
ROW_BINS_UP_TO = ((0.0085, 10), (0.012, 6), (0.025, 3))
"""The burden of the noise, with these bins, up to which a column has them."""


def counted_columns(columns: float, bins: int) -> float:
    """Encoded columns, where each bin counts as its variance beside the column that it belongs to.

    A plan does not tell bins from levels, which are more seldom than a column of numbers and count as much.
    """
    return columns * (1 + (bins - 1) * BIN_SCALE**2) / bins if bins else float(columns)


def row_passes(rows: int, columns: float, epsilon: float, delta: float) -> int:
    """The public rule for passes under noise for whole rows: each divides the budget, so fewer if noise is costly."""
    wanted = PASSES_AT_FULL_BURDEN / row_burden(rows, columns, epsilon, delta)
    return round(min(MOST_ROW_PASSES, max(FEWEST_ROW_PASSES, wanted)))


def usual_row_norm(rows: int, columns: float, epsilon: float, delta: float) -> float:
    """The public rule for the clipping norm: noise grows with it, so rows are shortened where noise is costly.

    A row of whitened columns is about sqrt of their number long. Shorter ones keep their directions.
    """
    share = NORM_AT_FULL_BURDEN / math.sqrt(row_burden(rows, columns, epsilon, delta))
    return math.sqrt(columns) * min(1.0, max(LEAST_NORM, share))


def row_burden(rows: int, columns: float, epsilon: float, delta: float) -> float:
    """How much noise for whole rows weighs: columns / (rows * sqrt of the budget).

    The square root of the budget is about what the usual conversion gives, with a smaller logarithm because the proved
    one is better.
    """
    logarithm = max(1.0, math.log(1.0 / delta) - 3.5)
    budget = math.sqrt(logarithm + epsilon) - math.sqrt(logarithm)
    return max(1, columns) / (max(1, rows) * budget)


def bins_under_noise(rows: int, numeric_columns: int, levels: int, epsilon: float, delta: float) -> int:
    """The bins of each numeric column under noise for whole rows, from public numbers: as many as it leaves room for.

    docs/privacy.md says on which tables they gain and what they can cost.
    """
    if not numeric_columns:
        return 0
    for most, bins in ROW_BINS_UP_TO:
        if row_burden(rows, numeric_columns * bins + levels, epsilon, delta) <= most:
            return bins
    return 0
