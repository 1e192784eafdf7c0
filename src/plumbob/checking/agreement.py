"""What `check` said before a run beside what the red team found after it. A disagreement is shown, not hidden."""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.checking.check import check
from plumbob.checking.verdict_words import BLOCKED, DEGRADES, LEAKS, NOT_APPLICABLE
from plumbob.plan import Plan
from plumbob.record import Finding

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


def predictions(plan: Plan, training_rows: int) -> list[Finding]:
    """What `check` says of a plan on this many rows, all of them for training, whatever else was held out."""
    return check(
        plan.replace(test_share=0.0, rows=0, epochs=plan.fixed_epochs, row_norm=plan.fixed_row_norm), training_rows
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
