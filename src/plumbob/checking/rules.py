"""What a rule gives, and what several rules have in common.

A rule goes from a plan's figures and a party to a verdict with the numbers behind it. The catalogue names one for each
attack, each kind of party that could make it and each target. docs/check.md says how the numbers
come about, benchmarks/check_grid.py how often the verdicts are right.
"""

from dataclasses import dataclass

from plumbob.checking.figures import Figures
from plumbob.checking.verdict_words import BLOCKED, NOT_APPLICABLE

NO_GRADIENTS = "In shares nobody sees a gradient, so the attack has no training messages to work on."


@dataclass(frozen=True)
class Judgement:
    """A verdict and its one sentence."""

    verdict: str
    why: str


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
