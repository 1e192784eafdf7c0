"""Two headlines: what each party can work out if everyone keeps to the protocol, and what it can if someone cheats.

Cheating is data of one's choice or other software. One function turns findings into two blocks of lines in units that
people understand; `check`, `audit`, `sign`, the report, the decision sheet, the receipt and the lab only show them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from plumbob.checking.advice import as_flags, price_of, remedy
from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.gains import gain, rank_by_column
from plumbob.checking.judgement import FEW_PARTIES, HEADINGS, HeadlineBlock, HeadlineLine, Headlines, shown
from plumbob.checking.rules import is_preventable, leaves_a_trace
from plumbob.checking.rules.prediction_equations import RULE as EQUATIONS
from plumbob.checking.rules.score_control import SCORE_CONTROL
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
from plumbob.counting import counted
from plumbob.record import Finding

NOTHING = {
    HONEST: "No known attack is shown to tell anybody more.",
    CHEATING: "No known way of cheating is shown to tell anybody more.",
}
NOT_JUDGED = "No attack of this kind was judged."
PARTIAL = " Not all attacks were run, so this settles nothing."
MOST_GAINS = 3
SHORT_TRACE = 56
"""Characters of a sentence that fits into a headline on a terminal."""
TARGETS = ("labels", "features", "scores", "weights", "ids")
OF_SEVERAL = {LEAKS: "leak", DEGRADES: "degrade"}


def headlines(
    findings: Sequence[Finding], figures: Figures | None = None, *, reader: str = "", is_partial: bool = False
) -> Headlines:
    """Both blocks; without `figures`, what attackers gain is said without numbers and nothing is said of openings.

    `reader` is the party that reads them, if one does: its data are "yours".
    """
    honest, cheating = (
        _block(assumes, [one for one in findings if one.assumes == assumes], figures, reader, is_partial)
        for assumes in ASSUMPTIONS
    )
    fresh = dict(cheating.changes.items() - honest.changes.items())
    if not fresh:
        # Once is enough; so is the price of what the first headline has named.
        cheating = replace(cheating, remedy="", changes={}, price="")
    elif figures is not None:
        cheating = replace(cheating, price=price_of(figures, fresh))
    return Headlines(honest, cheating)


def short_lines(of: Headlines) -> list[str]:
    """What was found and what to type, once each, for a screen that shows a run as well; `check` says the rest."""
    honest, cheating = replace(of.honest, agreed=(), price=""), replace(of.cheating, price="")
    if cheating.changes.items() >= honest.changes.items():
        honest = replace(honest, remedy="")
    told = {line.says for line in honest.lines}
    fresh = tuple(line for line in cheating.lines if line.says not in told)
    if cheating.lines and not fresh:
        cheating = replace(cheating, nothing=NOTHING[CHEATING])
    trace = cheating.agreed[0].rstrip(".") if cheating.agreed else ""
    if 0 < len(trace) < SHORT_TRACE:
        heading = f"{cheating.heading} ({trace[0].lower()}{trace[1:]})"
        cheating = replace(cheating, agreed=cheating.agreed[1:], heading=heading)
    return [line for block in (honest, replace(cheating, lines=fresh)) for line in shown(block)]


def _block(
    assumes: str, findings: Sequence[Finding], figures: Figures | None, reader: str, is_partial: bool
) -> HeadlineBlock:
    lines = tuple(_lines(findings, figures, reader))
    unprevented = tuple(_unprevented(findings, figures, reader))
    nothing = _left_over(assumes, findings, lines, figures)
    if unprevented:
        nothing = nothing.replace("No known", "No other known")
    plan = None if figures is None else figures.plan
    helps = remedy(plan, [one.changes for one in findings if one.verdict == LEAKS], assumes == CHEATING)
    place = SaidWhere.OPENED if assumes == HONEST else SaidWhere.TRACE
    agreed = () if figures is None or (assumes == CHEATING and not lines) else tuple(said(place, figures))
    return HeadlineBlock(
        assumes,
        HEADINGS[assumes],
        agreed,
        lines,
        nothing + (PARTIAL if nothing and is_partial else ""),
        as_flags(helps, plan),
        helps,
        "" if figures is None else price_of(figures, helps),
        counts(findings, len(lines) + len(unprevented)),
        unprevented,
    )


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


def _lines(findings: Sequence[Finding], figures: Figures | None, reader: str) -> Iterator[HeadlineLine]:
    """Lines, the worst first; pairs of parties with the same gains share a line.

    Among more than three parties there is one line for each target by the label party, by the others, and by
    coalitions.
    """
    parties = {name for one in findings for name in (*one.by.split("+"), one.against)}
    open_ones = [
        one
        for one in findings
        if one.verdict in (LEAKS, DEGRADES) and is_preventable(one.attack) and one.attack != SCORE_CONTROL
    ]
    pairs: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for one in open_ones:
        if not _is_redundant(one, open_ones):
            pairs[one.target, one.by, one.against].append(one)
    alike: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    label = "" if figures is None else figures.plan.label_party.name
    for (target, by, _), members in pairs.items():
        for is_traced, readings in _by_trace(members, figures).items():
            worst = _worst(readings)
            same = (by == label,) if len(parties) > FEW_PARTIES else (worst[0].verdict, *(one.attack for one in worst))
            alike[target, "+" in by, is_traced, *same].extend(worst)
    lines = [_line(members, figures, parties, reader) for members in alike.values()]
    lines.sort(key=lambda line: (ORDER.index(line.verdict), TARGETS.index(line.target)))
    for place, line in enumerate(lines):
        if not any(_says_all(earlier, line) for earlier in lines[:place]):
            yield line


def _unprevented(findings: Sequence[Finding], figures: Figures | None, reader: str) -> Iterator[str]:
    """What no plan prevents, in the words of the plan: one line for each party, whatever a run measured."""
    victims: dict[str, list[str]] = defaultdict(list)
    for one in findings:
        if one.verdict == DEGRADES and not is_preventable(one.attack) and "+" not in one.by:
            victims[one.by].append(one.against)
    for by, against in victims.items():
        spoken = spoken_names([party.name for party in figures.plan.parties] if figures else [by, *against])
        gained = rank_by_column(figures, _whose([by], against, spoken, reader))
        yield sentence(f"{spoken[by]} chooses what is predicted. It could {gained}. It need not invent a label.")


def _says_all(earlier: HeadlineLine, line: HeadlineLine) -> bool:
    """Whether a line about another target covers this one: whoever reads a row also reads its scores."""
    if line.target == "weights" and line.attacks == earlier.attacks == (EQUATIONS.name,):
        return (line.by, line.against) == (earlier.by, earlier.against)
    return all(set(getattr(line, part)) <= set(getattr(earlier, part)) for part in ("by", "against", "gains"))


def _by_trace(findings: Sequence[Finding], figures: Figures | None) -> dict[bool, list[Finding]]:
    """Findings that no replay would name, and those that one would: the second have a verdict of their own.

    Evidence changes nothing about what can be read, so a milder verdict must not hide the reading. What no replay names
    is not said again.
    """
    apart: dict[bool, list[Finding]] = {}
    for one in findings:
        apart.setdefault(is_named(one, figures), []).append(one)
    said = {gain(one, figures, "") for one in apart.get(False, ())}
    fresh = [one for one in apart.pop(True, ()) if gain(one, figures, "") not in said]
    return {**apart, **({True: fresh} if fresh else {})}


def _worst(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of the worst verdict; of measured ones about labels, the one that reached most."""
    verdict = min((one.verdict for one in findings), key=ORDER.index)
    worst = [one for one in findings if one.verdict == verdict]
    measured = [one for one in worst if one.rate is not None and one.target == "labels"]
    return [max(measured, key=lambda one: one.advantage or 0.0)] if measured else worst


def _is_redundant(one: Finding, others: Sequence[Finding]) -> bool:
    """Whether a member of the coalition gets the same alone."""
    return "+" in one.by and any(
        other.by in one.by.split("+")
        and (other.against, other.target) == (one.against, one.target)
        and ORDER.index(other.verdict) <= ORDER.index(one.verdict)
        for other in others
    )


def _line(members: Sequence[Finding], figures: Figures | None, parties: set[str], reader: str) -> HeadlineLine:
    told = _worst(members)
    planned = [party.name for party in figures.plan.parties] if figures else []
    names = list(dict.fromkeys([*planned, *sorted(parties)]))
    spoken = spoken_names(names)
    by = list(dict.fromkeys(one.by for one in told))
    against = sorted({one.against for one in told}, key=names.index)
    whose = _whose(by, against, spoken, reader)
    # Short ones first: what has a condition ends the sentence.
    gained = sorted(
        {gain(one, figures, whose, len(against) == 1) for one in told}, key=lambda words: (len(words), words)
    )
    gained = gained[:MOST_GAINS]
    named = "; a replay would name it" if all(is_named(one, figures) for one in told) else ""
    verb = "could" if named else "can" if told[0].verdict == LEAKS else "may"
    says = sentence(f"{_actors(by, spoken, parties)} {verb} {'; or '.join(gained)}{named}.")
    attacks = tuple(dict.fromkeys(one.attack for one in told))
    return HeadlineLine(told[0].verdict, tuple(by), tuple(against), told[0].target, attacks, tuple(gained), says)


def _whose(by: Sequence[str], against: Sequence[str], spoken: dict[str, str], reader: str) -> str:
    if set(by) & set(against):
        return "another party's"
    if len(against) < FEW_PARTIES:
        return joined_names(["your" if name == reader else f"{spoken[name]}'s" for name in against], "or")
    return "your or another party's" if reader in against else "any other party's"


def is_named(finding: Finding, figures: Figures | None) -> bool:
    """Whether kept evidence would show it: other software does show, data of the attacker's choice do not."""
    keeps_evidence = figures is not None and figures.plan.keeps_evidence
    return keeps_evidence and leaves_a_trace(finding.attack)


def _actors(by: Sequence[str], spoken: dict[str, str], parties: set[str]) -> str:
    """The attackers as a subject: one, any of several, or several together."""
    if "+" not in by[0]:
        return joined_names([spoken.get(name, name) for name in by], "or")
    if len(by) > 1 or len(parties) > FEW_PARTIES:
        return "all the others together"
    return f"{joined_names([spoken.get(name, name) for name in by[0].split('+')])} together"
