"""`check`: says what each party will be able to work out, from the plan's numbers alone.

One finding for each party, target, assumption and thing that can be read: a verdict, the numbers behind it, the attacks
that show it, and the plan's keys against it. Nothing here is a proof that a plan is harmless: what is not shown to leak
is just that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from plumbob.checking.advice import as_flags
from plumbob.checking.coalitions import Coalition, coalitions
from plumbob.checking.figures import Figures
from plumbob.checking.findings import Findings, worst_first
from plumbob.checking.rules import RULES
from plumbob.checking.rules.remedies import allowed
from plumbob.checking.words import ORDER
from plumbob.errors import PlanError
from plumbob.plan import Plan
from plumbob.plan.encodings import rows_drafted_for
from plumbob.protocol.shares.shape import RunShape
from plumbob.record import Finding, RunRecord

Checkable = Plan | RunRecord | str | Path | Mapping[str, Any] | Any
"""A plan, its file, its text, a dictionary of the same shape, a run's record, or a fitted model."""


def check(
    plan: Checkable,
    rows: int | None = None,
    positives: float | None = None,
) -> Findings:
    """Findings about a plan, or about whatever stands for one; the worst first.

    `rows` are the aligned rows, if the plan does not say; `positives` is the share of labels that are positive. As many
    rows are judged as the plan lets be scored, those held out for testing included.
    PlanError where `shares` cannot run the plan.
    """
    return judge_figures(figures_of(plan, rows, positives=positives))


def judge_figures(figures: Figures) -> Findings:
    """Findings about a plan's figures; the worst first."""
    refuse_impossible(figures.plan, figures.plan.rows)
    return worst_first(all_findings(figures), figures)


def refuse_impossible(plan: Plan, rows: int) -> None:
    """Raise PlanError if `shares` cannot run this plan with this many aligned rows; with 0, with any number of them."""
    if not plan.kind.has_lattices:
        return
    held_out = plan.held_out(rows)
    shape = RunShape(plan, max(rows - held_out, 1))
    shape.prove()
    shape.refuse_scores(held_out)


def rows_of_draft(file: Plan | str | Path | None, plan: Plan) -> int:
    """How many aligned rows a plan was drafted for, as its file says; 0 where nobody drafted it, or it has no file."""
    if not isinstance(file, str | Path):
        return 0
    trained = rows_drafted_for(Path(file).read_text(encoding="utf-8"))
    return plan.aligned(trained) if trained else 0


def all_findings(figures: Figures) -> Iterator[Finding]:
    """One finding for each party, target, assumption and thing that it can read; `audit` measures them."""
    alone = [found for rule in RULES for by in rule.attackers(figures) if (found := rule.finding(figures, by))]
    together = (found for coalition in coalitions(figures.plan) for found in _of_coalition(figures, coalition, alone))
    for found in (*alone, *together):
        yield finished(figures.plan, found)


def finished(plan: Plan, finding: Finding) -> Finding:
    """The finding with its remedy as flags to type, which the whole plan must allow."""
    return replace(finding, fix=as_flags(finding.changes, plan))


def _of_coalition(figures: Figures, coalition: Coalition, alone: Sequence[Finding]) -> Iterator[Finding]:
    """What all parties but one can read as one, where none of them reads as much alone."""
    merged = replace(figures, plan=coalition.plan, coalition=coalition)
    by_members = [one for one in alone if one.by in coalition.members and coalition.victim in one.against.split("+")]
    for rule in RULES:
        found = rule.finding(merged, coalition.joint) if coalition.joint in rule.attackers(merged) else None
        if found is not None and not any(_is_as_much(one, found) for one in by_members):
            yield replace(found, changes=allowed(figures.plan, found.changes))


def _is_as_much(one: Finding, other: Finding) -> bool:
    is_alike = (one.target, one.assumes) == (other.target, other.assumes)
    return is_alike and ORDER.index(one.verdict) <= ORDER.index(other.verdict)


def figures_of(
    plan: Checkable,
    rows: int | None = None,
    runs: int = 1,
    predicted: int | None = None,
    positives: float | None = None,
) -> Figures:
    """The figures of a plan, or of whatever stands for one, with its rows."""
    plan = getattr(plan, "record_", plan)
    if isinstance(plan, RunRecord):
        rows = rows or plan.rows + plan.test_rows
        plan = plan.parsed_plan
    elif isinstance(plan, str) and "\n" in plan:
        plan = Plan.from_toml(plan)
    elif isinstance(plan, str | Path):
        plan = Plan.load(plan)
    elif isinstance(plan, Mapping):
        plan = Plan.from_dict(plan)
    if not isinstance(plan, Plan):
        raise PlanError(
            f"expected a plan, its file or text, a dictionary, a run's record or a fitted model, got "
            f"{type(plan).__name__}"
        )
    if runs < 1 or (rows is not None and rows < 1):
        raise PlanError(f"expected at least one run and one row, got {runs} and {rows}")
    if positives is not None and not 0.0 <= positives <= 1.0:
        raise PlanError(f"expected a share of positives from 0 to 1, got {positives:g}")
    # A plan must hold for the rows that it is asked about: a batch may be longer than all of them.
    judged = plan if rows is None else plan.replace(rows=rows).on(rows - plan.held_out(rows))
    return Figures.of(judged, rows, runs, predicted, positives)
