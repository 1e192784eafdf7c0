"""What a run's record keeps of `check`, and how that compares with what the red team found after the run.

Its findings follow from the plan alone. A disagreement with the red team is shown, not hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plumbob.checking.check import check
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.findings import Findings
from plumbob.checking.headlines import headlines
from plumbob.checking.judgement import PlanJudgement
from plumbob.checking.row_notes import after_second_run, noise_in_words, promise_in_numbers
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.plan import Plan
from plumbob.record import Finding, RunRecord


def with_predictions(record: RunRecord, positives: float | None = None) -> RunRecord:
    """The record with what the plan's numbers say of its run, and the share of positives where the labels are here."""
    labels = getattr(record.transcripts.get(record.parsed_plan.label_party.name), "y", None)
    share = positives if labels is None else float(labels.mean())
    return replace(record, predicted=predictions(record.parsed_plan, record.rows, share))


def with_findings(record: RunRecord, findings: Sequence[Finding]) -> RunRecord:
    """The record with what a red team found, beside what the plan's numbers say."""
    figures = findings.figures if isinstance(findings, Findings) else None
    positives = None if figures is None else figures.positives
    return replace(with_predictions(record, positives), findings=list(findings))


def with_verdicts(record: RunRecord) -> RunRecord:
    """The record with verdicts: a party's own has none, because beside its keys no rule is loaded."""
    return record if record.findings or record.predicted else with_predictions(record)


def predictions(plan: Plan, training_rows: int, positives: float | None = None) -> list[Finding]:
    """The findings of `check` for a plan that trained on this many rows: held-out ones may be scored, too."""
    aligned = plan.aligned(training_rows)
    return check(plan.replace(rows=aligned if plan.noise == "rows" else 0), aligned, positives)


def judgement_of_run(record: RunRecord) -> PlanJudgement:
    """What was found, or what the plan lets expect where nobody attacked the run."""
    found = record.findings or record.predicted
    return judgement(figures_of_run(record), found, tuple(attacks_not_run(record)))


def attacks_not_run(record: RunRecord) -> list[str]:
    """The attacks that `check` names for this plan and its audit left out; none where nobody attacked at all."""
    run = {name for finding in record.findings for name in finding.attacks or (finding.attack,)}
    unread = [finding.attack for finding in record.predicted if not run & set(finding.attacks)]
    return list(dict.fromkeys(unread)) if run else []


def judgement(figures: Figures, findings: Sequence[Finding], left_out: tuple[str, ...] = ()) -> PlanJudgement:
    """The findings about a plan for this many rows, with all that a page says beside them."""
    protected, opened, limits, assumed = (
        tuple(said(place, figures))
        for place in (SaidWhere.PROTECTED, SaidWhere.OPENED, SaidWhere.LIMITS, SaidWhere.ASSUMED)
    )
    return PlanJudgement(
        headlines(findings, figures, is_partial=bool(left_out)),
        protected,
        tuple(promise_in_numbers(figures)),
        opened,
        limits,
        (*assumed, f"These rows are used once: {after_second_run(figures)}."),
        noise_in_words(figures.plan, 0 if figures.is_assumed else figures.rows),
        left_out,
    )


def figures_of_run(record: RunRecord) -> Figures:
    """The figures of a run's plan, on the rows that it had."""
    return Figures(record.parsed_plan, record.rows, held_out=record.test_rows)


# Beside what was found.

AS_PREDICTED, MORE, LESS, NOT_PREDICTED = "as predicted", "more than predicted", "less than predicted", "not predicted"
REACH = {LEAKS: 2, DEGRADES: 1, BLOCKED: 0}


@dataclass(frozen=True)
class Agreement:
    """One attack by one party against another, before and after the run."""

    attack: str
    by: str
    against: str
    target: str
    predicted: str
    """The verdict of `check`; empty where it has none."""
    found: str
    word: str

    @property
    def is_kept(self) -> bool:
        return self.word == AS_PREDICTED

    def __str__(self) -> str:
        said = f"check said {self.predicted}" if self.predicted else "check said nothing"
        return (
            f"{self.attack} by {self.by} against {self.against} ({self.target}): {said}, the red team found "
            f"{self.found}; {self.word}."
        )


def agreements(predicted: Sequence[Finding], findings: Sequence[Finding]) -> list[Agreement]:
    """One agreement for each reading that attacks were tried on, and for each that nobody expected; mistakes first."""
    shown = [(said, [one for one in findings if _shows(one, said)]) for said in predicted]
    judged = [_compare(min(found, key=_severity), said.verdict) for said, found in shown if found]
    expected = [one for _, found in shown for one in found]
    fresh = [one for one in findings if one not in expected]
    return sorted([*judged, *(_compare(one, "") for one in fresh)], key=lambda one: one.is_kept)


def _compare(finding: Finding, predicted: str) -> Agreement:
    word = NOT_PREDICTED
    if predicted:
        difference = REACH[finding.verdict] - REACH[predicted]
        word = MORE if difference > 0 else LESS if difference < 0 else AS_PREDICTED
    return Agreement(finding.attack, finding.by, finding.against, finding.target, predicted, finding.verdict, word)


def _severity(finding: Finding) -> int:
    return -REACH[finding.verdict]


def _shows(finding: Finding, said: Finding) -> bool:
    """Whether a finding of the red team is about what `check` said."""
    is_alike = (finding.by, finding.target) == (said.by, said.target)
    is_same = is_alike and finding.attack in (*said.attacks, said.attack)
    return is_same and bool(set(finding.against.split("+")) & set(said.against.split("+")))
