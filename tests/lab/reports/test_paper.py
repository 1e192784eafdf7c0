"""The reproduction's page, figures and tables show what was found, as text and nothing more."""

import csv
import io
from dataclasses import replace
from xml.etree import ElementTree

from plumbob.lab.paper.findings import (
    COLUMNS,
    Book,
    Chapter,
    ClaimVerdict,
    Curve,
    Figure,
    Group,
    Headline,
    MeanPoint,
    PaperClaim,
)
from plumbob.lab.reports.paper import chart_of, claims_csv, claims_table, curves_csv, figure_file, in_short, page_of

EVIL = "</title><script>alert(1)</script>"
POINTS = (MeanPoint(1, 0.5, 0.1, 5), MeanPoint(2, 0.75, 0.0, 5))
FIGURE = Figure(
    "attack",
    "Attack",
    "epoch",
    "labels right",
    (Curve(EVIL, POINTS), Curve("bound", (MeanPoint(1, 0.9), MeanPoint(2, 0.9)), is_reference=True)),
    is_share=True,
)


def claim(name: str, reading: str, verdict: ClaimVerdict) -> PaperClaim:
    """A claim with a sentence that would like to be markup."""
    return PaperClaim(
        name, "Theorem 1", f"{name} holds {EVIL}", reading, "always", "measured words", verdict, {"value": 1.0}
    )


BOOK = Book(
    "mnist",
    "A small book",
    "About it.",
    (
        claim("first", "figures", "agrees"),
        claim("first", "text", "disagrees"),
        claim("second", "figures", "disagrees"),
        claim("third", "figures", "not run"),
        replace(claim("ours", "figures", "agrees"), reference="not in the paper"),
    ),
    (Chapter("Curves", ("A sentence.",), (Group("Open", (FIGURE, FIGURE)), Group("Folded", (FIGURE,), True))),),
    (FIGURE,),
    (Headline("label attack", "12 epochs", "Xavier"),),
)


def test_the_page_shows_everything_as_text() -> None:
    """Every claim with its verdicts, every figure, and no markup that came from outside."""
    page = page_of(BOOK, 12.3)
    assert "<script>alert" not in page
    assert page.count("<figure") == 3
    assert page.count("measured words") == 5
    # One statement that holds under one reading only.
    assert page.count('class="verdict degrades"') == 1
    assert page.count('class="verdict leaks"') == 1
    assert page.count('class="verdict none"') == 1
    # What the paper says and what goes beyond it are counted apart.
    assert "1 of 3" in page
    assert "1 of 1" in page
    assert "12 epochs" in page
    assert '<details class="group">' in page


def test_bands_and_references() -> None:
    """Standard errors become a band around the line, bounds are drawn as such, shares as per cent."""
    chart = chart_of(FIGURE)
    measured, bound = chart.series
    assert list(measured.low) == [0.4, 0.75]
    assert list(measured.high) == [0.6, 0.75]
    assert not bound.low
    assert bound.is_reference
    assert chart.y.unit == "percent"
    assert "bound 90" in chart.says


def test_figures_are_files_of_their_own() -> None:
    """Well formed, with title and description."""
    root = ElementTree.fromstring(figure_file(FIGURE))  # noqa: S314  # Our own output.
    assert root.tag.endswith("svg")
    assert root.find("{http://www.w3.org/2000/svg}title") is not None


def test_tables_hold_every_claim_and_point() -> None:
    """The CSV files read back as what was written."""
    claims = list(csv.DictReader(io.StringIO(claims_csv(BOOK.claims))))
    assert [row["verdict"] for row in claims] == ["agrees", "disagrees", "disagrees", "not run", "agrees"]
    assert claims[0]["values"] == '{"value": 1.0}'
    rows = list(csv.DictReader(io.StringIO(curves_csv(BOOK.tables))))
    assert len(rows) == 4
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["standard_error"] == "0.1"
    assert len(claims_table(BOOK.claims).rows) == 5


def test_in_short() -> None:
    """It says for each reading how many statements agree, and which do not; what was not run is not counted."""
    first, second = in_short(BOOK)
    assert first.startswith("figures: 2 of 3 statements agree. Not so: second holds")
    assert second.startswith("text: 0 of 1 statements agree. Not so: first holds")
