"""The cost of a run for one row: how long rows may be, how far one moves the sums, and what noise that takes.

The proofs are in docs/privacy.md, the arithmetic in `privacy`.
"""

import math
from dataclasses import dataclass

from plumbob.plan import Plan
from plumbob.privacy import rows
from plumbob.privacy.rows import rho_at_home


@dataclass(frozen=True)
class SumUnits:
    """The whole numbers in which a protocol's sums stand when the noise is added."""

    residual_bits: int
    """Fraction bits of a residual."""
    dropped_bits: int = 0
    """Low bits of residual times feature that the protocol's products leave out."""
    stray: int = 0
    """By how many units rounding inside the products can change one sum between neighbours."""


def row_cost(plan: Plan, failure: float, units: SumUnits | None = None) -> rows.RowCost | None:
    """The cost of a run for one row, with the noise that keeps the plan's promise; None where it makes none.

    `failure` is the chance that the run's arithmetic fails or shows something, which delta pays for. Without units, in
    those of `clear`: residuals are cut to `residual_bits`, and sums are exact.
    """
    if plan.noise != "rows":
        return None
    at_home = [home_rho(plan, failure) for party in plan.learners if party.features]
    moved = moved_units(plan, units or SumUnits(plan.residual_bits))
    spent = [rho for rho in at_home if rho]
    return rows.calibrated(plan.epsilon, plan.delta, moved, plan.passes_without_sample, spent, failure)


def moved_units(plan: Plan, units: SumUnits) -> int:
    """How many units one row moves the sums by, low bits and rounding included; rounded up."""
    exact = sensitivity(plan, units.residual_bits).units
    stray = math.ceil(units.stray * math.sqrt(plan.columns + plan.intercept))
    return -((-exact) >> units.dropped_bits) + stray


def sensitivity(plan: Plan, residual_bits: int | None = None) -> rows.Sensitivity:
    """How far one row moves the exact sums; a residual is cut once at most."""
    bits = plan.residual_bits if residual_bits is None else residual_bits
    return rows.Sensitivity.of(norms(plan), plan.feature_bits, bits, has_intercept=plan.intercept)


def rho_of_a_run(plan: Plan, failure: float) -> float:
    """All that the plan's epsilon and delta allow a run to spend; the noise that is drawn spends no more."""
    return rows.total_rho(plan.epsilon, plan.delta, failure)


def norms(plan: Plan) -> tuple[float, ...]:
    """R_k of each party with columns: the longest row that it may have."""
    return rows.norms_of(plan.joint_norm, [party.features for party in plan.learners])


def home_rho(plan: Plan, failure: float) -> float:
    """The zCDP that each party with columns spends on its own rows before training."""
    if not plan.is_whitened:
        return 0.0
    return rho_at_home(rho_of_a_run(plan, failure), [party.features for party in plan.learners])
