"""What a rule is: from a plan's figures and a party to a verdict with the numbers behind it.

There is one for each attack, each kind of party that could make it and each target. docs/check.md says how the numbers
come about, benchmarks/check_grid.py how often the verdicts are right.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import BLOCKED, NOT_APPLICABLE

NO_GRADIENTS = "In shares nobody sees a gradient: there are no training messages to work on."


@dataclass(frozen=True)
class Judgement:
    """A verdict and its one sentence."""

    verdict: str
    why: str


@dataclass(frozen=True)
class Rule:
    """How one attack by one kind of party is judged from a plan."""

    attack: str
    by: Literal["label", "features"]
    target: Literal["labels", "scores", "features"]
    reference: str
    judge: Callable[[Figures, str], Judgement]


def blocked(why: str) -> Judgement:
    """It surely comes to nothing."""
    return Judgement(BLOCKED, why)


def not_applicable(why: str) -> Judgement:
    """It has nothing to work on."""
    return Judgement(NOT_APPLICABLE, why)


def without_sums(figures: Figures, party: str) -> Judgement | None:
    """Where a party gets no gradients there is nothing to solve."""
    if not figures.sees_sums:
        return blocked(NO_GRADIENTS)
    if not figures.columns(party):
        return not_applicable(f"{party} has no columns, so it gets no sums.")
    return None
