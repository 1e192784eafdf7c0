"""Two-sided 95 % intervals for what the auditor measures, chosen so that they hold near 0 and 1 as well.

An attack that works is right nearly always, which is where the usual normal intervals shrink to nothing and promise
too much. A row is taken as one draw from the people whom such a run could have been about.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.model.metrics import NORMAL_QUANTILE, auc_interval

Interval = tuple[float, float]

RESAMPLES = 1000
RESAMPLES_AT_ONCE = 50


def wilson(right: float, n: int) -> Interval:
    """The interval for a share: `right` of `n` (Wilson 1927, the interval that the score test inverts)."""
    share, spread = right / n, NORMAL_QUANTILE**2 / n
    centre = (share + spread / 2) / (1 + spread)
    half = NORMAL_QUANTILE * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # At 0 and n the ends are 0 and 1 but for rounding.
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))


def balanced_accuracy(right: Interval, n: tuple[int, int]) -> Interval:
    """The interval for the mean of two classes' accuracies: Wilson intervals, squared and added (Newcombe 1998)."""
    shares = [one / size for one, size in zip(right, n, strict=True)]
    ends = [wilson(one, size) for one, size in zip(right, n, strict=True)]
    below = math.hypot(*(share - low for share, (low, _) in zip(shares, ends, strict=True))) / 2
    above = math.hypot(*(high - share for share, (_, high) in zip(shares, ends, strict=True))) / 2
    mean = sum(shares) / 2
    return mean - below, mean + above


def auc(is_positive: NDArray[np.bool_], scores: Vector) -> Interval:
    """The interval for an AUC: DeLong's variance (1988) on the rows and two imaginary ones of each class.

    Of those two, one lies as right and one as wrong as can be. That is Agresti and Coull's remedy for shares: without
    it the interval of an AUC of 1 would be a point, whatever the number of rows.
    """
    ranks, ends = np.unique(scores, return_inverse=True)[1].astype(np.float64), [-np.inf, np.inf]
    return auc_interval(np.append(ranks[is_positive], ends), np.append(ranks[~is_positive], ends))


def explained(truth: Matrix, errors: Matrix) -> Interval:
    """The interval for an R^2: percentiles over resampled rows; the same rows always give the same interval."""
    values = np.concatenate(list(_bootstrap(truth, errors)))
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _bootstrap(truth: Matrix, errors: Matrix) -> Iterator[Vector]:
    generator, n = np.random.default_rng(RESAMPLES), len(truth)
    centred = truth - truth.mean(axis=0)
    squares, mistakes = (centred**2).sum(axis=1), (errors**2).sum(axis=1)
    sums_of = np.column_stack([squares, mistakes, centred])
    for _ in range(RESAMPLES // RESAMPLES_AT_ONCE):
        drawn = [np.bincount(generator.integers(n, size=n), minlength=n) for _ in range(RESAMPLES_AT_ONCE)]
        sums = np.array(drawn, dtype=np.float64) @ sums_of
        scatter = sums[:, 0] - (sums[:, 2:] ** 2).sum(axis=1) / n
        # A sample in which the truth does not vary says nothing, for or against.
        varies = scatter > 0
        yield 1 - sums[varies, 1] / scatter[varies]
