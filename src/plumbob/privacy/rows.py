"""A promise about whole rows: how far one row can move a summed gradient, what noise on it costs, how much it takes.

Neighbours are two tables of the same number of rows that differ in one row. Each party's part of a row has a bounded
norm, each residual is bounded, and everything is counted in whole units, so the sensitivity is a whole number that
every rounding respects. Every party adds a discrete Gaussian of the full deviation: one honest party's is enough.
docs/privacy.md has the proofs; each lemma there names its function here and the test that drives it to its bound.

What parties learn from their own rows for scaling is paid for too: see `privacy/home.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix
from plumbob.errors import PrivacyError
from plumbob.privacy.accounting import gaussian_epsilon, zcdp_epsilon

Units = NDArray[np.int64]

SERIES_BOUND = Fraction(10016, 10000)
"""No residual of the Fourier series is larger, whatever the score (docs/privacy.md, Lemma 2)."""
FAILURE = 2.0**-40
"""What may go wrong in a whole run's arithmetic: a share that is cut or lifted wrongly. delta pays for it."""
FAILURE_OF_MANY = 2.0**-24
"""The same between three and more parties, with what the masks can show behind which shares are lifted."""
LARGEST_NORM_UNITS = 1 << 30
"""Beyond it a squared norm does not fit the whole numbers that it is checked with."""


# Sensitivity.


def clipped_units(X: Matrix, norm: float, feature_bits: int) -> Units:
    """Own parts of rows in whole units of 2**-feature_bits, each of norm at most `norm`, exactly.

    A row is shortened first and rounded toward zero then, so that rounding cannot lengthen it (Lemma 1). Floating point
    may miss the bound by its last digit; that is why the squares are added up in whole numbers and checked.
    """
    limit = squared_norm_units(norm, feature_bits)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    units: Units = np.trunc(X * np.minimum(1.0, norm / np.maximum(lengths, norm)) * 2.0**feature_bits).astype(np.int64)
    too_long = (units * units).sum(axis=1) > limit
    # One part in a million less is far more than floating point can have missed.
    units[too_long] = np.trunc(units[too_long] * (1 - 1e-6)).astype(np.int64)
    if ((units * units).sum(axis=1) > limit).any():
        raise PrivacyError("a row is longer than its bound after clipping; the values are too large to be clipped")
    return units


def squared_norm_units(norm: float, feature_bits: int) -> int:
    """The largest squared length, in units, of a row's part whose norm is at most `norm`."""
    units = Fraction(norm) * (1 << feature_bits)
    if not 0 < units <= LARGEST_NORM_UNITS:
        raise PrivacyError(f"expected a norm above 0 and below 2**{30 - feature_bits}, got {norm:g}")
    return math.floor(units * units)


@dataclass(frozen=True)
class Sensitivity:
    """How far one row moves the summed gradient, in whole units of 2**-(feature_bits + residual_bits) (Lemma 3)."""

    squared_norms: tuple[int, ...]
    """Of each party's part of a row; the intercept's 1 is one of them."""
    residual: int
    """The largest absolute residual, every cut included."""
    stray: int = 0
    """How far rounding inside the products can move the whole sum beyond that."""

    @property
    def units(self) -> int:
        """2 R (c + one unit per cut), rounded up."""
        return 2 * _root_up(sum(self.squared_norms) * self.residual**2) + self.stray

    @classmethod
    def of(
        cls,
        norms: Sequence[float],
        feature_bits: int,
        residual_bits: int,
        *,
        has_intercept: bool = True,
        residual_bound: Fraction = SERIES_BOUND,
        cuts: int = 1,
        largest_weight: Fraction = Fraction(1),
        stray: int = 0,
    ) -> "Sensitivity":
        """`norms`: each party's R_k. `cuts`: how often a residual is rounded. `largest_weight`: of a row's class."""
        squares = [squared_norm_units(norm, feature_bits) for norm in norms]
        if has_intercept:
            squares.append(squared_norm_units(1.0, feature_bits))
        residual = math.ceil(residual_bound * largest_weight * 2**residual_bits) + cuts
        return cls(tuple(squares), residual, stray)


def _root_up(square: int) -> int:
    root = math.isqrt(square)
    return root if root * root == square else root + 1


def norms_of(row_norm: float, columns: Sequence[int]) -> tuple[float, ...]:
    """Each party's R_k: its columns' share of the joint norm, which is sqrt of all columns where the plan says 0."""
    every = sum(columns)
    joint = row_norm or math.sqrt(every)
    return tuple(joint * math.sqrt(own / every) for own in columns if own)


def public_rate(parties: int, largest_weight: float = 1.0) -> float:
    """4 / (p + 1): clipped rows are not centred, so the intercept counts as one more party (docs/privacy.md, Lemma 7).

    A row's weight multiplies the curvature, and so divides the rate.
    """
    return 4.0 / (parties + 1) / largest_weight


# What it costs.


@dataclass(frozen=True)
class RowCost:
    """A run's cost for one row: noise of this deviation in every pass, and what each party spent at home."""

    sensitivity: int
    std: int
    passes: int
    at_home: tuple[float, ...] = ()
    """zCDP of each party's scaling and whitening: they add up, because one row is in all of them."""
    failure: float = FAILURE

    @property
    def rho(self) -> float:
        """zCDP of everything that depends on one row."""
        return self.passes * self.rho_per_pass + math.fsum(self.at_home)

    @property
    def rho_per_pass(self) -> float:
        return float(Fraction(self.sensitivity**2, 2 * self.std**2))

    def epsilon(self, delta: float) -> float:
        """The proved figure (Canonne, Kamath and Steinke 2020, Proposition 12), failures taken out of delta."""
        return zcdp_epsilon(self.rho, _delta_left(delta, self.failure))

    def unproved_epsilon(self, delta: float) -> float:
        """What a privacy loss distribution says for the continuous Gaussian: smaller, and not proved for what is drawn.

        Renyi's curve of all releases together is that of one Gaussian moved by sqrt(2 rho) deviations.
        """
        return gaussian_epsilon(math.sqrt(2 * self.rho), _delta_left(delta, self.failure))


def _delta_left(delta: float, failure: float) -> float:
    if not failure < delta < 1:
        raise PrivacyError(
            f"expected delta below 1 and above {failure:g}, the probability that the arithmetic of a run fails, got"
            f" {delta:g}; raise delta"
        )
    return delta - failure


@cache
def total_rho(epsilon: float, delta: float, failure: float = FAILURE) -> float:
    """The zCDP that (epsilon, delta) allows for everything together; rounded down, never up."""
    if not epsilon > 0:
        raise PrivacyError(f"expected epsilon above 0, got {epsilon}")
    left = _delta_left(delta, failure)
    low, high = 0.0, epsilon
    # rho is below epsilon wherever epsilon(rho) is at least rho, which the conversion always is.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, left) <= epsilon else (low, middle)
    return low * (1 - 1e-9)


def calibrated(
    epsilon: float,
    delta: float,
    sensitivity: int,
    passes: int,
    at_home: Sequence[float] = (),
    failure: float = FAILURE,
) -> RowCost:
    """The least noise for which the passes and what was spent at home together keep (epsilon, delta)."""
    left = total_rho(epsilon, delta, failure) - math.fsum(at_home)
    if not left > 0:
        raise PrivacyError(
            f"scaling and whitening spend all of epsilon {epsilon:g}; nothing is left for training: lower their share"
        )
    std = math.ceil(sensitivity * math.sqrt(passes / (2 * left)))
    return RowCost(sensitivity, std, passes, tuple(at_home), failure)


# What it means.


def odds_factor(epsilon: float) -> float:
    """By how much the odds of a guess about one person can move beyond what others' rows would have it believe."""
    return math.exp(min(epsilon, 700.0))


def coin_flip_bound(epsilon: float, delta: float) -> float:
    """The largest chance to name a fair coin's side that only this row holds: .731, .881, .982 for 1, 2, 4."""
    return min(1.0, (1 + delta * math.exp(-min(epsilon, 700.0))) / (1 + math.exp(-epsilon)))
