"""The decision sheet: one side of paper for the person who says yes or no, in plain words, with room for a signature.

It is made from a run's record, or from a plan before any run. Each sentence is one that this plan makes true;
docs/privacy-officers.md explains them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plumbob.checking.figures import Figures
from plumbob.checking.filing import judgement, judgement_of_run
from plumbob.checking.judgement import PlanJudgement
from plumbob.checking.words import joined_names, sentence, spoken_names
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.record import Finding, RunRecord
from plumbob.report.run import warnings
from plumbob.report.templates import page_of, shortened

MOST_NAMES = 3
LONGEST_NAME, LONGEST_LIST = 24, 150
CALCULATED = "Nothing, in this run: it was calculated in the clear, without the plan's encryption."


@dataclass(frozen=True)
class DecisionSheet:
    """Everything that the sheet says; it is signed by hand, and the plan's hash says what was decided on."""

    title: str
    about: str
    """Who has what, and what they do with it."""
    basis: str
    """What the headlines rest on."""
    judgement: PlanJudgement
    protected: Sequence[str]
    """What is protected, from whom, and how strongly."""
    not_tested: Sequence[str]
    plan_hash: str
    version: str


def decision_on_plan(plan: Plan, findings: Sequence[Finding], version: str) -> DecisionSheet:
    """The sheet of a plan that nobody has run yet."""
    figures = Figures.of(plan)
    known = judgement(figures, findings)
    return DecisionSheet(
        title=_title(plan),
        about=about(plan, 0 if figures.is_assumed else figures.rows),
        basis="Calculated from the plan alone; nobody has attacked a run of it." if findings else NOT_CHECKED,
        judgement=known,
        protected=[*known.protected, *known.promise],
        not_tested=[NOT_ATTACKED, *NEVER_TESTED],
        plan_hash=plan.hash(),
        version=version,
    )


def decision_on_run(record: RunRecord, known: PlanJudgement | None = None) -> DecisionSheet:
    """The sheet after a run: what was found or, where nobody attacked it, what the plan lets expect."""
    plan, known = record.parsed_plan, known or judgement_of_run(record)
    return DecisionSheet(
        title=_title(plan),
        about=about(plan, record.rows),
        basis=_basis(record, known),
        judgement=known,
        protected=[
            *([CALCULATED] if record.is_calculated else known.protected),
            *warnings(record),
            *known.promise,
        ],
        not_tested=list(_not_tested(record, known)),
        plan_hash=record.plan_hash,
        version=record.plumbob,
    )


def summary_of(record: RunRecord, known: PlanJudgement | None = None) -> str:
    """The decision sheet of a run, as a page."""
    return summary_page(decision_on_run(record, known))


def summary_page(sheet: DecisionSheet) -> str:
    """The decision sheet as a page."""
    return page_of("decision.html", sheet)


# Its sentences.

NOT_CHECKED = "Nothing was checked: this page cannot help to decide."
NOT_ATTACKED = "No attack was run. `plumbob audit` attacks a run on data like yours."
NEVER_TESTED = ("Attacks that nobody has thought of.", "No outside experts have reviewed Plumbob.")


def _title(plan: Plan) -> str:
    return plan.title or f"A model trained with {plan.protocol}"


def about(plan: Plan, rows: int) -> str:
    """Who has what, and what they do with it; `rows` are training rows, 0 where nobody knows them yet."""
    others = plan.feature_parties
    spoken = spoken_names([party.name for party in plan.parties])
    label, *names = (shortened(spoken[party.name], LONGEST_NAME) for party in (plan.label_party, *others))
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    columns = counted(plan.label_party.features, "column") if plan.label_party.features else "no columns"
    return sentence(
        f"{label} holds the label and {columns}; {joined_names([*names[:MOST_NAMES], *more])} "
        f"{'holds' if len(others) == 1 else 'hold'} {counted(sum(party.features for party in others), 'column')}. "
        f"Together they train one logistic regression on {f'{rows:,} rows' if rows else 'rows'} that all of them have. "
        f"The protocol is {plan.protocol}."
    )


def _basis(record: RunRecord, known: PlanJudgement) -> str:
    if not record.findings:
        return "Calculated from the plan alone; nobody has attacked a run of it." if record.predicted else NOT_CHECKED
    partial = " The test was partial, so it decides nothing." if known.left_out else ""
    attacks = len({finding.attack for finding in record.findings})
    return f"Found by {attacks} attacks on this run, scored against the truth.{partial}"


def _not_tested(record: RunRecord, known: PlanJudgement) -> Iterator[str]:
    if not record.is_finished:
        yield f"The run did not finish: {shortened(record.status, LONGEST_LIST)}."
    if known.left_out:
        yield f"Attacks that were not run: {shortened(', '.join(known.left_out), LONGEST_LIST)}."
    elif not record.findings:
        yield NOT_ATTACKED
    else:
        yield "Other data: these attacks may reach more, or less, on other rows."
    yield from NEVER_TESTED
