"""The page: everything that people named is text on it, never markup, and it asks nobody for anything."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import Finding, PartyRecord, RunRecord
from plumbob.report.page import Section, Table, as_text, render
from plumbob.report.run import findings_table, page_of, sections_of, warnings

HOSTILE = '<script>alert("x")</script>&\''
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "section", "p"),
    *("div", "table", "caption", "thead", "tbody", "tr", "th", "td"),
}


class Tags(HTMLParser):
    """The tags of a page and its attributes' names."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


def tags_of(page: str) -> Tags:
    """What a browser would make of it."""
    parser = Tags()
    parser.feed(page)
    return parser


def record(title: str = "A run", column: str = "age") -> RunRecord:
    """A record with this title, and this name wherever a name can stand."""
    party = PartyRecord("bank", "label", [column], [0.5], 0.1, 1, 2, 3, 4, 5, 6, {}, {})
    base = unfinished_record(Plan.for_columns((1, 1), title=title), 10, "finished")
    quality = {column: {column: {"auc": 0.5, "ks": None}}}
    finding = Finding(column, column, column, column, column, column, column, column, conditions=(condition(column),))
    return replace(
        base,
        parties=[party],
        quality=quality,
        epochs=[{"epoch": 1.0, "auc": None}],
        findings=[finding],
        notes=[column],
    )


def condition(text: str) -> dict[str, Any]:
    """What theory asks for, in these words."""
    return {"name": text, "value": None, "needed": text, "is_met": False, "reference": text}


def test_hostile_names_stay_text() -> None:
    """A title, a column, a note with markup in it adds no tag."""
    page = page_of(record(HOSTILE, HOSTILE))
    assert tags_of(page).found <= ALLOWED
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5


@pytest.mark.parametrize("place", ["title", "heading", "sentence", "caption", "header", "cell"])
def test_every_place_is_escaped(place: str) -> None:
    """Wherever a text may stand."""
    text = dict.fromkeys(("title", "heading", "sentence", "caption", "header", "cell"), "plain") | {place: HOSTILE}
    table = Table([text["header"]], [[text["cell"]]], text["caption"])
    page = render(text["title"], [Section(text["heading"], [text["sentence"]], table)])
    assert HOSTILE not in page
    assert tags_of(page).found <= ALLOWED


def test_nothing_leaves_the_page() -> None:
    """No address, no script, no source, and a policy that forbids them; light and dark."""
    page = page_of(record())
    assert not re.search(r"https?://|//\w|url\(|@import", page)
    assert {"src", "href", "onload", "onclick"}.isdisjoint(tags_of(page).attributes)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page


def test_what_is_undefined_is_a_dash() -> None:
    """A metric that does not exist on these rows is not shown as a number."""
    tables = [section.table for section in sections_of(record()) if section.table is not None]
    quality = next(table for table in tables if table.header[0] == "model")
    assert quality.rows[0][1:3] == ["0.5000", "-"]


def test_findings_are_told() -> None:
    """The table, a sentence with the fix, and theory beside practice; nothing of it where nobody attacked."""
    found = Finding(
        "label-sign",
        "fund",
        "bank",
        "labels",
        "leaks",
        "All of them.",
        "Criterion 4.2",
        "--protocol shares",
        rate=0.9,
        baseline=0.7,
        advantage=0.5,
        conditions=({"name": "rank", "value": 12.0, "needed": "12", "is_met": True, "reference": "Lemma 3.4"},),
    )
    page = page_of(replace(record(), findings=[found]))
    for text in ("label-sign by fund against bank, leaks: All of them. To stop it: --protocol shares", "Lemma 3.4"):
        assert text in page
    assert findings_table([found]).rows[0][4:7] == ["leaks", "0.9000", "0.7000"]
    assert "red team" not in page_of(replace(record(), findings=[]))


def test_warnings_in_words() -> None:
    """Test-only keys and foreign randomness are said, the normal case says nothing."""
    assert warnings(record()) == []
    weak = replace(record(), key_profile="test-only", randomness="test source")
    assert [line.split(":")[0] for line in warnings(weak)] == [
        "The keys were for tests only",
        "The randomness did not come from the kernel",
    ]


def test_text_table_lines_up() -> None:
    """For a terminal: first column left, the others right."""
    assert as_text(Table(["model", "AUC"], [["joint", "0.5"], ["a", "10.25"]])) == [
        "model    AUC",
        "joint    0.5",
        "a      10.25",
    ]
