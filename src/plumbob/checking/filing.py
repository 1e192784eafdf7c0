"""What a run's record keeps of `check`, and how that compares with what the red team found after the run.

Its findings and its ledger follow from the plan alone. A disagreement with the red team is shown, not hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plumbob.checking import ledger
from plumbob.checking.check import check
from plumbob.checking.figures import Figures
from plumbob.checking.verdict_words import BLOCKED, DEGRADES, LEAKS, NOT_APPLICABLE
from plumbob.plan import Plan
from plumbob.record import Finding, LedgerCurve, RunRecord

POINTS = 200
"""Of a curve by step."""


def with_predictions(record: RunRecord) -> RunRecord:
    """What the plan alone says of a run on this many rows: all that a party on a network can know."""
    plan = record.parsed_plan
    return replace(record, predicted=predictions(plan, record.rows), ledger=planned_ledger(plan, record.rows))


def predictions(plan: Plan, training_rows: int) -> list[Finding]:
    """What `check` says of a plan on this many rows, all of them for training, whatever else was held out."""
    return check(_of_training_rows(plan), training_rows)


def figures_of_run(record: RunRecord) -> Figures:
    """The plan of a run on the rows that it had."""
    return Figures(record.parsed_plan, record.rows, held_out=record.test_rows)


def planned_ledger(plan: Plan, training_rows: int) -> list[LedgerCurve]:
    """From the plan's numbers, on this many rows."""
    accounts = ledger.planned(_of_training_rows(plan), training_rows).accounts
    return [ledger_curve(account, is_planned=True) for account in accounts]


def _of_training_rows(plan: Plan) -> Plan:
    return plan.replace(test_share=0.0, rows=0, epochs=plan.fixed_epochs, row_norm=plan.fixed_row_norm)


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
    """One attack, by one party against another, before and after."""

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
    """One for each finding of the red team, disagreements first."""
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
