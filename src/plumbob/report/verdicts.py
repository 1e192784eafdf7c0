"""The verdict in one sentence for each party and target, in words for whoever must say yes or no."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from markupsafe import Markup

from plumbob.checking.verdict_words import BLOCKED, DEGRADES, LEAKS, NOT_APPLICABLE, ORDER
from plumbob.record import Finding
from plumbob.report.markup import NOTHING, tag
from plumbob.report.scale import shown

CLASSES = {LEAKS: "leaks", DEGRADES: "degrades", BLOCKED: "blocked"}

PARTIAL = "not fully tested"
"""What takes the place of `blocked` where attacks were left out."""

CHOOSES = "label-chosen-rows"
"""The attack that is judged on the rows that it chose."""


@dataclass(frozen=True)
class Verdict:
    """What one party can learn of another's labels, or of its columns and scores."""

    verdict: str
    says: str
    more: str = ""
    fix: str = ""
    """What to type against it."""


def verdicts_of(findings: Sequence[Finding], is_prediction: bool = False) -> list[Verdict]:
    """One for each attacker, victim and kind of target; the worst first."""
    say = _predicted_verdict if is_prediction else _measured_verdict
    ordered = sorted(findings, key=lambda one: (one.by, one.against, _kind(one)))
    grouped = [list(group) for _, group in groupby(ordered, key=lambda one: (one.by, one.against, _kind(one)))]
    return sorted((say(worst(group)) for group in grouped), key=lambda one: _rank(one.verdict))


def partial(one: Verdict) -> Verdict:
    """The same after an audit that left attacks out: what leaked leaks, and nothing else is settled."""
    if one.verdict in (LEAKS, DEGRADES):
        return one
    return replace(one, verdict=PARTIAL, says=f"{one.says.rstrip('.')} by the attacks that were run; others were not.")


def worst(findings: Iterable[Finding]) -> Finding:
    """The one that speaks for the others: of the worst verdict, the one that reached most, of all rows if it can be."""

    def place(one: Finding) -> tuple[int, bool, bool, float]:
        return _rank(one.verdict), one.rate is None, one.attack == CHOOSES, -(one.advantage or 0.0)

    return min(findings, key=place)


def _rank(verdict: str) -> int:
    return ORDER.index(verdict) if verdict in ORDER else len(ORDER)


def _kind(finding: Finding) -> str:
    return "labels" if finding.target == "labels" else "columns"


def _measured_verdict(one: Finding) -> Verdict:
    """After a run, with its numbers."""
    about = f"{one.against}'s {one.target}"
    if one.verdict == NOT_APPLICABLE:
        whole = "columns" if _kind(one) == "columns" else "labels"
        return Verdict(one.verdict, f"{one.by} saw nothing from which {one.against}'s {whole} could be worked out.")
    rate, baseline = shown(one.rate, "percent"), shown(one.baseline, "percent")
    if one.verdict == BLOCKED:
        # An attack that had nothing to work with has no rate.
        compared = "" if one.rate is None else _comparison(one)
        return Verdict(one.verdict, f"{one.by} learns no more of {about} than it could guess{compared}.")
    if one.rate is None:
        return Verdict(one.verdict, f"{one.by} learns something about {about}.", one.why, one.fix)
    if _kind(one) == "columns":
        says = f"{one.by} can reconstruct {rate} of what {about} say; its own columns alone explain {baseline}."
        return Verdict(one.verdict, says, _method(one), one.fix)
    return Verdict(one.verdict, _labels_sentence(one, about, rate, baseline), _method(one), one.fix)


def _labels_sentence(one: Finding, about: str, rate: str, baseline: str) -> str:
    if one.attack == CHOOSES:
        return f"{one.by} can choose {one.n} people and read {rate} of their labels, which {one.against} holds."
    if one.verdict == LEAKS:
        return f"{one.by} can read {rate} of {about}; without an attack it could guess {baseline}."
    if one.determined:
        return f"{one.by} can be certain of {shown(one.determined, 'percent')} of {about}; the rest it must guess."
    return f"{one.by} learns a little of {about}{_comparison(one)}."


def _comparison(one: Finding) -> str:
    """What the best attack reaches, and what needs none."""
    rate, baseline = shown(one.rate, "percent"), shown(one.baseline, "percent")
    if _kind(one) == "labels":
        return f": the attacks are right for {rate} of them, guessing for {baseline}"
    # R² has no lower end; below 0 a claim is worse than none.
    return f": the attacks explain {rate}, its own columns {baseline}" if (one.rate or 0.0) > 0 else ""


def _predicted_verdict(one: Finding) -> Verdict:
    """Before a run, or where nobody holds the truth: from the plan's numbers."""
    about = f"{one.against}'s {one.target}"
    says = {
        LEAKS: f"{one.by} will be able to work out {about}.",
        DEGRADES: f"{one.by} may learn something about {about}.",
        BLOCKED: f"{one.by} is not expected to learn {about}.",
        NOT_APPLICABLE: f"{one.by} sees nothing from which {about} could be worked out.",
    }.get(one.verdict, f"{one.by}, {about}: {one.verdict}.")
    return Verdict(one.verdict, says, "" if one.verdict == NOT_APPLICABLE else one.why, one.fix)


def _method(one: Finding) -> str:
    return f"By {one.attack} ({one.reference})."


def verdict_list(verdicts: Sequence[Verdict]) -> Markup:
    """As rows with a mark, a word and a colour each."""
    return tag("ul", *(_row(one) for one in verdicts), class_="verdicts")


def _row(one: Verdict) -> Markup:
    more = tag("p", *_more(one), class_="more") if one.more or one.fix else NOTHING
    return tag(
        "li",
        badge(one.verdict),
        tag("p", one.says, class_="say"),
        more,
        class_=f"verdict {class_of(one.verdict)}",
    )


def _more(one: Verdict) -> Iterator[object]:
    yield f"{one.more} " if one.more else ""
    if one.fix:
        # Advice names several ways with an "or" between them.
        yield "To stop it: "
        ways = one.fix.split(", or ")
        for place, way in enumerate(ways):
            yield "" if place == 0 else ", or "
            # No full stop after it: it would be copied with the command, or stand alone in a line.
            yield tag("code", way)


def badge(verdict: str) -> Markup:
    """The verdict's word, the same everywhere, with a mark that does not rest on colour."""
    return tag("span", verdict, class_=f"badge {class_of(verdict)}")


def class_of(verdict: str) -> str:
    """Of the style sheet."""
    return CLASSES.get(verdict, "none")
