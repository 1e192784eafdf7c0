"""What a party learns from its own rows before training, and pays for: ranges, cuts into bins, second moments.

Scaling, bins and whitening depend on every row, so under `noise = "rows"` they are releases like any other, although
nothing is sent: everything later is computed from them. A column's range is two quantiles by the exponential mechanism
on a public grid. Its cuts are read off one noisy histogram whose cells follow from that range. The covariance is a sum
of whole numbers with discrete Gaussian noise. Lemmas 8, 9 and 11 of docs/privacy.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.errors import PrivacyError
from plumbob.privacy import discrete_gaussian
from plumbob.privacy.discrete_gaussian import Draw
from plumbob.privacy.rows import clipped_units, squared_norm_units

LOW_SHARE, LARGEST_SHARE = Fraction(1, 10), Fraction(1, 4)
SAFE_EXPONENT = 9.5
"""The exponent of how unlikely a grid value beyond a column's end is, beside one at the quantile: there are hundreds.

Larger is safer. With 6.5 a thousand rows at epsilon 4 lost one column in six; beyond 9.5 nothing more was gained.
"""
REACH = 2.0
"""Scaled values are limited to this many half ranges from the middle."""
LEAST_GAMMA = 0.01
MOMENT_BITS = 13
FINEST, COARSEST = -20, 40
LARGEST_EXACT = 1 << 53
CELLS = 64
"""How many cells a column's histogram has, hence at most one cut fewer."""
NEAREST_CELL, FARTHEST_CELL = -10, 20
"""The powers of two at which cells end where a range has no width."""
BITS_OF_A_STEP = 40
OUTER_SHARE = 0.02


def _public_grid() -> Vector:
    """The public grid: 0 and four values for each power of two, of both signs; the same for every column."""
    positive = [(1 + quarter / 4) * 2.0**power for power in range(FINEST, COARSEST + 1) for quarter in range(4)]
    return np.array(sorted({0.0, *positive, *(-value for value in positive)}))


GRID = _public_grid()


@dataclass(frozen=True)
class Range:
    """Where a column's values lie: its middle becomes 0, its ends -1 and 1."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        """Half its width. Where both ends are the same, 1, as for a count that is mostly 0, or for large values what
        the public grid cannot tell apart, as for years.
        """
        return (self.high - self.low) / 2 or max(1.0, abs(self.low) / 16)


@dataclass(frozen=True, repr=False, eq=False)
class PaidColumn:
    """A column of numbers: its range, and where it is cut into bins."""

    range: Range
    cuts: tuple[float, ...] = ()


def fit_columns(columns: Sequence[Vector], cuts: Sequence[int], rho: float, draw: Draw) -> list[PaidColumn]:
    """The range of each column and as many cuts as are asked for, for `rho` in all.

    Each column pays the same. One that is cut pays three quarters for its range, which few rows or little
    budget can send far away, and an eighth for each of two histograms.
    """
    share = rho / max(1, len(columns))
    return [_fit_column(values, count, share, draw) for values, count in zip(columns, cuts, strict=True)]


def _fit_column(values: Vector, cuts: int, rho: float, draw: Draw) -> PaidColumn:
    if not cuts:
        return PaidColumn(noisy_range(values, rho, draw))
    found = noisy_range(values, rho * 3 / 4, draw)
    of_counts = rho / 8
    ends = even_ends(found, REACH) if found.low < found.high else ends_around(found.low)
    counts = noisy_counts(values, ends, of_counts, draw)
    share = clear_share(len(values), of_counts)
    usual = usual_range(ends, counts, share)
    is_narrow = found.low == found.high or usual.half <= found.half / 2
    if not (is_narrow and share <= LARGEST_SHARE):
        return PaidColumn(found, chosen_cuts(ends, counts + noisy_counts(values, ends, of_counts, draw), cuts))
    # A count that is mostly 0, or years, which the public grid can hardly tell apart: the cells were too large.
    # The value that all others lie around is an end of a cell, so that a bin can hold the zeros alone.
    ends = np.unique([*even_ends(usual, REACH), found.low])
    return PaidColumn(usual, chosen_cuts(ends, noisy_counts(values, ends, of_counts, draw), cuts))


@dataclass(frozen=True, repr=False, eq=False)
class NoisyWhitening:
    """The affine map that makes the covariance of scaled rows about the unit matrix."""

    norm: float
    """The norm that scaled rows are shortened to before anything is learned from them."""
    mean: Vector
    matrix: Matrix


def fit_whitening(Z: Matrix, rho: float, draw: Draw, least_gamma: float = LEAST_GAMMA) -> NoisyWhitening:
    """Fit on own training rows, scaled and limited to `REACH`, for `rho`."""
    norm = math.sqrt(Z.shape[1])
    moments = noisy_moments(Z, norm, rho, draw)
    return NoisyWhitening(norm, moments.mean, moments.whitening(least_gamma))


# Quantiles.


def noisy_range(values: Vector, rho: float, draw: Draw) -> Range:
    """A range from two quantiles, half of rho each: about the first and the last tenth of a normal column."""
    share = range_share(len(values), rho / 2)
    ends = sorted(noisy_quantile(values, one, rho / 2, draw) for one in (share, 1 - share))
    inner = Range(*ends)
    usual, taken = (NormalDist().inv_cdf(1 - float(one)) for one in (LOW_SHARE, share))
    wide = (inner.high - inner.low) / 2 * usual / taken
    return Range(inner.middle - wide, inner.middle + wide)


def range_share(rows: int, rho: float) -> Fraction:
    """Where the lower quantile is taken: a tenth from the end, or up to a quarter where rows or budget are few.

    Beyond the ends lies most of the grid, at a distance of share * rows. If that is not many times what noise can
    bridge, the range is anything. Rows and budget are public.
    """
    slope = float(slope_for(rho))
    needed = SAFE_EXPONENT / max(slope * rows, 1e-300)
    return min(LARGEST_SHARE, max(LOW_SHARE, Fraction(math.ceil(needed * 100) if needed < 1 else 100, 100)))


def noisy_quantile(values: Vector, share: Fraction, rho: float, draw: Draw) -> float:
    """A value of the public grid near this quantile: the exponential mechanism, sampled exactly.

    Each value of the grid is proposed with the same probability and kept with probability exp(-slope * its distance in
    ranks), which coin flips decide without a floating-point number. One of them has distance 0, so this ends.
    """
    slope = slope_for(rho)
    distances = rank_distances(values, share)
    below = discrete_gaussian.pooled(draw)
    while True:
        place = below(len(GRID))
        if discrete_gaussian.ratio_coin(int(distances[place]) * slope.numerator, slope.denominator, below):
            return float(GRID[place])


def slope_for(rho: float) -> Fraction:
    """eps / 2 with eps**2 / 8 = rho (Cesar and Rogers 2021): what one rank costs; rounded down to a ratio."""
    return Fraction(math.floor(math.sqrt(2 * rho) * 2**20), 2**20)


def rank_distances(values: Vector, share: Fraction) -> NDArray[np.int64]:
    """For each value of the grid: how many rows would have to change before it is this quantile.

    Values are first moved to the nearest one of the grid, so that ties lie on it. One row changes it by at most 1,
    also where the row's value appears or disappears.
    """
    present = values[~np.isnan(values)]
    counts = np.bincount(_nearest(present), minlength=len(GRID))
    up_to = np.cumsum(counts)
    target = math.floor(share * len(present))
    distances: NDArray[np.int64] = np.maximum(0, np.maximum(up_to - counts - target, target - up_to)).astype(np.int64)
    return distances


def _nearest(values: Vector) -> NDArray[np.intp]:
    above = np.clip(np.searchsorted(GRID, values), 1, len(GRID) - 1)
    is_nearer_below = values - GRID[above - 1] < GRID[above] - values
    return np.where(is_nearer_below, above - 1, above)


# Cuts into bins.


def even_ends(found: Range, reach: float) -> Vector:
    """Where cells of one size end, up to this many half ranges from the middle; the outer cells have no outer end."""
    ends: Vector = np.linspace(found.middle - reach * found.half, found.middle + reach * found.half, CELLS + 1)[1:-1]
    return ends


def ends_around(value: float) -> Vector:
    """Where cells end that grow with their distance from a value, of which nothing else is known."""
    # Beside a large value the smallest steps would be lost to rounding, and cells with them.
    nearest = max(NEAREST_CELL, math.frexp(value)[1] - BITS_OF_A_STEP)
    steps = 2.0 ** np.arange(nearest, FARTHEST_CELL + 1)
    return np.array([*(value - steps[::-1]), value, *(value + steps)])


def clear_share(rows: int, rho: float) -> float:
    """A share of the rows that noise on all counts together hardly reaches, or one in fifty."""
    return max(OUTER_SHARE, 2.5 * count_std(rho) * math.sqrt(CELLS) / max(1, rows))


def usual_range(ends: Vector, counts: NDArray[np.int64], share: float) -> Range:
    """The range of the first and the last tenth, as of a normal column, from ends beyond which this share lies."""
    taken = min(share, float(LARGEST_SHARE))
    rising, total, last = _rising(counts), float(counts.sum()), len(ends) - 1
    low = min(max(int(np.searchsorted(rising, taken * total)) - 1, 0), last - 1)
    high = min(max(int(np.searchsorted(rising, (1 - taken) * total)), low + 1), last)
    outer = Range(float(ends[low]), float(ends[high]))
    half = outer.half * NormalDist().inv_cdf(1 - float(LOW_SHARE)) / NormalDist().inv_cdf(1 - taken)
    return Range(outer.middle - half, outer.middle + half)


def _rising(counts: NDArray[np.int64]) -> Vector:
    """How many values lie up to each end. Noise can make the running sum fall; this lies between its largest value so
    far and its smallest later one, which rise.
    """
    up_to = np.cumsum(counts)[:-1]
    rising: Vector = (np.maximum.accumulate(up_to) + np.minimum.accumulate(up_to[::-1])[::-1]) / 2
    return rising


def noisy_counts(values: Vector, ends: Vector, rho: float, draw: Draw) -> NDArray[np.int64]:
    """How many values lie in each cell, with discrete Gaussian noise on each count; gaps are in no cell.

    One row moves one count down and another up, or one of them alone where a gap appears or disappears (Lemma 11).
    """
    present = values[~np.isnan(values)]
    counts = np.bincount(np.searchsorted(ends, present, side="left"), minlength=len(ends) + 1)
    noise = discrete_gaussian.sample_many(count_std(rho), len(counts), draw)
    noisy: NDArray[np.int64] = counts + np.array(noise, dtype=np.int64)
    return noisy


def count_std(rho: float) -> int:
    """The deviation of a count's noise: 1 / sqrt(rho), rounded up, because all counts together move by sqrt(2)."""
    return math.isqrt(math.ceil(1 / Fraction(rho))) + 1


def chosen_cuts(ends: Vector, counts: NDArray[np.int64], cuts: int) -> tuple[float, ...]:
    """That many of the cells' ends, rising, so that each bin takes its share of the values above the last cut."""
    if cuts > len(ends):
        raise PrivacyError(f"expected at most {len(ends)} cuts of a column under noise for rows, got {cuts}")
    rising, total, done, first = _rising(counts), float(counts.sum()), 0.0, 0
    chosen: list[float] = []
    for left in range(cuts, 0, -1):
        share = (total - done) / (left + 1)
        # As many ends are left over as there are cuts to come.
        place = min(int(np.searchsorted(rising, done + share)), len(ends) - left)
        place = max(place, first)
        if place > first:
            # The end before may be nearer, but a value that many rows share is no reason for an almost empty bin.
            before = rising[place - 1] - done
            place -= bool(before >= share / 2 and share - before <= rising[place] - done - share)
        chosen.append(float(ends[place]))
        done, first = float(rising[place]), place + 1
    return tuple(chosen)


# Moments.


@dataclass(frozen=True, repr=False, eq=False)
class Moments:
    """Means and second moments of one party's scaled rows, with noise of this deviation on each of the latter."""

    mean: Vector
    covariance: Matrix
    noise: float

    def whitening(self, least_gamma: float) -> Matrix:
        """(C + gamma I)^(-1/2), with gamma no less than the noise can have taken from an eigenvalue.

        The noise's largest eigenvalue is about 2 * deviation * sqrt(columns), which is public.
        """
        gamma = max(least_gamma, 2 * self.noise * math.sqrt(len(self.mean)))
        values, vectors = np.linalg.eigh(self.covariance)
        matrix: Matrix = (vectors / np.sqrt(np.maximum(values, 0.0) + gamma)) @ vectors.T
        return matrix


def noisy_moments(Z: Matrix, norm: float, rho: float, draw: Draw) -> Moments:
    """Moments of rows shortened to `norm` with a 1 as last entry; the sum of their outer products gets the noise."""
    units = clipped_units(Z, norm, MOMENT_BITS)
    ones = np.full((len(units), 1), 1 << MOMENT_BITS, dtype=np.int64)
    augmented = np.hstack([units, ones])
    std = moment_std(norm, rho)
    sums = _outer_products(augmented) + _symmetric_noise(len(augmented.T), std, draw)
    second = sums / (len(Z) * 4.0**MOMENT_BITS)
    mean = second[:-1, -1]
    noise = std / math.sqrt(2) / (len(Z) * 4.0**MOMENT_BITS)
    return Moments(mean, second[:-1, :-1] - np.outer(mean, mean), noise)


def _outer_products(units: NDArray[np.int64]) -> Matrix:
    """The exact sum of the rows' outer products: every partial sum is a whole number that a float holds."""
    largest = len(units) * int((units * units).sum(axis=1).max(initial=0))
    if largest >= LARGEST_EXACT:
        raise PrivacyError("too many rows, or too long ones, for exact second moments; train on fewer rows")
    floats = units.astype(np.float64)
    products: Matrix = floats.T @ floats
    return products


def moment_std(norm: float, rho: float) -> int:
    """The deviation of the diagonal's noise, in units: the Frobenius norm moves by at most sqrt(2) (norm**2 + 1)."""
    longest = squared_norm_units(norm, MOMENT_BITS) + (1 << 2 * MOMENT_BITS)
    return math.isqrt(math.ceil(longest**2 / Fraction(rho))) + 1


def _symmetric_noise(size: int, std: int, draw: Draw) -> Matrix:
    """Symmetric noise; the Frobenius norm counts off-diagonal entries twice, so they need 1/sqrt(2) of the deviation.

    The last entry of the diagonal is the number of rows, which is public.
    """
    upper = np.triu_indices(size, 1)
    off_diagonal = math.isqrt(std * std // 2) + 1
    noise = np.zeros((size, size))
    noise[upper] = discrete_gaussian.sample_many(off_diagonal, len(upper[0]), draw)
    noise += noise.T
    noise[np.diag_indices(size - 1)] = discrete_gaussian.sample_many(std, size - 1, draw)[: size - 1]
    return noise
