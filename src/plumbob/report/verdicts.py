"""Verdicts on a page: the two headlines, and who can work out what."""

from collections.abc import Sequence

from markupsafe import Markup

from plumbob.checking.judgement import FEW_PARTIES, HEADINGS, UNPREVENTED, HeadlineBlock, HeadlineLine, Headlines
from plumbob.checking.words import ASSUMPTIONS, BLOCKED, DEGRADES, HONEST, LEAKS, ORDER, sentence, spoken_names
from plumbob.counting import percent, share
from plumbob.plan import Plan
from plumbob.record import Finding
from plumbob.report.markup import NOTHING, joined, tag
from plumbob.report.page import PageTable, table_of

CLASSES = {LEAKS: "leaks", DEGRADES: "degrades", BLOCKED: "blocked"}


def headline_blocks(headlines: Headlines) -> Markup:
    """The two headlines, one after the other, and what their words mean."""
    legend = tag("p", headlines.legend, class_="note") if headlines.legend else NOTHING
    return joined(*(_block(block) for block in headlines.blocks), legend)


def _block(block: HeadlineBlock) -> Markup:
    agreed = tag("p", " ".join(block.agreed), class_="more") if block.agreed else NOTHING
    lines = tag("ul", *(_row(line) for line in block.lines), class_="verdicts") if block.lines else NOTHING
    nothing = tag("p", block.nothing, class_="say") if block.nothing else NOTHING
    pieces = (agreed, lines, nothing) if block.assumes == HONEST else (lines, nothing, agreed)
    return joined(
        tag("h3", block.heading), *pieces, remedy(block), unprevented(block), tag("p", block.counts, class_="note")
    )


def _row(line: HeadlineLine) -> Markup:
    by = tag("p", f"By {', '.join(line.attacks)}.", class_="more")
    return tag(
        "li", badge(line.verdict), tag("p", line.says, class_="say"), by, class_=f"verdict {class_of(line.verdict)}"
    )


def remedy(block: HeadlineBlock) -> Markup:
    """The flags to type, and what they cost."""
    if not block.remedy:
        return NOTHING
    price = f" (its price: {block.price})" if block.price else ""
    return tag("p", "What helps: ", tag("code", block.remedy), price, class_="more")


def unprevented(block: HeadlineBlock) -> Markup:
    """What no plan prevents, a sentence or two for each party."""
    return joined(*(tag("p", f"{UNPREVENTED}: {line}", class_="more") for line in block.unprevented))


def badge(verdict: str) -> Markup:
    """The verdict's word, the same everywhere, with a mark that does not rest on colour."""
    return tag("span", verdict, class_=f"badge {class_of(verdict)}")


def class_of(verdict: str) -> str:
    """The style sheet's class for a verdict."""
    return CLASSES.get(verdict, "none")


# Every pair of a party and what it may be after, with the worst that was found: silence could be read either way.

COLUMNS = "columns and scores"
KINDS = {"labels": "labels", "features": COLUMNS, "scores": COLUMNS, "weights": "weights", "ids": "ids"}
REACHED = (
    "The share of labels that is right, or of columns, scores and weights that is explained (R²); in brackets, what"
    " needs no attack."
)

Pair = tuple[str, str]
"""An attacker, and what it is after."""


def pairs_of(plan: Plan, findings: Sequence[Finding]) -> dict[Pair, dict[str, Finding]]:
    """The worst finding for each assumption, by pair."""
    spoken = spoken_names([party.name for party in plan.parties])
    pairs: dict[Pair, dict[str, Finding]] = {}
    # A record is somebody's file, and may say anything.
    known = [one for one in findings if one.verdict in ORDER and one.target in KINDS]
    for one in sorted(known, key=lambda one: (list(KINDS).index(one.target), one.by)):
        by = "+".join(spoken.get(name, name) for name in one.by.split("+"))
        worst = pairs.setdefault((by, f"{spoken.get(one.against, one.against)}'s {KINDS[one.target]}"), {})
        worst[one.assumes] = min(worst.get(one.assumes, one), one, key=_rank)
    return pairs


def _rank(one: Finding) -> tuple[int, float]:
    return ORDER.index(one.verdict), -(one.advantage or 0.0)


def pairs_table(plan: Plan, findings: Sequence[Finding]) -> Markup:
    """A table with one line per pair; empty among many parties, where pairs are too many to read."""
    if len(plan.parties) > FEW_PARTIES or not findings:
        return NOTHING
    rows = [
        [sentence(by), about, *(finding_cell(worst.get(assumes)) for assumes in ASSUMPTIONS)]
        for (by, about), worst in pairs_of(plan, findings).items()
    ]
    return table_of(PageTable(["who", "about", *HEADINGS.values()], rows, REACHED), "Who can work out what")


def finding_cell(one: Finding | None) -> Markup:
    """The verdict and, where it was measured, how much and, in brackets, what needs no attack."""
    if one is None:
        return tag("span", "-")
    said = "" if one.rate is None else f" {share(one.rate)} ({percent(max(one.baseline or 0.0, 0.0))})"
    return joined(badge(one.verdict), said)
