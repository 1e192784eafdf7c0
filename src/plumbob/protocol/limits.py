"""How many rows are ever scored, by the plan or by a party's own decision."""

from dataclasses import dataclass

from plumbob.errors import BudgetExceededError
from plumbob.plan import Plan


def most_scored_rows(plan: Plan, trained: int) -> int:
    """How many rows in all the plan lets the label party have scored where this many are trained on; 0 = no limit.

    Without a number in the plan all aligned rows, held-out ones included, where weights are never opened.
    """
    return plan.most_rows or (plan.aligned(trained) if plan.is_closed else 0)


def shows_quality(plan: Plan, rows: int) -> bool:
    """Whether some of this many aligned rows are held out and scored when training ends.

    None are where scores wait for a replay: `party predict --held-out` scores them afterwards.
    """
    return plan.kind.is_encrypted and plan.held_out(rows) > 0 and not plan.is_replayed


@dataclass(frozen=True)
class RowLimit:
    """How many rows are ever scored, by the plan or by a party's own decision."""

    rows: int
    is_planned: bool = False

    def in_words(self, used: int, owner: str) -> str:
        """The limit, the rows used and the rows left, in words."""
        whose = "the plan allows" if self.is_planned else f"{owner} itself allows"
        left = max(0, self.rows - used)
        return f"{whose} {self.rows:,} scored rows, {used:,} are used, {left:,} are left"

    def cure(self, raising: str) -> str:
        """What to do about the limit; `raising` where it is a party's own."""
        planned = "agree on a new plan (plumbob party propose --most-rows N) and train it"
        return f"predict fewer rows, or {planned if self.is_planned else raising}"


def refuse_beyond(limit: int, before: int, rows: int) -> None:
    """Raise BudgetExceededError where this many more rows exceed a limit; 0 = no limit."""
    if limit and before + rows > limit:
        raise BudgetExceededError(f"{before} rows of this plan have been scored, {rows} more exceed {limit}")
