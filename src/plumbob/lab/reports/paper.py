"""The results of the paper's experiments as a page, as figures in files, and as tables."""

import csv
import io
import json
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from plumbob import counting
from plumbob.lab.paper.findings import COLUMNS, Book, Chapter, ClaimVerdict, Curve, Figure, Group, PaperClaim
from plumbob.report.chart import Axis, Chart, Series, Unit, shown
from plumbob.report.drawing import figure, standalone
from plumbob.report.markup import NOTHING, asset, joined, tag
from plumbob.report.page import PageTable, Section, facts_list, render

LOOKS: dict[ClaimVerdict, str] = {"agrees": "blocked", "disagrees": "leaks", "not run": "none"}
"""The page's classes for good news, bad news and none."""
MIXED = ("degrades", "depends")
FLAT = 0.002
"""The difference below which shares are not told apart, or from 1."""
FEW = 3
"""How many agreeing statements are not worth a sentence of their own."""
CLAIM_COLUMNS = ("name", "reference", "says", "reading", "needed", "measured", "verdict", "values")


def page_of(book: Book, seconds: float) -> str:
    """The reproduced figures and claims as one HTML page."""
    sections = [
        Section("In short", [*in_short(book), f"This call took {counting.seconds(seconds)}."], special=_facts(book)),
        Section("What the paper says, and what was measured", special=_cards(book.claims)),
        *(_chapter(chapter, place) for place, chapter in enumerate(book.chapters, 1)),
        Section(
            "Files",
            [
                "claims.csv and claims.json hold the claims, curves.csv every point of every curve with its standard "
                "error, figures/ each figure as SVG, results/ each finished run: run it again to continue from there.",
            ],
        ),
    ]
    return render(book.title, sections, book.about, [asset("paper.css")])


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
    return standalone(chart_of(one))


def chart_of(one: Figure) -> Chart:
    """A figure as a chart."""
    unit: Unit = "percent" if one.is_share else "number"
    ends = "; ".join(f"{curve.series} {shown(curve.last, unit)}" for curve in one.curves)
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


def _chapter(chapter: Chapter, place: int) -> Section:
    groups = (_group(group, f"figures-{place}-{at}") for at, group in enumerate(chapter.groups, 1))
    return Section(chapter.heading, chapter.sentences, special=joined(*groups))


def _group(group: Group, key: str) -> Markup:
    charts = [figure(chart_of(one), f"{key}-{at}") for at, one in enumerate(group.figures, 1)]
    body = tag("div", *charts, class_="pair" if len(charts) > 1 else None)
    if group.is_folded:
        return tag("details", tag("summary", group.heading), body, class_="group")
    return joined(tag("h3", group.heading) if group.heading else NOTHING, body)


def _facts(book: Book) -> Markup:
    """Large numbers: how many agree, and what is most telling."""
    agreeing = sum(claim.verdict == "agrees" for claim in book.claims)
    tried = sum(claim.verdict != "not run" for claim in book.claims)
    facts = [("statements that agree", f"{agreeing} of {tried}", "of those that were tried")]
    facts += [(one.what, one.value, one.remark) for one in book.headlines]
    return facts_list(facts)


def _cards(claims: Sequence[PaperClaim]) -> Markup:
    """One card per statement, with the result under each reading."""
    names = dict.fromkeys(claim.name for claim in claims)
    cards = (_card([claim for claim in claims if claim.name == name]) for name in names)
    return tag("ul", *cards, class_="verdicts")


def _card(claims: Sequence[PaperClaim]) -> Markup:
    verdicts = {claim.verdict for claim in claims}
    look, words = (LOOKS[claims[0].verdict], claims[0].verdict) if len(verdicts) == 1 else MIXED
    first = claims[0]
    return tag(
        "li",
        tag("span", words, class_=f"badge {look}"),
        tag("p", first.says, class_="say"),
        *(_measurement(claim, is_one_of_several=len(claims) > 1) for claim in claims),
        tag("p", tag("small", f"{first.reference}. Counts as true: {first.needed}."), class_="more"),
        class_=f"verdict {look}",
    )


def _measurement(claim: PaperClaim, is_one_of_several: bool) -> Markup:
    badge = tag("span", claim.verdict, class_=f"badge {LOOKS[claim.verdict]}") if is_one_of_several else NOTHING
    return tag("p", tag("strong", f"{claim.reading}: "), f"{claim.measured} ", badge, class_="more")


def _csv(columns: Sequence[str], rows: Sequence[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="raise")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
