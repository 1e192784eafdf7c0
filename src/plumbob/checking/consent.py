"""What somebody reads before they sign a plan, on one screen, and what they must accept by name.

Three things are accepted apart, because they are three decisions: what honest parties learn, what a cheating party
could read without leaving a trace, and evidence that outlives the noise of a promise about rows.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from plumbob.checking.check import assumptions, prices_of_noise
from plumbob.checking.findings import Findings
from plumbob.checking.headlines import headlines
from plumbob.checking.refusal import refusing
from plumbob.checking.verdict_words import CHEATING, LEAKS
from plumbob.counting import counted
from plumbob.errors import UnsafePlanError
from plumbob.plan import Plan
from plumbob.record import Finding

LEAKS_ACCEPTED, CHEATING_ACCEPTED, EVIDENCE_ACCEPTED = "leaks", "cheating", "evidence"
REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        LEAKS_ACCEPTED: "the plan leaks above its tolerance even if everyone keeps to the protocol",
        CHEATING_ACCEPTED: "a cheating party could read other parties' data, and nothing would show it",
        EVIDENCE_ACCEPTED: (
            "whoever opens a party's evidence takes that party's noise away, and the promise about rows then rests on "
            "the others' noise"
        ),
    }
)
"""What has to be accepted, in words."""


def needed(plan: Plan, findings: Sequence[Finding]) -> list[str]:
    """What a signature under this plan has to accept."""
    found = [LEAKS_ACCEPTED] if refusing(findings) else []
    if any(one.verdict == LEAKS and one.assumes == CHEATING for one in findings):
        found.append(CHEATING_ACCEPTED)
    if plan.keeps_evidence and plan.noise == "rows":
        found.append(EVIDENCE_ACCEPTED)
    return found


def refuse_unaccepted(plan: Plan, findings: Findings, accepted: Sequence[str]) -> None:
    """UnsafePlanError with both headlines, and the flag for each thing that was not accepted."""
    missing = [one for one in needed(plan, findings) if one not in accepted]
    if not missing:
        return
    flags = " ".join(f"--accept-{one}" for one in missing)
    reasons = "\n".join(f"{REFUSALS[one]}: --accept-{one}" for one in missing)
    shown = "\n".join(findings.headlines.lines())
    raise UnsafePlanError(f"nothing was signed.\n{shown}\n\n{reasons}\nchange the plan, or add {flags} to sign it")


def consent_lines(plan: Plan, rows: int, findings: Findings, reader: str = "", assumed: str = "") -> list[str]:
    """For the party that signs; `assumed` says what the findings rest on where the rows are not known yet."""
    notes = [assumed, *prices_of_noise(plan, rows), *assumptions(plan, rows)]
    return [
        _first_line(plan, 0 if assumed else rows),
        "",
        *headlines(findings, findings.figures, reader=reader).lines(),
        "",
        *(f"note: {note}" for note in notes if note),
        findings.more,
    ]


def _first_line(plan: Plan, rows: int) -> str:
    title = f' "{plan.title}"' if plan.title else ""
    widths = ", ".join(f"{party.name} {counted(party.features, 'column')}" for party in plan.learners)
    return f"plan{title}: {plan.protocol}, {widths}{f', {rows:,} rows' if rows else ''}"
