"""What a party learns from its own rows before training, and pays for: noisy quantiles and noisy second moments.

Scaling and whitening depend on every row, so under `noise = "rows"` they are releases like any other, although nothing
is sent: everything later is computed from them. A column's range is two quantiles by the exponential mechanism on a
public grid; the covariance is a sum of whole numbers with discrete Gaussian noise. Lemmas 8 and 9 of docs/privacy.md.

A party that states its columns' ranges before it looks at its rows (`scale = "public"`) pays for the moments only. A
data dictionary, which says in words what a column may hold ("age in years", "0 to 6 missed payments", "yes/no"), can
propose them: what it says about the values' range is public.
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
SAFE_EXPONENT = 6.5
"""The exponent of how unlikely a grid value beyond a column's end is, beside one at the quantile: there are hundreds.

Larger is safer; this one was chosen with a real table in view (docs/privacy.md, "What it costs in quality").
"""
REACH = 2.0
"""Scaled values are limited to this many half ranges from the middle."""
LEAST_GAMMA = 0.01
MOMENT_BITS = 13
FINEST, COARSEST = -20, 40
LARGEST_EXACT = 1 << 53


def _public_grid() -> Vector:
    """The public grid: 0 and four values for each power of two, of both signs; the same for every column."""
    positive = [(1 + quarter / 4) * 2.0**power for power in range(FINEST, COARSEST + 1) for quarter in range(4)]
    return np.array(sorted({0.0, *positive, *(-value for value in positive)}))


GRID = _public_grid()


@dataclass(frozen=True)
class Range:
    """Where a column's values lie, stated or estimated: its middle becomes 0, its ends -1 and 1."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        """Half its width; 1 where both ends are the same, as for a count that is mostly 0."""
        return (self.high - self.low) / 2 or 1.0


CATEGORY = Range(0.0, 1.0)
"""The range of a category's own column, known without looking."""


@dataclass(frozen=True, repr=False, eq=False)
class Scaling:
    """How one party's columns become numbers of about the same size; gaps become the middle of the range."""

    ranges: tuple[Range, ...]
    reach: float = REACH

    def scaled(self, X: Matrix) -> Matrix:
        """Scaled rows; each value is limited on its own, so that a row affects only itself."""
        middles = np.array([item.middle for item in self.ranges])
        halves = np.array([item.half for item in self.ranges])
        centred = np.where(np.isnan(X), 0.0, (X - middles) / halves)
        return np.clip(centred, -self.reach, self.reach)


@dataclass(frozen=True, repr=False, eq=False)
class NoisyWhitening:
    """A scaling, and the affine map that makes the scaled rows' covariance about the unit matrix."""

    scaling: Scaling
    norm: float
    """The norm that scaled rows are shortened to before anything is learned from them."""
    mean: Vector
    matrix: Matrix
    rho: float
    """The zCDP of everything above."""


def fit_whitening(
    X: Matrix, known: Sequence[Range | None], rho: float, draw: Draw, least_gamma: float = LEAST_GAMMA
) -> NoisyWhitening:
    """Fit on own training rows for `rho` in all; `known` has the ranges that were stated, None where there is none.

    Half of rho goes to quantiles where a range is missing; the moments get the rest.
    """
    if len(known) != X.shape[1]:
        raise PrivacyError(f"expected a range or None for each of {X.shape[1]} columns, got {len(known)}")
    missing = sum(item is None for item in known)
    per_range = rho / 2 / missing if missing else 0.0
    scaling = Scaling(
        tuple(
            noisy_range(values, per_range, draw) if item is None else item
            for values, item in zip(X.T, known, strict=True)
        )
    )
    norm = math.sqrt(X.shape[1])
    rho_of_moments = rho - per_range * missing
    moments = noisy_moments(scaling.scaled(X), norm, rho_of_moments, draw)
    return NoisyWhitening(scaling, norm, moments.mean, moments.whitening(least_gamma), rho)


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


# Ranges that are stated before anybody looks at rows.
