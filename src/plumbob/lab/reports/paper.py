"""The results of the paper's experiments as a page, as figures in files, and as tables."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plumbob import counting
from plumbob.lab.paper.findings import COLUMNS, Book, ClaimVerdict, Curve, Figure, PaperClaim, agreement
from plumbob.report import templates
from plumbob.report.charts import UNITS, Axis, Chart, Series, Unit, svg
from plumbob.report.quality import Fact
from plumbob.report.tables import PageTable

LOOKS: dict[ClaimVerdict, str] = {"agrees": "blocked", "disagrees": "leaks", "not run": "none"}
"""The page's classes for good news, bad news and none."""
MIXED = ("degrades", "depends")
FLAT = 0.002
"""The difference below which shares are not told apart, or from 1."""
FEW = 3
"""How many agreeing statements are not worth a sentence of their own."""
CLAIM_COLUMNS = ("name", "reference", "says", "reading", "needed", "measured", "verdict", "values")


@dataclass(frozen=True)
class StatementCard:
    """One statement of the paper, with the result under each reading."""

    look: str
    """The page's class for good news, bad news, some of both, and none."""
    verdict: str
    says: str
    claims: Sequence[PaperClaim]


@dataclass(frozen=True)
class DrawnGroup:
    """Figures that belong together, drawn."""

    heading: str
    charts: Sequence[Chart]
    is_folded: bool


@dataclass(frozen=True)
class DrawnChapter:
    """The results for one reading, or for one theorem."""

    heading: str
    sentences: Sequence[str]
    groups: Sequence[DrawnGroup]


@dataclass(frozen=True)
class PaperPage:
    """Everything that the page shows."""

    title: str
    about: str
    in_short: Sequence[str]
    facts: Sequence[Fact]
    cards: Sequence[StatementCard]
    chapters: Sequence[DrawnChapter]


def page_of(book: Book, seconds: float) -> str:
    """The reproduced figures and claims as one HTML page."""
    page = PaperPage(
        title=book.title,
        about=book.about,
        in_short=[*in_short(book), f"This call took {counting.seconds(seconds)}."],
        facts=_facts(book),
        cards=_cards(book.claims),
        chapters=[
            DrawnChapter(
                chapter.heading,
                chapter.sentences,
                [DrawnGroup(one.heading, [*map(chart_of, one.figures)], one.is_folded) for one in chapter.groups],
            )
            for chapter in book.chapters
        ],
    )
    return templates.page_of("paper.html", page, "plumbob.lab.reports")


def in_short(book: Book) -> Iterator[str]:
    """Sentences on how many statements agree under each reading, and which do not."""
    for reading in dict.fromkeys(claim.reading for claim in book.claims):
        tried = [claim for claim in book.claims if claim.reading == reading and claim.verdict != "not run"]
        missed = [claim.says for claim in tried if claim.verdict == "disagrees"]
        counted = f"{reading}: {len(tried) - len(missed)} of {len(tried)} statements agree."
        if missed:
            yield f"{counted} Not so: {' '.join(missed)}"
        elif len(tried) > FEW:
            yield counted


def claims_table(claims: Sequence[PaperClaim]) -> PageTable:
    """The claims as a table for a terminal."""
    rows = [[claim.name, claim.reading, claim.verdict, claim.measured] for claim in claims]
    return PageTable(["claim", "reading", "verdict", "measured"], rows)


def claims_csv(claims: Sequence[PaperClaim]) -> str:
    """The claims as the text of claims.csv."""
    rows = [{**claim.to_dict(), "values": json.dumps(dict(claim.values), sort_keys=True)} for claim in claims]
    return _csv(CLAIM_COLUMNS, rows)


def curves_csv(tables: Sequence[Figure]) -> str:
    """The text of a CSV file with every point of every curve."""
    return _csv(COLUMNS, [row for table in tables for row in table.rows()])


def figure_file(one: Figure) -> str:
    """A figure as an SVG file."""
    return svg(chart_of(one))


def chart_of(one: Figure) -> Chart:
    """A figure as a chart."""
    unit: Unit = "percent" if one.is_share else "number"
    ends = "; ".join(f"{curve.series} {UNITS[unit](curve.last)}" for curve in one.curves)
    says = f"{one.caption} Where it ends ({one.x_name}: {one.curves[0].points[-1].x:g}): {ends}.".strip()
    return Chart(
        one.title,
        says,
        Axis(one.x_name, is_log=one.has_logarithmic_x),
        _y_axis(one, unit),
        [_series(curve) for curve in one.curves],
    )


def _y_axis(one: Figure, unit: Unit) -> Axis:
    """The y axis: shares that are all the same are shown on the whole range, and none above 1."""
    values = [mean for curve in one.curves for mean in curve.means]
    is_flat = max(values) - min(values) < FLAT
    low = 0.0 if one.is_share and is_flat else None
    high = 1.0 if one.is_share and (is_flat or max(values) > 1 - FLAT) else None
    return Axis(one.metric, low, high, unit, one.is_logarithmic)


def _series(curve: Curve) -> Series:
    has_spread = any(point.standard_error > 0 for point in curve.points)
    return Series(
        curve.series,
        [point.mean for point in curve.points],
        [point.x for point in curve.points],
        low=[point.mean - point.standard_error for point in curve.points] if has_spread else (),
        high=[point.mean + point.standard_error for point in curve.points] if has_spread else (),
        is_reference=curve.is_reference,
    )


def _facts(book: Book) -> list[Fact]:
    """Large numbers: how many agree, and what is most telling."""
    facts = [
        Fact("statements of the paper that agree", agreement(book.claims, of_the_paper=True), "of those tried"),
        Fact("statements of ours that agree", agreement(book.claims, of_the_paper=False), "beyond the paper"),
    ]
    return [*facts, *(Fact(one.what, one.value, one.remark) for one in book.headlines)]


def _cards(claims: Sequence[PaperClaim]) -> list[StatementCard]:
    """One card per statement, with the result under each reading."""
    names = dict.fromkeys(claim.name for claim in claims)
    return [_card([claim for claim in claims if claim.name == name]) for name in names]


def _card(claims: Sequence[PaperClaim]) -> StatementCard:
    verdicts = {claim.verdict for claim in claims}
    look, words = (LOOKS[claims[0].verdict], claims[0].verdict) if len(verdicts) == 1 else MIXED
    return StatementCard(look, words, claims[0].says, claims)


def _csv(columns: Sequence[str], rows: Sequence[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="raise")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
