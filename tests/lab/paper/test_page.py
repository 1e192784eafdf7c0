"""The reproduction's page, figures and tables show what was found, as text and nothing more; the command as used."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from plumbob.lab.paper.frames import COLUMNS, Curve, Frame, PaperClaim, Point
from plumbob.lab.paper.page import Book, Chapter, Group, lines_of, page_of, write
from tests.command_line import call
from tests.lab.paper.support import needs_data

EVIL = "</title><script>alert(1)</script>"
FRAME = Frame("attack", "Attack", "epoch", "labels right", is_share=True)
FRAME.add(EVIL, 1, [0.4, 0.6])
FRAME.add(EVIL, 2, 0.75)
FRAME.add("bound", 1, 0.9, is_reference=True)
FRAME.add("bound", 2, 0.9)
FIRST = PaperClaim(
    "first", "Theorem 1", f"It holds {EVIL}", "figures", "always", "measured words", "agrees", {"value": 1.0}
)
BOOK = Book(
    "mnist",
    "A small book",
    "About it.",
    [
        Chapter("Curves", ["A sentence."], [Group("First", [FRAME, FRAME]), Group("Second", [FRAME])]),
        Chapter("A theorem", [], [], [replace(FIRST, name="third", verdict="not run")]),
    ],
    [
        FIRST,
        replace(FIRST, reading="text", verdict="disagrees"),
        replace(FIRST, name="second", says="Another holds.", verdict="disagrees"),
        replace(FIRST, name="ours", reference="not in the paper"),
    ],
    [FRAME],
)


def test_the_page_shows_everything_as_text() -> None:
    """Every claim with its verdicts, every figure, and no markup that came from outside."""
    page = page_of(BOOK, 12.3)
    assert "<script>alert" not in page
    assert page.count("<figure") == 3
    # A claim of a chapter stands there only.
    assert page.count("measured words") == 5
    assert page.index("not run") > page.rindex("A theorem")
    # One statement that holds under one reading only.
    assert page.count('class="verdict degrades"') == 1
    assert page.count('class="verdict leaks"') == 1
    assert page.count('class="verdict none"') == 1
    # What the paper says and what goes beyond it are counted apart.
    assert "What was measured agrees with 1 of 3 of the paper&#39;s statements, and with 1 of 1 of our own." in page
    assert "Not so (figures): Another holds." in page


def test_bands_and_references() -> None:
    """Standard errors become a band around the line, bounds are drawn as such, shares as per cent."""
    measured, bound = FRAME.chart.series
    assert list(measured.low) == pytest.approx([0.4, 0.75])
    assert list(measured.high) == pytest.approx([0.6, 0.75])
    assert not bound.low
    assert bound.is_reference
    assert FRAME.chart.y.unit == "percent"
    assert "bound 90" in FRAME.chart.says


def test_a_point_has_the_standard_error_of_its_mean() -> None:
    """Over n repetitions it is the deviation, with n - 1, over the square root of n; one repetition has none."""
    point = Point(3.0, (0.2, 0.4, 0.9))
    assert point.mean == pytest.approx(0.5)
    assert point.standard_error == pytest.approx(np.std(point.values, ddof=1) / np.sqrt(3))
    assert Point(1.0, (0.7,)).standard_error == 0.0
    assert Curve([point]).values == [0.2, 0.4, 0.9]


def test_files_hold_every_claim_and_point(tmp_path: Path) -> None:
    """Tables read back as what was found, and figures are well formed, with a title."""
    (figure, *_) = write(BOOK, tmp_path, 1.0)
    with (tmp_path / "claims.csv").open() as file:
        claims = list(csv.DictReader(file))
    assert [row["verdict"] for row in claims] == ["agrees", "disagrees", "disagrees", "agrees", "not run"]
    assert claims[0]["values"] == '{"value": 1.0}'
    with (tmp_path / "curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert tuple(rows[0]) == COLUMNS
    assert float(rows[0]["standard_error"]) == pytest.approx(0.1)
    root = ElementTree.fromstring(figure.read_text())  # noqa: S314  # Our own output.
    assert root.tag.endswith("svg")
    assert root.find("{http://www.w3.org/2000/svg}title") is not None
    assert len(lines_of(BOOK)) == 5 + 1 + 3


# The command.

QUICK_CREDIT = ("paper", "credit", "--quick", "--preset", "figures", "--json")


@needs_data
def test_quickly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON object on standard output, progress on standard error, all promised files; a second call is the same."""
    out = tmp_path / "credit"
    assert call(*QUICK_CREDIT, "--out", str(out)) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert "seed 1 (1 of 4)" in printed.err
    assert {claim["verdict"] for claim in found["claims"]} == {"agrees", "not run"}
    assert json.loads((out / "claims.json").read_text()) == found["claims"]
    for name in ("index.html", "claims.csv", "curves.csv", *found["figures"]):
        assert (out / name).stat().st_size > 0
    assert call(*QUICK_CREDIT, "--quiet", "--out", str(out)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["claims"] == found["claims"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["imagenet"], "there are mnist, credit, attacks"),
        (["mnist", "--preset", "other"], "there are figures, text and both"),
        (["attacks", "--preset", "text"], "--preset is for mnist and credit"),
        (["mnist", "--quick", "--data-dir", "/nowhere"], "there is no such file"),
    ],
)
def test_wrong_words(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str) -> None:
    """What was expected is said, and nothing is left behind."""
    assert call("paper", *words, "--out", str(tmp_path / "out")) == 1
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*"))
