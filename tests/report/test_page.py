"""The page: everything that people named is text on it, never markup, and it asks nobody for anything."""

import base64
import hashlib
import re
from dataclasses import fields, replace
from html.parser import HTMLParser
from typing import Any

import pytest
from jinja2 import meta

from plumbob.lab.demo.page import ComparisonPage
from plumbob.lab.paper.page import PaperPage
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import Finding, PartyRecord, RunRecord
from plumbob.report.decision import DecisionSheet
from plumbob.report.plan_page import PlanPage
from plumbob.report.run import RunPage, page_of, run_page, warnings
from plumbob.report.tables import PageTable, as_text
from plumbob.report.templates import environment
from tests.report.support import hostile_names


class Tags(HTMLParser):
    """The tags of a page with their attributes' names, in order, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [name for name, _ in attrs]))
        self.links |= {value or "" for name, value in attrs if name == "href"}


def tags_of(page: str) -> Tags:
    """What a browser would make of it."""
    parser = Tags()
    parser.feed(page)
    return parser


def record(title: str = "A run", column: str = "age") -> RunRecord:
    """A record with this title, and this name wherever a name can stand."""
    party = PartyRecord("bank", "label", [column], [0.5], 0.1, 1, 2, 3, {}, {})
    base = unfinished_record(Plan.for_columns((1, 1), title=title), 10, "finished")
    quality = {column: {column: {"auc": 0.5, "ks": None}}}
    theory = (condition(column),)
    finding = Finding(column, column, column, "labels", "leaks", column, column, column, conditions=theory)
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
    """200 titles, columns, notes with markup in them leave the page's tags and attributes as honest ones do."""
    honest = tags_of(page_of(record("A run", "age"))).found
    for name in hostile_names():
        # A plan refuses some of them as its title. A cell of many words is set in another way.
        title = name if name.isprintable() else "A run"
        assert tags_of(page_of(record(title, name[:40]))).found == honest


def test_nothing_leaves_the_page() -> None:
    """No address, no source, links into the page only, and a policy that forbids the rest; light and dark."""
    page = page_of(record())
    assert not re.search(r"https?://|//\w|url\(|@import", page)
    attributes = {name for _, names in tags_of(page).found for name in names}
    assert {"style", "onload", "onclick"}.isdisjoint(attributes)
    assert all(link.startswith("#") for link in tags_of(page).links)
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "unsafe" not in page
    assert "prefers-color-scheme: dark" in page


def test_the_policy_names_what_is_there() -> None:
    """The one style has its hash in the policy, and there is no script."""
    page = page_of(record())
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert re.findall(r"'sha256-([^']+)'", page) == [digest]
    assert "<script" not in page


def test_what_is_undefined_is_a_dash() -> None:
    """A metric that does not exist on these rows is not shown as a number."""
    (quality,) = run_page(record()).quality
    assert quality.rows[0][1:3] == ["0.500", "-"]


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
    reason = "label-sign by fund against bank, leaks: All of them. (Criterion 4.2) To stop it: --protocol shares"
    for text in (reason, "Lemma 3.4"):
        assert text in page
    assert "red team" not in page_of(replace(record(), findings=[]))


def test_warnings_in_words() -> None:
    """Test-only keys and foreign randomness are said, the normal case says nothing."""
    assert warnings(record()) == []
    weak = replace(record(), key_profile="test-only", randomness="test source")
    assert [line.split(":")[0] for line in warnings(weak)] == [
        "The keys were for tests only",
        "The randomness did not come from the operating system",
    ]


def test_text_table_lines_up() -> None:
    """The table for a terminal has its first column left, the others right."""
    assert as_text(PageTable(["model", "AUC"], [["joint", "0.5"], ["a", "10.25"]])) == [
        "model    AUC",
        "joint    0.5",
        "a      10.25",
    ]


PAGES: dict[str, tuple[type[Any], str]] = {
    "run.html": (RunPage, "plumbob.report"),
    "plan.html": (PlanPage, "plumbob.report"),
    "decision.html": (DecisionSheet, "plumbob.report"),
    "compared.html": (ComparisonPage, "plumbob.lab.demo"),
    "paper.html": (PaperPage, "plumbob.lab.paper"),
}


@pytest.mark.parametrize("template", PAGES)
def test_a_page_shows_all_that_it_holds(template: str) -> None:
    """Each field of a page's dataclass is used by its template, or by one that this template extends."""
    page, package = PAGES[template]
    known, waiting, used = environment(package), [template], set[str]()
    assert known.loader is not None
    while waiting:
        tree = known.parse(known.loader.get_source(known, waiting.pop())[0])
        used |= meta.find_undeclared_variables(tree)
        waiting += [name for name in meta.find_referenced_templates(tree) if name]
    assert {field.name for field in fields(page)} <= used
