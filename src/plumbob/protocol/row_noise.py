"""Noise for whole rows, as a plan has it: how a party treats its own rows, what it adds, and what a whole run promises.

The proofs are in docs/privacy.md, the arithmetic in `privacy`. Every party draws the noise of the whole run before the
first pass and adds it to its share of every coordinate of the gradient, before anything is cut.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.data.cuts import PlacedColumn
from plumbob.data.whitening import Whitening, gamma_for
from plumbob.errors import PrivacyError
from plumbob.plan import Plan
from plumbob.privacy import discrete_gaussian, home, rows
from plumbob.privacy.discrete_gaussian import Draw
from plumbob.privacy.rows import RowCost, RowSpending
from plumbob.protocol.row_cost import home_rho, rho_of_a_run, row_cost
from plumbob.protocol.shares.shape import FAILURE_BITS, FAILURE_BITS_OF_STAGES, HIDING_BITS, RunShape


@dataclass(frozen=True, repr=False, eq=False)
class HomeTreatment:
    """One party's scaling, whitening and clipping, with the randomness that its noise comes from."""

    plan: Plan
    party: str
    draw: Draw
    failure: float
    """The run's chance of failure, as in `row_cost`."""

    def place(self, columns: Sequence[Vector], cuts: Sequence[int]) -> list[PlacedColumn]:
        """Ranges and cuts of columns of numbers, paid for; columns as they are where the plan does not scale."""
        if not self.plan.is_whitened:
            return [PlacedColumn(0.0, 1.0)] * len(columns)
        found = home.fit_columns(columns, cuts, self._rho / 2, self.draw) if columns else []
        return [PlacedColumn(paid.range.middle, 1.0 / paid.range.half, paid.cuts) for paid in found]

    def whiten(self, scaled: Matrix, heights: Vector, ranges: int) -> Whitening | None:
        """The whitening from noisy moments, paid for; None where the plan does not scale."""
        if not self.plan.is_whitened or not scaled.shape[1]:
            return None
        gamma = gamma_for(self.plan.l2, self.plan.blocks)
        # A party without columns of numbers paid for no range.
        rho = self._rho / 2 if ranges else self._rho
        fitted = home.fit_whitening(np.clip(scaled, -home.REACH, home.REACH), rho, self.draw, gamma)
        return Whitening(fitted.mean, fitted.matrix * heights, home.REACH, fitted.norm)

    @property
    def _rho(self) -> float:
        return home_rho(self.plan, self.failure)

    def limited(self, scaled: Matrix) -> Matrix:
        """Clip rows to R_k and round toward zero."""
        if not scaled.shape[1]:
            return scaled
        own = self.plan.party(self.party).features
        norm = self.plan.joint_norm * math.sqrt(own / self.plan.columns)
        units = rows.clipped_units(scaled, norm, self.plan.feature_bits)
        limited: Matrix = units / 2.0**self.plan.feature_bits
        return limited


def whole_noise_of_a_run(cost: rows.RowCost, columns: int, draw: Draw) -> rows.Units:
    """One party's noise on all coordinates, one row per pass, in the units in which its cost was calculated."""
    drawn = discrete_gaussian.sample_many(cost.std, cost.passes * columns, draw)
    return np.array(drawn, dtype=np.int64).reshape(cost.passes, columns)


# The promise for as many rows as a run has, its own failures included. How often the arithmetic of a run fails, or a
# mask of it shows something, follows from public numbers: rows, parties, columns and passes. delta pays for it
# (docs/privacy.md, Lemma 10).


def run_failure(plan: Plan, rows: int) -> float:
    """A run's chance of failure with this many training rows; with 0, not known yet, the most that is allowed."""
    if not plan.kind.has_lattices:
        return 0.0
    if rows:
        return RunShape(plan, rows).failure
    if len(plan.learners) == 2:
        return 2.0**-FAILURE_BITS
    return 2.0**-FAILURE_BITS_OF_STAGES + 2.0**-HIDING_BITS


def promised_cost(plan: Plan, rows: int) -> RowCost | None:
    """The cost of a run with this many training rows for one row, in the units of `clear`; None without a promise.

    PrivacyError where the plan promises more than such a run keeps.
    """
    if plan.noise != "rows":
        return None
    return row_cost(plan.on(rows) if rows else plan, run_failure(plan, rows))


def kept_cost(plan: Plan, rows: int) -> RowCost | None:
    """`promised_cost` for a report: None also where the plan promises more than such a run keeps."""
    try:
        return promised_cost(plan, rows)
    except PrivacyError:
        return None


def spending_of_a_run(plan: Plan, rows: int) -> RowSpending:
    """The most that a run with this many training rows spends of each."""
    failure = run_failure(plan, rows)
    return RowSpending(rho_of_a_run(plan, failure), failure)
