"""Differential privacy for whole rows: how far one row can move a summed gradient, and what noise on it costs.

Neighbours are two tables of the same number of rows that differ in one row. Each party's part of a row has a bounded
norm, each residual is bounded, and everything is counted in whole units, so the sensitivity is a whole number that
every rounding respects. Every party adds a discrete Gaussian of the full deviation: one honest party's is enough.
docs/privacy.md has the proofs; each lemma there names its function here and the test that drives it to its bound.

The public rule of passes and of the budget's parts follows from numbers in the plan alone; its constants come from
made-up tables (benchmarks/row_privacy.py of commit ae113e8c), not from those that results are reported on. What parties
learn from their own rows for scaling is paid for too: see `privacy/home.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix
from plumbob.errors import PrivacyError
from plumbob.plan.row_noise import counted_columns, row_passes, usual_row_norm
from plumbob.privacy.accounting import gaussian_epsilon, zcdp_epsilon

HOME_SHARE = 0.1
"""The share of the budget that each party spends on its scaling and whitening; together at most half."""


@dataclass(frozen=True)
class RowRule:
    """The passes, the norm and the parts of the budget that a plan gets if it leaves them open."""

    passes: int
    row_norm: float
    rho_at_home: float
    """zCDP that each party with columns may spend on its own rows before training."""


def row_rule(rows: int, columns: Sequence[int], epsilon: float, delta: float, bins: int = 0) -> RowRule:
    """The rule from public numbers alone; `columns` are each party's."""
    counted = counted_columns(sum(columns), bins)
    passes = row_passes(rows, counted, epsilon, delta)
    norm = usual_row_norm(rows, counted, epsilon, delta)
    return RowRule(passes, norm, rho_at_home(total_rho(epsilon, delta), columns))


def rho_at_home(rho: float, columns: Sequence[int]) -> float:
    """Each party's part of the budget: a tenth, or less where many parties would spend more than half together."""
    parties = sum(own > 0 for own in columns)
    return rho * min(HOME_SHARE, 0.5 / max(1, parties))


Units = NDArray[np.int64]

SERIES_BOUND = Fraction(10016, 10000)
"""No residual of the Fourier series is larger, whatever the score (docs/privacy.md, Lemma 2)."""
MOST_ROUNDS = 1000
ROUNDING = 1e-11
"""How far an epsilon from a search is rounded up."""
LARGEST_NORM_UNITS = 1 << 30
"""The largest norm in units: beyond it a squared norm does not fit the whole numbers that it is checked with."""


# Sensitivity.


def clipped_units(X: Matrix, norm: float, feature_bits: int) -> Units:
    """A party's parts of rows in whole units of 2**-feature_bits, each of norm at most `norm`, exactly.

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
    """The largest squared norm of each party's part of a row; the intercept's 1 is one of them."""
    residual: int
    """The largest absolute residual, its cut included."""

    @property
    def units(self) -> int:
        """2 R (c + one unit for the cut), rounded up."""
        return 2 * _root_up(sum(self.squared_norms) * self.residual**2)

    @classmethod
    def of(
        cls, norms: Sequence[float], feature_bits: int, residual_bits: int, *, has_intercept: bool = True
    ) -> "Sensitivity":
        """`norms` are each party's R_k; a residual is rounded once."""
        squares = [squared_norm_units(norm, feature_bits) for norm in norms]
        if has_intercept:
            squares.append(squared_norm_units(1.0, feature_bits))
        return cls(tuple(squares), math.ceil(SERIES_BOUND * 2**residual_bits) + 1)


def _root_up(square: int) -> int:
    root = math.isqrt(square)
    return root if root * root == square else root + 1


def norms_of(row_norm: float, columns: Sequence[int]) -> tuple[float, ...]:
    """Each party's R_k: its columns' share of the joint norm, which is sqrt of all columns where the plan says 0."""
    every = sum(columns)
    joint = row_norm or math.sqrt(every)
    return tuple(joint * math.sqrt(own / every) for own in columns if own)


# What it costs.


@dataclass(frozen=True)
class RowSpending:
    """What one row has spent: zCDP, and the chance that a run was not the one that the proof is about."""

    rho: float = 0.0
    failure: float = 0.0
    """The chance that arithmetic failed or a mask showed something, in a run or in several together."""

    def __add__(self, other: "RowSpending") -> "RowSpending":
        """The spending of both: zCDP adds up, and so do chances."""
        return RowSpending(self.rho + other.rho, self.failure + other.failure)

    def epsilon(self, delta: float) -> float:
        """The proved epsilon (Canonne, Kamath and Steinke 2020, Proposition 12); infinite where delta pays for none."""
        return _with_failures(partial(zcdp_epsilon, self.rho), delta, self.failure)


@dataclass(frozen=True)
class RowCost:
    """A run's cost for one row: noise of this deviation in every pass, and what each party spent at home."""

    sensitivity: int
    std: int
    passes: int
    at_home: tuple[float, ...] = ()
    """The zCDP of each party's scaling and whitening: they add up, because one row is in all of them."""
    failure: float = 0.0
    """The chance that this run's arithmetic fails or a mask of it shows something, from its public shape."""

    @property
    def rho(self) -> float:
        """The zCDP of everything that depends on one row."""
        return self.passes * self.rho_per_pass + math.fsum(self.at_home)

    @property
    def rho_per_pass(self) -> float:
        return float(Fraction(self.sensitivity**2, 2 * self.std**2))

    @property
    def spending(self) -> RowSpending:
        return RowSpending(self.rho, self.failure)

    def epsilon(self, delta: float) -> float:
        """The proved epsilon, with failures taken out of delta."""
        return self.spending.epsilon(delta)

    def unproved_epsilon(self, delta: float) -> float:
        """The epsilon of a privacy loss distribution for the continuous Gaussian: smaller, not proved for our draws.

        Renyi's curve of all releases together is that of one Gaussian moved by sqrt(2 rho) deviations.
        """
        return _with_failures(partial(gaussian_epsilon, math.sqrt(2 * self.rho)), delta, self.failure)


def failures_in_delta(epsilon: float, failure: float) -> float:
    """The part of delta that pays for failures of a run with this chance of them (docs/privacy.md, Lemma 10).

    Once for the table as it is, and e**epsilon times for its neighbour.
    """
    return (1.0 + odds_factor(epsilon)) * failure


def most_failure(epsilon: float, delta: float) -> float:
    """The largest chance of failure that a promise bears: failures take at most half of delta."""
    return delta / 2 / (1.0 + odds_factor(epsilon))


def _with_failures(epsilon_at: Callable[[float], float], delta: float, failure: float) -> float:
    """The smallest epsilon for which delta pays for both, noise and failures; infinite where there is none.

    Each round takes out of delta what failures cost at the last epsilon. That approaches the figure from below, so that
    it counts only where it holds by itself.
    """
    epsilon = epsilon_at(delta)
    for _ in range(MOST_ROUNDS):
        left = delta - failures_in_delta(epsilon * (1 + ROUNDING), failure)
        if left <= 0:
            return math.inf
        needed = epsilon_at(left)
        if needed <= epsilon * (1 + ROUNDING):
            return needed if not failure else epsilon * (1 + ROUNDING)
        epsilon = needed
    return math.inf


@cache
def total_rho(epsilon: float, delta: float, failure: float = 0.0) -> float:
    """The zCDP that (epsilon, delta) allows for everything together; rounded down, never up."""
    if not epsilon > 0 or not 0 < delta < 1:
        raise PrivacyError(f"expected epsilon above 0 and delta between 0 and 1, got {epsilon} and {delta}")
    if failure > most_failure(epsilon, delta):
        raise PrivacyError(_too_many_failures(epsilon, delta, failure))
    left = delta - failures_in_delta(epsilon, failure)
    low, high = 0.0, epsilon
    # rho is below epsilon wherever epsilon(rho) is at least rho, which the conversion always is.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, left) <= epsilon else (low, middle)
    return low * (1 - 1e-9)


def _too_many_failures(epsilon: float, delta: float, failure: float) -> str:
    return (
        f"privacy.delta: a run of this shape fails in its arithmetic, or shows something behind a mask, with a chance"
        f" of {failure:.2g}, which counts 1 + e^epsilon times: with epsilon {epsilon:g} that is"
        f" {failures_in_delta(epsilon, failure):.2g}, and at most half of delta {delta:g} may go there, or the promise"
        " would be false; lower epsilon, raise delta, or train on fewer rows or with fewer parties or epochs"
    )


def calibrated(
    epsilon: float,
    delta: float,
    sensitivity: int,
    passes: int,
    at_home: Sequence[float] = (),
    failure: float = 0.0,
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
    """How far the odds of a guess about one person can differ from those with any other values in this row."""
    return math.exp(min(epsilon, 700.0))


def coin_flip_bound(epsilon: float, delta: float) -> float:
    """The largest chance to guess a fair coin's side that only this row holds: .731, .881, .982 for 1, 2, 4."""
    return min(1.0, (1 + delta * math.exp(-min(epsilon, 700.0))) / (1 + math.exp(-epsilon)))
