"""What is refused unless somebody accepts it by name, and what they read first, on one screen.

`train` refuses a plan that leaks while everyone keeps to the protocol. A signature accepts three things apart, because
they are three decisions: what honest parties learn, what a cheating party could read without leaving a trace, and
evidence that outlives the noise of a promise about rows.
"""

from collections.abc import Sequence

from plumbob.checking.advice import as_flags, as_parameters, merged
from plumbob.checking.check import check
from plumbob.checking.findings import Findings
from plumbob.checking.headlines import headlines
from plumbob.checking.rules.keys import ARBITER
from plumbob.checking.rules.remedies import Changes
from plumbob.checking.words import CHEATING, HONEST, LEAKS
from plumbob.counting import counted
from plumbob.errors import UnsafePlanError
from plumbob.plan import Plan
from plumbob.record import Finding

WORST = 3
"""How many findings a refusal names."""


class LeakWarning(UserWarning):
    """Warns that the plan leaks above its tolerance: Python trains anyway, where the command line refuses."""


def refuse_leaks(
    plan: Plan, rows: int | None, is_accepted: bool, but: Sequence[str] = (), positives: float | None = None
) -> None:
    """Refuse to train by a plan that leaks unless somebody accepted it; attacks named in `but` do not count.

    `positives` is the share of positive labels, where the table is here.
    """
    leaking = [] if is_accepted else refusing(check(plan, rows, positives=positives), but)
    if leaking:
        remedy = as_flags(_remedy(leaking), plan)
        stops = f"type {remedy} to stop it" if remedy else "no key of the plan stops it; type"
        raise UnsafePlanError(
            "the plan leaks above its tolerance, even if everyone keeps to the protocol:\n"
            f"{worst(leaking)}\n{stops}, `plumbob check` to see all, or add --accept-leaks to train anyway"
        )


def refusing(findings: Sequence[Finding], but: Sequence[str] = ()) -> list[Finding]:
    """Findings that leak above the plan's tolerance while everyone keeps to the protocol, without those in `but`."""
    # That the arbiter joins nobody is what such a plan assumes; `check` says so, and its signature accepts it.
    passed = {*but, ARBITER}
    return [one for one in findings if one.verdict == LEAKS and one.assumes == HONEST and one.attack not in passed]


def worst(leaking: Sequence[Finding]) -> str:
    """The first few findings, one per line."""
    named = [f"  {one.attack} by {one.by} against {one.against} ({one.target}): {one.why}" for one in leaking[:WORST]]
    return "\n".join([*named, *([f"  and {len(leaking) - WORST} more"] if len(leaking) > WORST else [])])


def warning_about(leaking: Sequence[Finding]) -> str:
    """A warning for whoever trains from Python, with parameters in place of flags."""
    remedy = as_parameters(_remedy(leaking))
    stops = f"to stop it: {remedy}" if remedy else "no parameter stops it"
    return (
        f"the plan leaks above its tolerance, and the command line would refuse it:\n{worst(leaking)}\n{stops}; "
        "plumbob.check(model) shows all"
    )


def _remedy(leaking: Sequence[Finding]) -> Changes:
    return merged([one.changes for one in leaking])


# Before a signature.

LEAKS_ACCEPTED, CHEATING_ACCEPTED, EVIDENCE_ACCEPTED = "leaks", "cheating", "evidence"
REFUSALS = {
    LEAKS_ACCEPTED: "the plan leaks above its tolerance even if everyone keeps to the protocol",
    CHEATING_ACCEPTED: "a cheating party could read other parties' data, and nothing would show it",
    EVIDENCE_ACCEPTED: (
        "whoever opens a party's evidence takes that party's noise away, and the promise about rows then rests on the "
        "others' noise"
    ),
}
"""The words for each thing that has to be accepted."""
NO_REPLAY = "a cheating party could read other parties' data in a way that no replay of the evidence would name"


def needed(plan: Plan, findings: Sequence[Finding]) -> list[str]:
    """The things that a signature under this plan has to accept."""
    found = [LEAKS_ACCEPTED] if refusing(findings) else []
    if any(one.verdict == LEAKS and one.assumes == CHEATING for one in findings):
        found.append(CHEATING_ACCEPTED)
    if plan.keeps_evidence and plan.noise == "rows":
        found.append(EVIDENCE_ACCEPTED)
    return found


def refuse_unaccepted(plan: Plan, findings: Findings, accepted: Sequence[str]) -> None:
    """Raise UnsafePlanError with both headlines, and the flag for each thing that was not accepted."""
    missing = [one for one in needed(plan, findings) if one not in accepted]
    if not missing:
        return
    flags = " ".join(f"--accept-{one}" for one in missing)
    words = {**REFUSALS, CHEATING_ACCEPTED: NO_REPLAY} if plan.keeps_evidence else REFUSALS
    reasons = "\n".join(f"{words[one]}: --accept-{one}" for one in missing)
    shown = "\n".join(findings.headlines.lines())
    raise UnsafePlanError(f"nothing was signed.\n{shown}\n\n{reasons}\nchange the plan, or add {flags} to sign it")


def consent_lines(plan: Plan, findings: Findings, reader: str = "", assumed: Sequence[str] = ()) -> list[str]:
    """The screen for the party that signs; `assumed` says what findings rest on if the rows are not known yet."""
    title = f' "{plan.title}"' if plan.title else ""
    widths = ", ".join(f"{party.name} {counted(party.features, 'column')}" for party in plan.learners)
    rows = "" if assumed or findings.figures is None else f", {findings.figures.aligned:,} rows"
    return [
        f"plan{title}: {plan.protocol}, {widths}{rows}",
        "",
        *headlines(findings, findings.figures, reader=reader).lines(),
        "",
        *(f"note: {note}" for note in (*assumed, *findings.short_notes)),
        findings.more,
    ]
