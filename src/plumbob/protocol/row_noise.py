"""Noise for whole rows, as a plan has it: what a run costs, how a party treats its own rows, and what it adds.

The proofs are in docs/privacy.md, the arithmetic in `privacy`. Every party draws the noise of the whole run before the
first pass and adds it to its share of every coordinate of the gradient, before anything is cut.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plumbob.data.treatment import FittedRows
from plumbob.data.whitening import Whitening, gamma_for
from plumbob.plan import Plan
from plumbob.privacy import discrete_gaussian, home, rows
from plumbob.privacy.discrete_gaussian import Draw
from plumbob.privacy.row_rule import rho_at_home
from plumbob.protocol.transcript import Matrix, Vector


def row_cost(plan: Plan, cuts: int = 1, stray: int = 0) -> rows.RowCost | None:
    """What a run costs for one row, with the noise that keeps the plan's promise; None where it makes none.

    `cuts` is how often the protocol rounds a residual, `stray` what rounding inside its products adds to a sum.
    """
    if plan.noise != "rows":
        return None
    at_home = [home_rho(plan) for party in plan.learners if party.features]
    return rows.calibrated(
        plan.epsilon, plan.delta, sensitivity(plan, cuts, stray).units, plan.passes, [rho for rho in at_home if rho]
    )


def sensitivity(plan: Plan, cuts: int = 1, stray: int = 0) -> rows.Sensitivity:
    """How far one row moves the summed gradient."""
    return rows.Sensitivity.of(
        norms(plan),
        plan.feature_bits,
        plan.residual_bits,
        has_intercept=plan.intercept,
        cuts=cuts,
        stray=stray,
    )


def norms(plan: Plan) -> tuple[float, ...]:
    """R_k of each party with columns."""
    return rows.norms_of(plan.joint_norm, [party.features for party in plan.learners])


def home_rho(plan: Plan) -> float:
    """What each party with columns spends on its own rows before training."""
    if plan.scale != "whitened":
        return 0.0
    return rho_at_home(rows.total_rho(plan.epsilon, plan.delta), [party.features for party in plan.learners])


@dataclass(frozen=True, repr=False, eq=False)
class HomeTreatment:
    """One party's scaling, whitening and clipping, with the randomness that its noise comes from."""

    plan: Plan
    party: str
    draw: Draw

    def fit(self, numbers: Matrix, is_category: Sequence[bool]) -> FittedRows:
        """Ranges by noisy quantiles, moments with noise; nothing at all where the plan leaves columns as they are."""
        columns = numbers.shape[1]
        if self.plan.scale != "whitened" or not columns:
            return FittedRows(np.zeros(columns), np.ones(columns), None)
        known = [home.CATEGORY if is_known else None for is_known in is_category]
        gamma = gamma_for(self.plan.l2, self.plan.blocks)
        fitted = home.fit_whitening(numbers, known, home_rho(self.plan), self.draw, gamma)
        ranges = fitted.scaling.ranges
        whitening = Whitening(fitted.mean, fitted.matrix, fitted.scaling.reach, fitted.norm)
        return FittedRows(
            np.array([item.middle for item in ranges]), np.array([1.0 / item.half for item in ranges]), whitening
        )

    def limited(self, scaled: Matrix) -> Matrix:
        """Clipped to R_k and rounded toward zero."""
        if not scaled.shape[1]:
            return scaled
        own = self.plan.party(self.party).features
        norm = self.plan.joint_norm * math.sqrt(own / self.plan.columns)
        units = rows.clipped_units(scaled, norm, self.plan.feature_bits)
        limited: Matrix = units / 2.0**self.plan.feature_bits
        return limited


def cut_residuals(plan: Plan, residuals: Vector) -> Vector:
    """Rounded toward zero to whole units of 2**-residual_bits, as the encrypted protocol cuts them."""
    scale = 2.0**plan.residual_bits
    cut: Vector = np.trunc(residuals * scale) / scale
    return cut


def noise_of_a_run(plan: Plan, cost: rows.RowCost, columns: int, draw: Draw) -> Matrix:
    """One party's noise on all coordinates, one row per pass, in the units of a sum of residuals times rows."""
    return np.ldexp(whole_noise_of_a_run(cost, columns, draw), -(plan.feature_bits + plan.residual_bits))


def whole_noise_of_a_run(cost: rows.RowCost, columns: int, draw: Draw) -> rows.Units:
    """The same in whole units of 2**-(feature_bits + residual_bits): what a party adds to its share before the cut."""
    drawn = discrete_gaussian.sample_many(cost.std, cost.passes * columns, draw)
    return np.array(drawn, dtype=np.int64).reshape(cost.passes, columns)
