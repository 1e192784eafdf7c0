"""A plan's promise about whole rows, for as many rows as a run has: its own failures included.

How often the arithmetic of a run fails, or a mask of it shows something, follows from public numbers: rows, parties,
columns and passes. delta pays for it (docs/privacy.md, Lemma 10).
"""

from plumbob.errors import PrivacyError
from plumbob.plan import Plan
from plumbob.privacy.rows import RowCost, RowSpending
from plumbob.protocol.row_noise import rho_of_a_run, row_cost
from plumbob.protocol.shares.shape import FAILURE_BITS, FAILURE_BITS_OF_STAGES, HIDING_BITS, LatticeShape


def run_failure(plan: Plan, rows: int) -> float:
    """A run's chance of failure with this many training rows; with 0, not known yet, the most that is allowed."""
    if not plan.kind.has_lattices:
        return 0.0
    if rows:
        return LatticeShape(plan, rows).failure
    if len(plan.learners) == 2:
        return 2.0**-FAILURE_BITS
    return 2.0**-FAILURE_BITS_OF_STAGES + 2.0**-HIDING_BITS


def promised_cost(plan: Plan, rows: int) -> RowCost | None:
    """The cost of a run with this many training rows for one row, in the units of `clear`; None without a promise.

    PrivacyError where the plan promises more than such a run keeps.
    """
    return row_cost(plan, run_failure(plan, rows)) if plan.noise == "rows" else None


def kept_cost(plan: Plan, rows: int) -> RowCost | None:
    """`promised_cost` for a report: None also for a run of an earlier version that promised too much."""
    try:
        return promised_cost(plan, rows)
    except PrivacyError:
        return None


def spending_of_a_run(plan: Plan, rows: int) -> RowSpending:
    """The most that a run with this many training rows spends of each."""
    failure = run_failure(plan, rows)
    return RowSpending(rho_of_a_run(plan, failure), failure)
