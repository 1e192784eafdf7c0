"""What the paper's experiments found, as a page, as figures in files, and as tables."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from plumbob.paper.findings import COLUMNS, Book, Chapter, Claim, Curve, Figure, Group, Verdict
from plumbob.report.chart import Axis, Chart, Series, Unit, figure, shown, standalone
from plumbob.report.markup import NOTHING, joined, tag
from plumbob.report.page import Section, Table, asset, render

LOOKS: dict[Verdict, str] = {"agrees": "blocked", "disagrees": "leaks", "not run": "none"}
"""The page's classes for good news, bad news and none."""
CLAIM_COLUMNS = ("name", "reference", "says", "reading", "needed", "measured", "verdict", "values")


def page_of(book: Book, seconds: float) -> str:
    """The whole page."""
    sections = [
        Section("In short", [*in_short(book), f"This call took {seconds:.0f} s."], special=_facts(book)),
        Section("What the paper says, and what was measured", special=_claims(book.claims)),
        *(_chapter(chapter, place) for place, chapter in enumerate(book.chapters, 1)),
        Section(
            "Files",
            [
                "claims.csv and claims.json hold the claims, curves.csv every point of every curve with its standard "
                "error, figures/ each figure as SVG, results/ each finished run: a second call goes on from there.",
            ],
        ),
    ]
    return render(book.title, sections, book.about, [asset("paper.css")])


def in_short(book: Book) -> Iterator[str]:
    """One sentence for each reading."""
    for reading, claims in _by_reading(book.claims):
        counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in LOOKS}
        words = [f"{count} {'agree' if verdict == 'agrees' else verdict}" for verdict, count in counts.items() if count]
        if book.name != "attacks":
            yield f"{reading}: of {len(claims)} statements {', '.join(words).replace('disagrees', 'disagree')}."
    missed = [claim for claim in book.claims if claim.verdict == "disagrees"]
    if book.name == "attacks" and missed:
        yield "Not as the paper has it: " + "; ".join(f"{claim.reference} ({claim.reading})" for claim in missed) + "."


def claims_table(claims: Sequence[Claim]) -> Table:
    """For a terminal."""
    rows = [[claim.name, claim.reading, claim.verdict, claim.measured] for claim in claims]
    return Table(["claim", "reading", "verdict", "measured"], rows)


def claims_csv(claims: Sequence[Claim]) -> str:
    """As a file."""
    rows = [{**claim.to_dict(), "values": json.dumps(dict(claim.values), sort_keys=True)} for claim in claims]
    return _csv(CLAIM_COLUMNS, rows)


def curves_csv(tables: Sequence[Figure]) -> str:
    """Every point of every curve."""
    return _csv(COLUMNS, [row for table in tables for row in table.rows()])


def figure_file(one: Figure) -> str:
    """A figure as an SVG file."""
    return standalone(chart_of(one))


def chart_of(one: Figure) -> Chart:
    """As the charts have it."""
    unit: Unit = "percent" if one.is_share else "number"
    says = f"{one.caption} {_last_values(one, unit)}".strip()
    return Chart(
        one.title,
        says,
        Axis(one.x_name),
        Axis(one.metric, unit=unit, is_log=one.is_logarithmic),
        [_series(curve) for curve in one.curves],
    )


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


def _last_values(one: Figure, unit: Unit) -> str:
    ends = "; ".join(f"{curve.series} {shown(curve.last, unit)}" for curve in one.curves)
    return f"At {one.x_name} {one.curves[0].points[-1].x:g}: {ends}."


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
    """How many agree, as large numbers."""
    counts = [(verdict, sum(claim.verdict == verdict for claim in book.claims)) for verdict in LOOKS]
    names = {"agrees": "agree with the paper", "disagrees": "do not", "not run": "were not run"}
    facts = [tag("div", tag("dt", names[verdict]), tag("dd", count)) for verdict, count in counts if count]
    drawn = tag("div", tag("dt", "figures"), tag("dd", len(book.figures)))
    return tag("dl", *facts, drawn, class_="facts")


def _claims(claims: Sequence[Claim]) -> Markup:
    """As cards, under the reading that they were tried in."""
    readings = list(_by_reading(claims))
    if len(readings) > len(claims) / 2:
        return _cards(claims, has_reading=True)
    return tag(
        "div",
        *(joined(tag("h3", f"Reading: {reading}"), _cards(ones, has_reading=False)) for reading, ones in readings),
        class_="claims",
    )


def _cards(claims: Sequence[Claim], has_reading: bool) -> Markup:
    return tag("ul", *(_card(claim, has_reading) for claim in claims), class_="verdicts")


def _card(claim: Claim, has_reading: bool) -> Markup:
    where = f"{claim.reference}; {claim.reading}" if has_reading else claim.reference
    look = LOOKS[claim.verdict]
    return tag(
        "li",
        tag("span", claim.verdict, class_=f"badge {look}"),
        tag("p", claim.says, class_="say"),
        tag(
            "p",
            f"Measured: {claim.measured}.",
            tag("small", f"{where}. Counts as true: {claim.needed}."),
            class_="more",
        ),
        class_=f"verdict {look}",
    )


def _by_reading(claims: Sequence[Claim]) -> Iterator[tuple[str, list[Claim]]]:
    for reading, ones in groupby(claims, key=lambda claim: claim.reading):
        yield reading, list(ones)


def _csv(columns: Sequence[str], rows: Sequence[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="raise")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
