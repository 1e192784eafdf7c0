"""What a rule is: one attack by one kind of party on one target, and how a plan is judged on it.

A rule goes from a plan's figures and a party to a verdict with the numbers behind it. docs/check.md says how the
numbers come about, benchmarks/check_grid.py how often the verdicts are right.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from plumbob.checking.figures import Figures
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS, NOT_APPLICABLE, sentence
from plumbob.record import Finding

NO_GRADIENTS = "In shares nobody sees a gradient, so the attack has no training messages to work on."
NOTHING: Mapping[str, Any] = MappingProxyType({})
Assumes = Literal["honest", "cheating"]


@dataclass(frozen=True)
class Judgement:
    """A verdict and one sentence of reasons."""

    verdict: str
    why: str


Judge = Callable[[Figures, str], Judgement | None]


@dataclass(frozen=True)
class AttackRule:
    """One attack by one kind of party on one target. Its code is in the lab, in a file of the same name."""

    name: str
    by: Literal["label", "features"]
    """The role of the party that makes it."""
    target: Literal["labels", "scores", "features", "weights", "ids"]
    reference: str
    """The theorem or section of the paper, or where it goes beyond."""
    story: str
    """What it does, in two sentences for people who decide."""
    unless: Judge = lambda _figures, _party: None
    """Judges where the attack has nothing to work on; None where it has, and `judge` is asked."""
    judge: Judge = lambda _figures, _party: None
    """Judges a plan's figures for an attacker of this name: a verdict with its numbers; None: no finding."""
    assumes: Assumes = "honest"
    """Whether the attack needs cheating: data of the attacker's choice, or other software."""
    stage: Literal["training", "prediction"] = "training"
    is_named_by_replay: bool = True
    """Whether a replay of kept evidence names this cheat; it does not where all messages are honest."""
    is_preventable: bool = True
    """Whether some plan prevents it: what none does has a line of its own, and asks for no acceptance."""
    is_floor: bool = False
    """Whether a run in which the attack reached less changes nothing: its attacker chooses whom it brings."""


def finding(
    rule: AttackRule,
    by: str,
    against: str,
    verdict: str,
    why: str,
    changes: Mapping[str, Any] = NOTHING,
    target: str = "",
) -> Finding:
    """The finding of a rule for one party against another; `changes` are keys that only this finding asks for."""
    about = (target or rule.target, verdict, sentence(why), rule.reference, "")
    return Finding(rule.name, by, against, *about, stage=rule.stage, assumes=rule.assumes, changes=dict(changes))


def leaks(why: str) -> Judgement:
    """The judgement that an attack surely succeeds."""
    return Judgement(LEAKS, why)


def degrades(why: str) -> Judgement:
    """The judgement that an attack may succeed, or in part."""
    return Judgement(DEGRADES, why)


def blocked(why: str) -> Judgement:
    """The judgement that an attack surely comes to nothing."""
    return Judgement(BLOCKED, why)


def not_applicable(why: str) -> Judgement:
    """The judgement that an attack has nothing to work on."""
    return Judgement(NOT_APPLICABLE, why)


def without_sums(figures: Figures, party: str) -> Judgement | None:
    """The judgement for a party that gets no gradients; None for others."""
    if not figures.sees_sums:
        return not_applicable(NO_GRADIENTS)
    if not figures.columns(party):
        return not_applicable(f"{figures.spoken(party)} has no columns, so it gets no sums.")
    return None
