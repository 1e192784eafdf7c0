"""Figures of the pages come from one table, and no other number with a unit stands in them."""

from pathlib import Path

import pytest

from tools import claims
from tools.claims import Expected, Measurement

TABLE = claims.read()


@pytest.mark.parametrize("page", claims.pages(), ids=lambda page: page.stem)
def test_pages_have_the_figures_of_the_table(page: Path) -> None:
    """Each page is what `python tools/claims.py` writes, and any other figure in it is a limit that the table lists."""
    text = page.read_text(encoding="utf-8")
    assert claims.filled(text, TABLE.figures) == text, "run: python tools/claims.py"
    limits = TABLE.limits.get(str(page.relative_to(claims.ROOT)), [])
    assert list(claims.unmarked(text, limits)) == [], "mark it, and add it to benchmarks/claims.toml"


def test_nothing_in_the_table_is_on_no_page() -> None:
    """A figure that a page lost, and a limit that it no longer names, go."""
    texts = {str(page.relative_to(claims.ROOT)): page.read_text(encoding="utf-8") for page in claims.pages()}
    marked = {mark[1] for text in texts.values() for mark in claims.MARKED.finditer(text)}
    assert set(TABLE.figures) == marked
    for page, limits in TABLE.limits.items():
        assert [limit for limit in limits if limit not in " ".join(texts[page].split())] == []


def test_what_a_figure_describes_exists() -> None:
    """A file that moved would never make its figures old."""
    assert [path for one in TABLE.measurements for path in one.describes if not (claims.ROOT / path).exists()] == []


def test_an_hour_is_enough() -> None:
    """What is not measured by hand has a number to compare, and all of it together fits."""
    measured = [one for one in TABLE.measurements if not one.by_hand]
    assert [one.names for one in measured if not one.expected] == []
    assert sum(one.minutes for one in measured) <= claims.MOST_MINUTES


def test_a_command_that_takes_too_long_is_stopped() -> None:
    """A command that takes too long is stopped and says nothing."""
    assert Measurement("sleep 60", 1, "", (), {}).run(0.1) is None


def test_words_make_no_figure_old() -> None:
    """A docstring and a comment change nothing that is measured; a number does."""
    assert claims.executed('"""a"""\nx = 1') == claims.executed('"""b"""\nx = 1  # c')
    assert claims.executed("x = 1") != claims.executed("x = 2")


def test_what_holds_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Today's commit in the measurement's own place, and nothing else changes."""
    table = "[[measurement]]\ncommit = '{}'\n[measurement.figures]\na = '1'\n[[measurement]]\ncommit = 'old'\nb = '2'\n"
    monkeypatch.setattr(claims, "TABLE", tmp_path / "claims.toml")
    claims.TABLE.write_text(table.format("old"))
    claims.note_commit(Measurement("", 1, "old", (), {"a": "1"}))
    noted = claims.TABLE.read_text()
    assert noted == table.format(noted.split("'")[1])
    assert "'old'\n[measurement.figures]" not in noted


@pytest.mark.parametrize(
    "text", ["in 12 s", "takes .5 GiB", "right in\n97 % of cases", "40 of 41 leak", "an AUC of .72", "3 times faster"]
)
def test_a_figure_without_a_mark_is_found(text: str) -> None:
    """An unmarked figure is found in a sentence, over two lines, and not where it is marked, a limit or code."""
    [found] = claims.unmarked(text, [])
    assert list(claims.unmarked(f"<!--=name-->{text}<!--/--> and `{found}`", [])) == []
    assert list(claims.unmarked(text, [found])) == []


@pytest.mark.parametrize("mark", ["<!--=a-->{}<!--/--> MB", "<!--=a-->\n{}<!--/-->\n"])
def test_a_figure_is_filled_in(mark: str) -> None:
    """Within a line, or as a table between lines of their own."""
    assert claims.filled(mark.format("1"), {"a": "2"}) == mark.format("2")


@pytest.mark.parametrize(
    ("printed", "complaint"),
    [
        ("MB: 1,010", None),
        ("MB: 1,200", "1200 instead of 1000 (within 5%)"),
        ("nothing", r"printed nothing like MB: ([\d,]+)"),
    ],
)
def test_what_no_longer_holds_is_said(printed: str, complaint: str | None) -> None:
    """A figure that is beyond its tolerance, or not printed any more, is reported."""
    assert Expected(r"MB: ([\d,]+)", 1000, 0.05).complaint(printed) == complaint
