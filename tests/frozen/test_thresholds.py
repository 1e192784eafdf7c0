"""A number exactly on a rule's threshold keeps its side: a "less than" in the place of an "at most" is noticed.

`boundaries.py` has the thresholds that whole numbers of a plan can meet. Those here are met by moving the threshold, or
the plan's tolerance, to the number that a plan has.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from plumbob.checking.check import judge_figures
from plumbob.checking.figures import Figures
from plumbob.checking.rules import gradients
from plumbob.checking.rules.gradients import RowByRow, coins_named, most_advantage, rare_bits
from plumbob.plan import Plan
from tests.frozen.boundaries import BLURRED, EXCHANGE, STARTED

BY = "features"
TOLERANCE = "tolerance_labels"
DROWNED: dict[str, Any] = STARTED | {"noise_std": 200.0, "batch_size": 8}
OPENED: dict[str, Any] = {"open": "own"}
FLIPPED: dict[str, Any] = {"label_flip_epsilon": 1.0}


@dataclass(frozen=True)
class Threshold:
    """A constant or the tolerance, a plan whose number it is moved to, and the verdicts there and just beyond."""

    name: str
    attack: str
    keys: dict[str, Any]
    number: Callable[[Figures], float]
    there: str
    below: str = ""
    """The verdict where the threshold is a little smaller than the number; or `above`, where it is a little larger."""
    above: str = ""
    positives: float | None = None
    by: str = BY

    def figures(self, **keys: Any) -> Figures:
        """The plan's figures on 2,000 rows, with these keys in addition."""
        plan = Plan.for_columns((11, 12), **self.keys | keys)
        return Figures.of(plan, 2000, positives=self.positives)


def left_over(figures: Figures) -> float:
    """Noise that is left after all visits, as a share of a label's part."""
    return figures.noise_toward(BY) / math.sqrt(figures.visits) / figures.label_signal


def in_general(figures: Figures) -> float:
    """What own columns say in general."""
    return figures.general_signal(BY, figures.visits)


def surely_named(figures: Figures) -> float:
    """The advantage on coin flips that opened weights surely have."""
    return 2.0 * (coins_named(figures, BY) - gradients.SURE * 0.5 / math.sqrt(figures.rows)) - 1.0


def decrypted(figures: Figures) -> RowByRow:
    """What an arbiter and a feature party read together."""
    return RowByRow(figures, BY, visits=figures.visits)


ARBITER: dict[str, Any] = BLURRED | {"protocol": "arbiter"}
TOGETHER = "arbiter+features"
THRESHOLDS = (
    Threshold("QUIET", "label-average", BLURRED | {"noise_std": 6.0}, left_over, "leaks", below="degrades"),
    Threshold("MOST_FLIPPED", "label-stacked", EXCHANGE | FLIPPED, lambda of: of.flipped, "leaks", below="degrades"),
    Threshold(
        *("UNTRAINED", "label-stacked", EXCHANGE | {"batches": "full", "start": "xavier", "epochs": 9}),
        *(lambda of: of.growth, "leaks"),
        below="degrades",
    ),
    Threshold(
        *("PLAIN", "label-average", STARTED | {"batches": "full", "noise_std": 3.0}),
        *(in_general, "leaks"),
        above="degrades",
    ),
    Threshold("FAINT", "label-average", DROWNED, in_general, "blocked", below="degrades"),
    Threshold("FEW_BITS", "label-average", DROWNED, lambda of: rare_bits(of, BY)[1], "degrades", above="blocked"),
    Threshold("FEW_BITS", "label-rare", DROWNED, lambda of: rare_bits(of, BY)[1], "degrades", above="blocked"),
    Threshold(
        *("SURE_BITS", "label-rare", EXCHANGE | {"batches": "full", "epochs": 1}),
        *(lambda of: rare_bits(of, BY)[1], "leaks"),
        above="degrades",
        positives=0.005,
    ),
    Threshold(
        *("RARE", "label-rare", EXCHANGE | {"batches": "full", "epochs": 1}),
        *(lambda of: 0.125, "degrades"),
        below="no finding",
        positives=0.125,
    ),
    Threshold(TOLERANCE, "label-average", DROWNED, lambda of: most_advantage(of, BY), "blocked", below="degrades"),
    Threshold(TOLERANCE, "own-weights", OPENED, surely_named, "degrades", below="leaks"),
    Threshold(
        *(TOLERANCE, "arbiter-key", ARBITER | {"noise_std": 3.0}),
        *(lambda of: decrypted(of).surely, "degrades"),
        below="leaks",
        by=TOGETHER,
    ),
    Threshold(
        *(TOLERANCE, "arbiter-key", ARBITER | {"noise_std": 100.0}),
        *(lambda of: decrypted(of).at_most, "blocked"),
        below="degrades",
        by=TOGETHER,
    ),
)


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=lambda one: f"{one.name}, {one.attack}")
def test_a_number_on_the_threshold_keeps_its_side(threshold: Threshold, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict where a plan's number equals the threshold, and where it lies next to it."""
    number = threshold.number(threshold.figures())
    aside = math.nextafter(number, math.inf if threshold.above else 0.0)
    assert verdict_at(threshold, number, monkeypatch) == threshold.there
    assert verdict_at(threshold, aside, monkeypatch) == (threshold.above or threshold.below)


def verdict_at(threshold: Threshold, number: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """The verdict of the finding on labels that the attack shows, with the threshold at this number."""
    keys = {TOLERANCE: number} if threshold.name == TOLERANCE else {}
    if not keys:
        monkeypatch.setattr(gradients, threshold.name, number)
    found = judge_figures(threshold.figures(**keys))
    about = [one for one in found if (one.by, one.target, one.assumes) == (threshold.by, "labels", "honest")]
    return next((one.verdict for one in about if threshold.attack == one.attack), "no finding")
