"""What a run's record keeps of `check`, and how that compares with what the red team found after the run.

Its findings and its ledger follow from the plan alone. A disagreement with the red team is shown, not hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plumbob.checking import ledger
from plumbob.checking.check import check
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.headlines import headlines
from plumbob.checking.judgement import PlanJudgement
from plumbob.checking.row_notes import after_second_run, noise_in_words, promise_in_numbers
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS, NOT_APPLICABLE
from plumbob.plan import Plan
from plumbob.record import Finding, LedgerCurve, RunRecord

POINTS = 200
"""How many points a curve by step has."""


def with_predictions(record: RunRecord) -> RunRecord:
    """The record with what the plan alone says of its run: all that a party on a network can know."""
    plan = record.parsed_plan
    return replace(record, predicted=predictions(plan, record.rows), ledger=planned_ledger(plan, record.rows))


def with_verdicts(record: RunRecord) -> RunRecord:
    """The record with verdicts: a party's own has none, because beside its keys no rule is loaded."""
    return record if record.findings or record.predicted else with_predictions(record)


def predictions(plan: Plan, training_rows: int) -> list[Finding]:
    """The findings of `check` for a plan on this many rows, all of them for training, whatever was held out."""
    return check(_of_training_rows(plan, training_rows), training_rows)


def judgement_of_run(record: RunRecord) -> PlanJudgement:
    """What was found, or what the plan lets expect where nobody attacked the run."""
    found = record.findings or record.predicted
    return judgement(figures_of_run(record), found, tuple(attacks_not_run(record)))


def attacks_not_run(record: RunRecord) -> list[str]:
    """The attacks that `check` names for this plan and its audit left out; none where nobody attacked at all."""
    run = {finding.attack for finding in record.findings}
    named = dict.fromkeys(finding.attack for finding in record.predicted)
    return [name for name in named if run and name not in run]


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


def planned_ledger(plan: Plan, training_rows: int) -> list[LedgerCurve]:
    """The ledger's curves from the plan's numbers, on this many rows."""
    accounts = ledger.planned(_of_training_rows(plan, training_rows), training_rows).accounts
    return [ledger_curve(account, is_planned=True) for account in accounts]


def _of_training_rows(plan: Plan, rows: int) -> Plan:
    return plan.on(rows).replace(test_share=0.0, rows=0)


def ledger_curve(account: ledger.Account, is_planned: bool) -> LedgerCurve:
    """An account as a curve by step, thinned to what a picture shows."""
    n_steps = len(account.equations)
    kept = np.unique(np.linspace(0, n_steps - 1, min(n_steps, POINTS)).round().astype(int))
    return LedgerCurve(
        party=account.party,
        unknown=account.unknown,
        about=account.about,
        unknowns=account.unknowns,
        steps=[int(place) + 1 for place in kept],
        equations=[int(count) for count in np.cumsum(account.equations)[kept]],
        independent=[int(count) for count in account.totals[kept]],
        is_exact=account.is_exact,
        is_planned=is_planned,
    )


# Beside what was found.

AS_PREDICTED, MORE, LESS, NOT_PREDICTED = "as predicted", "more than predicted", "less than predicted", "not predicted"
# Whether an attack has nothing to work on, or works and reaches nothing, is the same to whoever is attacked.
REACH = {LEAKS: 2, DEGRADES: 1, BLOCKED: 0, NOT_APPLICABLE: 0}


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
    """One agreement for each finding of the red team, disagreements first."""
    verdicts = {_key(one): one.verdict for one in predicted}
    judged = [_compare(one, verdicts.get(_key(one), "")) for one in findings]
    return sorted(judged, key=lambda one: one.is_kept)


def _compare(finding: Finding, predicted: str) -> Agreement:
    word = NOT_PREDICTED
    if predicted:
        difference = REACH[finding.verdict] - REACH[predicted]
        word = MORE if difference > 0 else LESS if difference < 0 else AS_PREDICTED
    return Agreement(finding.attack, finding.by, finding.against, finding.target, predicted, finding.verdict, word)


def _key(finding: Finding) -> tuple[str, str, str, str]:
    return finding.attack, finding.by, finding.against, finding.target
