"""What somebody reads before they sign a plan, on one screen: the verdicts, what leaks, what is opened and to whom."""

from collections.abc import Iterator, Sequence

from plumbob.checking.check import assumptions, prices_of_noise
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.findings import summary
from plumbob.checking.refusal import worst
from plumbob.checking.verdict_words import LEAKS
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.record import Finding

MORE = "--verbose shows all {count} findings, with their reasons, and what no finding covers."


def consent_lines(plan: Plan, rows: int, findings: Sequence[Finding], assumed: str = "") -> list[str]:
    """`assumed` says what the findings rest on where the rows are not known yet."""
    leaking = [one for one in findings if one.verdict == LEAKS]
    notes = [assumed, *prices_of_noise(plan, rows), *assumptions(plan, rows)]
    return [
        _first_line(plan, 0 if assumed else rows),
        "",
        summary(findings),
        *([worst(leaking)] if leaking else []),
        "",
        "What is opened, and to whom:",
        *(f"- {note}" for note in _openings(plan, rows)),
        *(f"note: {note}" for note in notes if note),
        MORE.format(count=len(findings)),
    ]


def _first_line(plan: Plan, rows: int) -> str:
    title = f' "{plan.title}"' if plan.title else ""
    widths = ", ".join(f"{party.name} {counted(party.features, 'column')}" for party in plan.learners)
    return f"plan{title}: {plan.protocol}, {widths}{f', {rows:,} rows' if rows else ''}"


def _openings(plan: Plan, rows: int) -> Iterator[str]:
    held_out = plan.held_out(rows)
    for place in (SaidWhere.NOTES, SaidWhere.SIGNING, SaidWhere.CHEATING):
        yield from said(place, plan, rows - held_out, held_out)
