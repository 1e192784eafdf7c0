"""A forecast, from public numbers, of the AUC that noise for whole rows costs: a noisy descent, followed in averages.

For normal columns, the average gradient of a pass is curvature * covariance * weights, less the same product at the
true weights (Stein's lemma). The curvature is the average slope of the sigmoid. It falls as scores grow, whether by
signal or by noise, so that where noise fills the scores, more of the signal is learned than without it. Each direction
of the columns needs two numbers per pass, the share of its true weight that is learned and the variance of the noise in
it; all directions share one curvature.

A plan does not say how columns are correlated, how strong the signal is, or which columns are numbers. A usual table
stands for that; its constants were chosen on made-up tables. docs/privacy.md compares the forecast with other ones.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from plumbob.arrays import Vector
from plumbob.privacy.home import GRID, LEAST_GAMMA, range_share, slope_for
from plumbob.privacy.noise_cost import USUAL_AUC
from plumbob.privacy.rows import MOMENTUM, SERIES_BOUND, public_rate, rho_at_home, total_rho

COLUMN_VARIANCE = 0.67
"""The variance of a column that is scaled by its range."""
COMMON_SHARE, COMMON_DECAY = 0.92, 0.75
"""The share of the columns' variance in directions common to all parties, and its decay from one to the next."""
OWN_VARIANCE = COLUMN_VARIANCE * (1 - COMMON_SHARE)
MOST_COMMON = 60
"""Most common directions: beyond them, nothing is left to share."""
NUMBERS_SHARE = 2 / 3
"""The share of numbers among the columns; the others are categories, whose range needs no estimate."""
LOST_WITH_A_RANGE = 0.3
"""The share of a column's signal that is lost where its range is far off; other columns carry the rest."""
BEYOND_THE_ENDS = len(GRID) * 0.3
"""How many values of the grid lie beyond one end of a usual column; about 1.2 lie near its quantile."""
NEAR_A_QUANTILE = 1.2
SATURATION = math.pi / 8
"""A factor of the sigmoid's mean slope over a normal score of variance v: 1 / (4 sqrt(1 + v pi / 8))."""
LIKELY = (0.6, 2.4)
"""The loss lies between these multiples of the forecast on nine of ten made-up tables."""
SMALL = 0.003
"""How far a small loss may be off in addition."""


def expected_auc_loss(
    rows: int,
    columns: Sequence[int],
    epsilon: float,
    delta: float,
    passes: int,
    row_norm: float = 0.0,
    *,
    is_whitened: bool = True,
    are_ranges_stated: bool = False,
) -> float:
    """How much AUC the noise is expected to cost, against the same run without it; `columns` are each party's.

    `row_norm` is what joint rows are clipped to, 0 for the square root of all columns.
    """
    norm = row_norm or math.sqrt(sum(columns))
    home = _HomeNoise(rows, tuple(own for own in columns if own), epsilon, delta, is_whitened, are_ranges_stated)
    rate, noise = public_rate(len(columns)), gradient_noise(rows, columns, epsilon, delta, passes, norm)
    without = _followed(_directions(home.columns, home.gammas(is_noisy=False), norm), passes, rate, 0.0)
    with_noise = _followed(_directions(home.columns, home.gammas(is_noisy=True), norm), passes, rate, noise)
    return auc_at(without) - auc_at(with_noise * math.sqrt(1.0 - LOST_WITH_A_RANGE * home.lost_columns()))


def likely_auc_loss(expected: float) -> tuple[float, float]:
    """The range of losses on nine of ten tables for which this one is expected."""
    low, high = LIKELY
    return max(0.0, low * expected - SMALL), min(USUAL_AUC - 0.5, high * expected + SMALL)


def gradient_noise(
    rows: int, columns: Sequence[int], epsilon: float, delta: float, passes: int, row_norm: float
) -> float:
    """The deviation of all parties' noise together, in one coordinate of one pass's gradient."""
    rho = total_rho(epsilon, delta)
    left = rho - rho_at_home(rho, columns) * sum(own > 0 for own in columns)
    sensitivity = 2 * math.hypot(row_norm, 1.0) * float(SERIES_BOUND)
    return sensitivity * math.sqrt(passes / (2 * left)) * math.sqrt(len(columns)) / rows


# What noise at home does to the columns.


@dataclass(frozen=True)
class _HomeNoise:
    """What every party's scaling and whitening spend, and how reliable they are."""

    rows: int
    columns: tuple[int, ...]
    epsilon: float
    delta: float
    is_whitened: bool
    are_ranges_stated: bool

    @property
    def _rho(self) -> float:
        """The zCDP for ranges, and as much again for moments; stated ranges leave all of it to the moments."""
        return rho_at_home(total_rho(self.epsilon, self.delta), self.columns) / 2

    def gammas(self, *, is_noisy: bool) -> list[float | None]:
        """The number that each party's whitening adds to its covariance; None without whitening."""
        if not self.is_whitened:
            return [None] * len(self.columns)
        rho = self._rho * (2 if self.are_ranges_stated else 1)
        noises = [(own + 1) / (self.rows * math.sqrt(2 * rho)) if is_noisy else 0.0 for own in self.columns]
        return [max(LEAST_GAMMA, 2 * one * math.sqrt(own)) for one, own in zip(noises, self.columns, strict=True)]

    def lost_columns(self) -> float:
        """The share of all columns whose noisy range lies far beyond their values, so that they say nothing."""
        if self.are_ranges_stated or not self.is_whitened:
            return 0.0
        return sum(own * self._lost_columns(own) for own in self.columns) / max(1, sum(self.columns))

    def _lost_columns(self, own: int) -> float:
        rho = self._rho / max(1.0, own * NUMBERS_SHARE) / 2
        exponent = float(slope_for(rho)) * self.rows * float(range_share(self.rows, rho))
        beyond = BEYOND_THE_ENDS * math.exp(-exponent)
        chance = beyond / (NEAR_A_QUANTILE + beyond)
        return NUMBERS_SHARE * (1 - (1 - chance) ** 2)


# The usual table, in the directions of its training columns.


@dataclass(frozen=True, eq=False)
class _Directions:
    """Uncorrelated directions of the columns that training sees."""

    variances: Vector
    signal: Vector
    """The share of the true scores' variance in each direction."""


@dataclass(frozen=True)
class _Part:
    """One party's columns as training sees them: whitened where there is a gamma, and shortened to its norm."""

    own: int
    gamma: float | None
    norm: float

    def scale(self, variance: float) -> float:
        """The factor on a direction of this variance."""
        return self._whitening(variance) * self._shortening

    def loading(self, cause: int) -> float:
        """The loading of a common cause: all causes together make up the common share."""
        all_causes = (1 - COMMON_DECAY**self.own) / (1 - COMMON_DECAY)
        return math.sqrt(COMMON_SHARE * COLUMN_VARIANCE * self.own * COMMON_DECAY**cause / all_causes)

    @property
    def left(self) -> int:
        """How many columns are left beyond the common causes."""
        return max(0, self.own - MOST_COMMON)

    @cached_property
    def _shortening(self) -> float:
        """The factor by which a usual row is shortened."""
        common = [self.loading(cause) ** 2 + OWN_VARIANCE for cause in range(self.own - self.left)]
        variances = [*common, *[OWN_VARIANCE] * self.left]
        length = math.sqrt(sum(one * self._whitening(one) ** 2 for one in variances))
        return min(1.0, self.norm / length)

    def _whitening(self, variance: float) -> float:
        return 1.0 if self.gamma is None else 1.0 / math.sqrt(variance + self.gamma)


def _directions(columns: Sequence[int], gammas: Sequence[float | None], norm: float) -> _Directions:
    """The directions of all columns; true weights are independent there, so signal is spread like variance."""
    parts = [
        _Part(own, gamma, norm * math.sqrt(own / sum(columns))) for own, gamma in zip(columns, gammas, strict=True)
    ]
    pieces = [*_common(parts), *_own(parts)]
    variances, signal = (np.concatenate([piece[place] for piece in pieces]) for place in (0, 1))
    return _Directions(variances, signal / signal.sum())


def _common(parts: Sequence[_Part]) -> Iterator[tuple[Vector, Vector]]:
    """The joint directions of each common cause, which correlates one direction per party."""
    for cause in range(min(MOST_COMMON, max(part.own for part in parts))):
        present = [part for part in parts if cause < part.own]
        loadings = np.array([part.loading(cause) for part in present])
        covariance = np.outer(loadings, loadings) + OWN_VARIANCE * np.eye(len(present))
        scales = np.array([part.scale(one) for part, one in zip(present, np.diag(covariance), strict=True)])
        variances, vectors = np.linalg.eigh(covariance * np.outer(scales, scales))
        yield variances, variances * ((vectors / scales[:, None]) ** 2).sum(axis=0)


def _own(parts: Sequence[_Part]) -> Iterator[tuple[Vector, Vector]]:
    """The directions left where a party has more columns than there are common causes."""
    for part in parts:
        variance = OWN_VARIANCE * part.scale(OWN_VARIANCE) ** 2
        yield np.full(part.left, variance), np.full(part.left, OWN_VARIANCE)


# The descent.


def _followed(directions: _Directions, passes: int, rate: float, noise: float) -> float:
    """The correlation between the scores after all passes and the true ones."""
    variances, signal = directions.variances, directions.signal
    true_scores = true_variance()
    target = _curvature(true_scores)
    none = np.zeros(len(variances))
    learned, step = none, none
    # Of the noise: the variance of a weight, that of its last step, and their covariance.
    of_weight, of_step, of_both = none, none, none
    for _ in range(passes):
        scores = true_scores * (signal * learned**2).sum() + (variances * of_weight).sum()
        slope = _curvature(scores)
        step = MOMENTUM * step - rate * variances * (slope * learned - target)
        learned = learned + step
        pull = -rate * slope * variances
        moved = MOMENTUM * of_both + pull * of_weight
        of_step = MOMENTUM**2 * of_step + pull**2 * of_weight + 2 * MOMENTUM * pull * of_both + (rate * noise) ** 2
        of_weight, of_both = of_weight + 2 * moved + of_step, moved + of_step
    in_scores = (signal * learned**2).sum() + (variances * of_weight).sum() / true_scores
    return float((signal * learned).sum() / math.sqrt(in_scores))


def _curvature(variance: float) -> float:
    return 0.25 / math.sqrt(1.0 + SATURATION * variance)


def true_variance() -> float:
    """The variance of true log-odds with the usual AUC, in a table with as many of one class as of the other."""
    apart = _squared_distance() * math.pi / 8
    return apart / (1.0 - apart) / SATURATION


def _squared_distance() -> float:
    """The squared distance between the classes' means, for scores of variance 1 in all."""
    squared = NormalDist().inv_cdf(USUAL_AUC) ** 2
    return 2.0 * squared / (1.0 + squared / 2.0)


def auc_at(correlation: float) -> float:
    """The AUC of scores that correlate like this with the true ones, which have the usual AUC."""
    squared = _squared_distance() * correlation**2
    return NormalDist().cdf(math.copysign(math.sqrt(squared / (2.0 * (1.0 - squared / 4.0))), correlation))
