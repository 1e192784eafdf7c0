"""`party sign`: shows what a plan leaks and opens, and then signs it for this party."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from plumbob.caller import Outcome
from plumbob.errors import PlanError, UnsignedPlanError
from plumbob.party import signature
from plumbob.party.evidence import auditor_for
from plumbob.party.home import GivenHome, Home
from plumbob.party.joint_plan import GivenPlan, plan_argument, plan_of, refuse_strangers
from plumbob.party.log import logged_verb
from plumbob.party.rows import count_common_rows
from plumbob.plan import Plan, unready_evidence
from plumbob.plan.encodings import rows_drafted_for
from plumbob.protocol.openings import ASSUMED_ROWS


@logged_verb
def sign(
    home: GivenHome,
    plan: GivenPlan,
    *,
    accept_leaks: bool = False,
    accept_cheating: bool = False,
    accept_evidence: bool = False,
    ask: Callable[[str, list[str]], bool] | None = None,
    verbose: bool = False,
) -> Outcome:
    """Sign a plan, and what this party accepts by name; UnsafePlanError where it must accept more.

    `ask` shows the lines, and may say no; without it the lines are among those of the result.
    """
    from plumbob.checking.check import check, rows_of_draft
    from plumbob.checking.consent import consent_lines, refuse_unaccepted
    from plumbob.checking.findings import lines_of

    opened, agreed = Home.open(home), plan_of(plan)
    answers = {"leaks": accept_leaks, "cheating": accept_cheating, "evidence": accept_evidence}
    accepted = [name for name in signature.ACCEPTED if answers[name]]
    refuse_strangers(opened, agreed)
    rows = agreed.rows or count_common_rows(opened.folder, agreed) or None
    if (missing := unready_evidence(agreed)) is not None:
        raise PlanError(missing)
    if agreed.has_evidence_of(opened.identity.name):
        auditor_for(opened, agreed)
    # Before the alignment, the number that `check` and `propose` take: the price of noise depends on it.
    assumed_rows = 0 if rows else rows_of_draft(plan, agreed) or ASSUMED_ROWS
    findings = check(agreed, rows or assumed_rows)
    refuse_unaccepted(agreed, findings, accepted)
    assumed = [_not_aligned_yet(assumed_rows)] if assumed_rows else []
    notes = [*assumed, *findings.notes]
    if verbose:
        shown = [*lines_of(findings), "", *(f"note: {note}" for note in notes), ""]
    else:
        shown = [*consent_lines(agreed, findings, opened.identity.name, assumed), ""]
    shown[-1:-1] = auditors_in_words(agreed)
    if ask is not None and not ask("Sign this plan?", shown):
        raise UnsignedPlanError("nothing was signed; to change the plan, agree on another one: plumbob party propose")
    file = signature.sign(opened, agreed, accepted)
    few = few_of_drafted(plan, agreed, rows)
    said = f" and accepted {', '.join(accepted)}" if accepted else ""
    lines = [
        *(shown if ask is None else []),
        f"{opened.identity.name} signed {agreed.hash()}{said}",
        *([few] if few else []),
        _next(plan_argument(plan), is_aligned=rows is not None),
    ]
    fields = {
        "plan_hash": agreed.hash(),
        "signature": str(file),
        **{f"accepted_{name}": answer for name, answer in answers.items()},
        "rows": rows or 0,
        "findings": [asdict(finding) for finding in findings],
        "headlines": findings.headlines.to_dict(),
        "notes": notes,
        "lines": lines,
    }
    return Outcome(fields)


def _not_aligned_yet(rows: int) -> str:
    return (
        f"These rows are not aligned yet, and the plan does not say how many there are: the findings assume {rows:,}. "
        "Run `plumbob party align` and sign again to judge the real number."
    )


def auditors_in_words(plan: Plan) -> list[str]:
    """Whose auditors the plan names, by fingerprint, and what to find out about the one that opens scores."""
    lines = [f"{party}'s auditor: {fingerprint}" for party, fingerprint in plan.auditors]
    if plan.is_replayed:
        label = plan.label_party.name
        lines.append(
            f"Scores open by the word of {label}'s auditor alone: ask that auditor for its fingerprint, and compare. "
            f"An auditor of {label}'s own making protects nothing."
        )
    return lines


def few_of_drafted(given: GivenPlan, plan: Plan, rows: int | None) -> str:
    """A warning where far fewer rows are common than the plan's encoding was drafted for; from the file's remark."""
    drafted = rows_drafted_for(Path(given).read_text(encoding="utf-8")) if isinstance(given, str | Path) else None
    trained = 0 if rows is None else rows - plan.held_out(rows)
    if drafted is None or rows is None or 2 * trained >= drafted:
        return ""
    return (
        f"WARNING: the plan's encoding and penalty were drafted for {drafted:,} training rows, and only {trained:,} "
        "are in common; the model may learn chance. Propose again with fewer bins (--bins 0) and a larger --l2."
    )


def _next(file: str, *, is_aligned: bool) -> str:
    """The next command: rows are aligned before anybody trains."""
    if is_aligned:
        return f"next, once all parties have signed: plumbob party train {file}"
    return f"next, on all sides: plumbob party align {file}; then plumbob party train {file}"
