"""What a rule is: one reading that a release allows to one kind of party, and how a plan is judged on it.

A rule goes from a plan's figures and a party to a verdict, what the party can read, the numbers behind it and the
plan's keys that prevent it. `Rule.judge` alone decides a verdict. docs/check.md says how the numbers come about,
benchmarks/check_grid.py how often the verdicts are right.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plumbob.checking.figures import Figures
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS, joined_names, sentence
from plumbob.record import Finding

Assumes = Literal["honest", "cheating"]
Target = Literal["labels", "scores", "features", "weights", "ids"]
Attacker = Literal["label", "features", "arbiter", "arbiter with label", "arbiter with features"]
PREVENTED = "The plan opens no score before a replay: whoever sends a false message gets none, so this is not read."
NAMED = "The plan keeps evidence, so a replay would name it."


@dataclass(frozen=True)
class Judged:
    """What a plan's numbers say of one reading by one party."""

    verdict: str
    can: str
    """What the party reads, as the words after "can"; {whose} stands for the party that it is read of."""
    because: str
    """The numbers, as one or two sentences."""
    fix: Mapping[str, Any] = field(default_factory=dict)
    """The plan's keys that prevent it, or else make it leave a trace, with their new values."""
    attacks: tuple[str, ...] = ()
    """The attacks that have something to work on, the one that reads most first; empty: all of the rule's."""


Judge = Callable[[Figures, str], Judged | None]


@dataclass(frozen=True)
class Rule:
    """One reading by one kind of party: who, of what, under which assumption, and the attacks that show it."""

    attacks: Mapping[str, str]
    """The attacks' names, each with its reference: a theorem or section of the paper, or where it goes beyond."""
    by: Attacker
    target: Target
    read: Judge
    """Judges a plan's figures for an attacker of this name; None: there is nothing to read, and so no finding."""
    assumes: Assumes = "honest"
    """Whether the reading needs cheating: data of the attacker's choice, or other software."""
    stage: Literal["training", "prediction"] = "training"
    leaves_trace: bool = True
    """Whether a replay of kept evidence names this cheat; it does not where all messages are honest."""
    is_preventable: bool = True
    """Whether some plan prevents it: what none does has a line of its own, and asks for no acceptance."""
    is_floor: bool = False
    """Whether a run in which the attack reached less changes nothing: its attacker chooses its inputs."""

    @property
    def is_named_by_a_replay(self) -> bool:
        """Whether it takes other software than ours, so that a replay of kept evidence names its attacker."""
        return self.assumes == "cheating" and self.leaves_trace

    def judge(self, figures: Figures, by: str) -> Judged | None:
        """The verdict on this reading by a party, evidence and replays included; None where nothing can be read."""
        judged = self.read(figures, by)
        if judged is None:
            return None
        verdict, added = self.after_a_replay(figures, by, judged.verdict)
        return replace(judged, verdict=verdict, because=f"{sentence(judged.because)} {added}".strip())

    def after_a_replay(self, figures: Figures, by: str, verdict: str) -> tuple[str, str]:
        """The verdict with evidence and replays in it, and the sentence that says so; for measured ones, too."""
        if verdict in (LEAKS, DEGRADES) and self.is_named_by_a_replay:
            if figures.plan.is_replayed:
                return BLOCKED, PREVENTED
            if figures.has_evidence_of(by):
                return DEGRADES, NAMED
        return verdict, ""

    def attackers(self, figures: Figures) -> Iterator[str]:
        """The names of the parties, or of a party and the arbiter, that the rule is about."""
        arbiter = figures.plan.arbiter
        kind, _, role = self.by.partition(" with ")
        if kind != "arbiter":
            yield from (party.name for party in figures.plan.learners if party.role == kind)
        elif arbiter is not None:
            partners = [party.name for party in figures.plan.learners if party.role == role]
            yield from (f"{arbiter.name}+{partner}" for partner in partners) if role else [arbiter.name]

    def finding(self, figures: Figures, by: str) -> Finding | None:
        """The finding about one party, against everybody of whom it reads; None where nothing can be read."""
        judged = self.judge(figures, by)
        if judged is None:
            return None
        attacks = judged.attacks or tuple(self.attacks)
        against = self._victims(figures, by)
        whose = joined_names([f"{figures.spoken(name)}'s" for name in against], "or")
        return Finding(
            attacks[0],
            by if figures.coalition is None else figures.coalition.name,
            "+".join(against),
            self.target,
            judged.verdict,
            sentence(judged.because),
            self.attacks[attacks[0]],
            "",
            stage=self.stage,
            assumes=self.assumes,
            changes=dict(judged.fix) if judged.verdict in (LEAKS, DEGRADES) else {},
            can=judged.can.format(whose=whose),
            attacks=attacks,
        )

    def _victims(self, figures: Figures, by: str) -> list[str]:
        label_party = figures.plan.label_party.name
        if self.target == "labels":
            return [label_party]
        if self.by == "arbiter":
            return [party.name for party in figures.plan.learners if figures.columns(party.name)]
        return [party.name for party in figures.peers(by.rpartition("+")[2])] or [label_party]
