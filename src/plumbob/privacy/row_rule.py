"""The public rule of `noise = "rows"`: how many passes, how long rows may be, and how the budget is split.

Everything follows from numbers that are in the plan: rows, columns, parties, epsilon and delta. The constants come from
made-up tables (benchmarks/row_privacy.py), not from those that results are reported on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.plan.settings import row_passes, usual_row_norm
from plumbob.privacy.rows import total_rho

HOME_SHARE = 0.1
"""Of the whole budget, spent by each party on its own scaling and whitening; all of them together at most half."""
MOMENTUM = 0.5


@dataclass(frozen=True)
class RowRule:
    """What a plan that leaves it open gets."""

    passes: int
    row_norm: float
    rho_at_home: float
    """zCDP that each party with columns may spend on its own rows before training."""


def row_rule(rows: int, columns: Sequence[int], epsilon: float, delta: float) -> RowRule:
    """From public numbers alone; `columns` are each party's."""
    passes = row_passes(rows, sum(columns), epsilon, delta)
    norm = usual_row_norm(rows, sum(columns), epsilon, delta)
    return RowRule(passes, norm, rho_at_home(total_rho(epsilon, delta), columns))


def rho_at_home(rho: float, columns: Sequence[int]) -> float:
    """Each party's part of the budget: a tenth, or less where many parties would spend more than half together."""
    parties = sum(own > 0 for own in columns)
    return rho * min(HOME_SHARE, 0.5 / max(1, parties))
