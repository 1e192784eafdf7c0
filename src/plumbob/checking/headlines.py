"""Two headlines: what each party can work out if everyone keeps to the protocol, and what it can if someone cheats.

Cheating is data of one's choice or other software. One function turns findings into two blocks of lines, one for each
party, target and thing that can be read, with its own verdict; `check`, `audit`, `sign`, the report, the decision
sheet, the receipt and the lab only show them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from plumbob.checking.advice import as_flags, merged, price_of
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.judgement import FEW_PARTIES, HEADINGS, HeadlineBlock, HeadlineLine, Headlines
from plumbob.checking.rules import rule_behind
from plumbob.checking.words import (
    ASSUMPTIONS,
    CHEATING,
    DEGRADES,
    HONEST,
    LEAKS,
    ORDER,
    joined_names,
    sentence,
    spoken_names,
)
from plumbob.counting import counted, decimal, percent, share
from plumbob.record import Finding

NOTHING = {
    HONEST: "No known attack is shown to tell anybody more.",
    CHEATING: "No known way of cheating is shown to tell anybody more.",
}
NOT_JUDGED = "No attack of this kind was judged."
HELPS_HERE_TOO = "The change named above helps here, too."
NOTHING_HELPS = "No key of the plan is known to stop this."
PARTIAL = " Not all attacks were run, so this settles nothing."
TARGETS = ("labels", "features", "scores", "weights", "ids")
OF_SEVERAL = {LEAKS: "leak", DEGRADES: "degrade"}
IN_GENERAL = {
    "labels": "work out {whose} labels",
    "scores": "work out {whose} part of scores",
    "features": "work out {whose} columns",
    "weights": "work out {whose} weights",
    "ids": "work out who is in {whose} table",
}
"""What is read, for a finding that does not say it."""


def headlines(
    findings: Sequence[Finding], figures: Figures | None = None, *, reader: str = "", is_partial: bool = False
) -> Headlines:
    """Both blocks; without `figures` nothing is said of openings.

    `reader` is the party that reads them, if one does: its data are "yours".
    """
    honest, cheating = (
        _block(assumes, [one for one in findings if one.assumes == assumes], figures, reader, is_partial)
        for assumes in ASSUMPTIONS
    )
    fresh = dict(cheating.changes.items() - honest.changes.items())
    if cheating.changes and not fresh:
        # Once is enough; so is the price of what the first headline has named.
        cheating = replace(cheating, remedy="", changes={}, price="", without_remedy=HELPS_HERE_TOO)
    elif figures is not None:
        cheating = replace(cheating, price=price_of(figures, fresh))
    return Headlines(honest, cheating)


def _block(
    assumes: str, findings: Sequence[Finding], figures: Figures | None, reader: str, is_partial: bool
) -> HeadlineBlock:
    speaker = Speaker.of(findings, figures, reader)
    lines = tuple(_lines(findings, figures, speaker))
    unprevented = tuple(_unprevented(findings, speaker))
    nothing = _left_over(assumes, findings, lines, figures)
    if unprevented:
        nothing = nothing.replace("No known", "No other known")
    plan = None if figures is None else figures.plan
    helps = merged([one.changes for one in findings if one.verdict == LEAKS])
    remedy = as_flags(helps, plan) or _in_other_words(findings)
    place = SaidWhere.OPENED if assumes == HONEST else SaidWhere.TRACE
    agreed = () if figures is None or (assumes == CHEATING and not lines) else tuple(said(place, figures))
    shut = () if figures is None or assumes == HONEST else tuple(said(SaidWhere.SHUT, figures))
    leaks = any(line.verdict == LEAKS for line in lines)
    return HeadlineBlock(
        assumes,
        HEADINGS[assumes],
        agreed,
        lines,
        nothing + (PARTIAL if nothing and is_partial else ""),
        remedy,
        helps,
        "" if figures is None else price_of(figures, helps),
        counts(findings, len(lines) + len(unprevented)),
        shut,
        unprevented,
        NOTHING_HELPS if leaks and not remedy and plan is not None else "",
    )


def _in_other_words(findings: Sequence[Finding]) -> str:
    """What stops the leaks of another system's job, in that system's words: its remedies are no keys of a plan."""
    return "; ".join(dict.fromkeys(one.fix for one in findings if one.verdict == LEAKS and not one.changes and one.fix))


def _left_over(
    assumes: str, findings: Sequence[Finding], lines: Sequence[HeadlineLine], figures: Figures | None
) -> str:
    """The sentence for parties that no line is about: silence could be read either way."""
    if not lines:
        return NOTHING[assumes] if findings else NOT_JUDGED
    learners = [] if figures is None else [party.name for party in figures.plan.learners]
    told = {name for line in lines for by in line.by for name in by.split("+")}
    spoken = spoken_names(learners)
    rest = [spoken[name] for name in learners if name not in told]
    whom = joined_names(rest, "or") if 0 < len(rest) < FEW_PARTIES else "any other party"
    return NOTHING[assumes].replace("anybody", whom) if rest else ""


def counts(findings: Sequence[Finding], lines: int) -> str:
    """How many findings each verdict has, and how many the lines sum up where that number differs."""
    number = Counter(one.verdict for one in findings)
    told = {
        one: f"{number[one]} {one if number[one] == 1 else OF_SEVERAL.get(one, one)}" for one in ORDER if number[one]
    }
    summed_up = [one for one in (LEAKS, DEGRADES) if one in told]
    if lines != sum(number[one] for one in summed_up):
        told[summed_up[-1]] += f" (in {counted(lines, 'line')} above)"
    whole = counted(len(findings), "finding")
    return f"{whole}: {', '.join(told.values())}." if told else f"{whole}."


# Lines.


@dataclass(frozen=True)
class Speaker:
    """The names that sentences have for parties; the reader's data are "yours"."""

    names: tuple[str, ...]
    spoken: dict[str, str]
    reader: str

    @classmethod
    def of(cls, findings: Sequence[Finding], figures: Figures | None, reader: str) -> "Speaker":
        planned = [party.name for party in figures.plan.parties] if figures else []
        met = sorted({name for one in findings for both in (one.by, one.against) for name in both.split("+")})
        names = tuple(dict.fromkeys([*planned, *met]))
        return cls(names, spoken_names(names), reader)

    def whose(self, by: Sequence[str], against: Sequence[str]) -> str:
        """The owners of what is read: "bank's", "bank's or fund's", "your"."""
        if set(by) & set(against):
            return "another party's"
        if len(against) < FEW_PARTIES:
            return joined_names(["your" if name == self.reader else f"{self.spoken[name]}'s" for name in against], "or")
        return "your or another party's" if self.reader in against else "any other party's"

    def actors(self, by: Sequence[str]) -> str:
        """The attackers as a subject: one, any of several, or several together."""
        if "+" not in by[0]:
            return joined_names([self.spoken[name] for name in by], "or")
        if len(by) > 1 or len(self.names) > FEW_PARTIES:
            return "all the others together"
        return f"{joined_names([self.spoken[name] for name in by[0].split('+')])} together"

    def reading(self, one: Finding) -> str:
        """What a finding gives, with {whose} in the place of the owners."""
        against = one.against.split("+")
        owners = joined_names([f"{self.spoken[name]}'s" for name in against], "or")
        return one.can.replace(owners, "{whose}") or IN_GENERAL.get(one.target, "learn something about {whose} data")


def _lines(findings: Sequence[Finding], figures: Figures | None, speaker: Speaker) -> Iterator[HeadlineLine]:
    """A line for each thing that can be read, the worst first; parties that can read the same share a line."""
    open_ones = [one for one in findings if one.verdict in (LEAKS, DEGRADES) and rule_behind(one).is_preventable]
    readings: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for one in open_ones:
        readings[one.by, one.target, speaker.reading(one)].append(one)
    alike: dict[tuple[object, ...], list[tuple[Finding, list[str]]]] = defaultdict(list)
    for (by, target, reading), members in readings.items():
        most = min(members, key=lambda one: (ORDER.index(one.verdict), -(one.advantage or 0.0)))
        against = list(dict.fromkeys(name for one in members for name in one.against.split("+")))
        is_measured = most.rate is not None
        alike[target, "+" in by, most.verdict, reading, by if is_measured else ""].append((most, against))
    lines = [_line(members, str(key[3]), figures, speaker) for key, members in alike.items()]
    yield from sorted(lines, key=lambda line: (ORDER.index(line.verdict), TARGETS.index(line.target)))


def _line(
    members: Sequence[tuple[Finding, list[str]]], reading: str, figures: Figures | None, speaker: Speaker
) -> HeadlineLine:
    first = members[0][0]
    by = [one.by for one, _ in members]
    against = sorted({name for _, names in members for name in names}, key=speaker.names.index)
    whose = speaker.whose(by, against)
    can = reading.format(whose=whose) if first.rate is None else _measured(first, figures, reading, whose)
    is_named = all(_is_named(one, figures) for one, _ in members)
    verb = "could" if is_named else "can" if first.verdict == LEAKS else "may"
    says = sentence(f"{speaker.actors(by)} {verb} {can}{'; a replay would name it' if is_named else ''}.")
    attacks = tuple(dict.fromkeys(one.attack for one, _ in members))
    return HeadlineLine(first.verdict, tuple(by), tuple(against), first.target, attacks, can, says)


def _measured(finding: Finding, figures: Figures | None, reading: str, whose: str) -> str:
    """What a run showed; a condition of the attack is one of the run too."""
    by_itself = max(finding.baseline or 0.0, 0.0)
    if finding.target != "labels":
        expected = reading.format(whose=whose)
        return (
            f"{expected} (in this run with R² {decimal(finding.rate or 0.0)}; its own columns explain "
            f"{decimal(by_itself)})"
        )
    rate, baseline = share(finding.rate), share(by_itself)
    is_chosen = finding.assumes == CHEATING and (figures is None or finding.n != figures.rows)
    if finding.n and is_chosen:
        return f"choose {counted(finding.n, 'person', 'people')} and read {rate} of their labels (guessing: {baseline})"
    if finding.determined and finding.verdict == DEGRADES:
        return f"be certain of {percent(finding.determined)} of {whose} labels; the rest it must guess"
    if finding.auc is not None and (finding.rate or 0.0) <= (finding.baseline or 0.0):
        # What it finds out is the order, not the number of the labels.
        return f"rank {whose} labels with AUC {decimal(finding.auc)} (guessing: {decimal(finding.baseline_auc or 0.5)})"
    return f"get {rate} of {whose} labels right (guessing: {baseline})"


def _unprevented(findings: Sequence[Finding], speaker: Speaker) -> Iterator[str]:
    """What no plan prevents, in the words of the plan: one line for each party, whatever a run measured."""
    open_ones = [one for one in findings if one.verdict == DEGRADES and not rule_behind(one).is_preventable]
    for by in dict.fromkeys(one.by for one in open_ones if "+" not in one.by):
        mine = [one for one in open_ones if one.by == by]
        against = list(dict.fromkeys(name for one in mine for name in one.against.split("+")))
        could = speaker.reading(mine[0]).format(whose=speaker.whose([by], against))
        yield sentence(f"{speaker.spoken[by]} chooses what is predicted. It could {could}. It need not invent a label.")


def _is_named(finding: Finding, figures: Figures | None) -> bool:
    """Whether kept evidence would show it: other software does show, data of the attacker's choice do not."""
    return figures is not None and figures.has_evidence_of(finding.by) and rule_behind(finding).is_named_by_a_replay
