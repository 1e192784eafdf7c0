"""Pages that leave Plumbob: at two widths, in light and in dark, by keyboard alone, and as axe-core sees them."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from plumbob.checking.check import check
from plumbob.checking.findings import Findings
from plumbob.lab.demo import page as demo_page
from plumbob.plan import Party, Plan, Study
from plumbob.record import Finding
from plumbob.report import run as run_report
from plumbob.report.decision import decision_on_plan, summary_of, summary_page
from plumbob.report.plan_page import findings_page
from plumbob.report.quality import METRICS
from tests.browser.conftest import Tab
from tests.browser.looks import look_at, reachable, stops, violations
from tests.browser.support import QUALITY, noisy_record, own_side, three_ways

LONG_NAME = "a-very-very-very-very-long"
PLANS: dict[str, Plan] = {
    "shares": Plan.for_columns((8, 22), rows=455),
    "rows": Plan.for_columns((8, 22), rows=455, noise="rows", epsilon=1.0, test_share=0.2),
    "exchange": Plan.for_columns((8, 22), rows=455, batch_size=20, protocol="exchange"),
    "sound": Plan.for_columns((8, 22), rows=455, batch_size=20, protocol="exchange", noise="sound", row_norm=1.0),
    "clear": Plan.for_columns((8, 22), rows=455, protocol="clear"),
    "five": Plan.for_columns((8, 5, 5, 5, 7), rows=455, noise="rows", epsilon=1.0),
    "opened": Plan.for_columns((8, 22), rows=455, open="own"),
    "eight": Study(
        (
            Party(f"{LONG_NAME}-0", "label", 800),
            *(Party(f"{LONG_NAME}-{place}", "features", 9_999) for place in range(1, 8)),
            Party(f"{LONG_NAME}-key", "arbiter", 0),
        ),
        rows=4_000,
        title="A title that says far more than a title has to say. " * 5,
        protocol="arbiter",
        noise="sound",
        row_norm=1.0,
        test_share=0.2,
    ),
}


def intervals(metric: str) -> dict[str, float | None]:
    """A figure with the ends of its interval."""
    return {metric: 0.7192, f"{metric}_low": 0.7034, f"{metric}_high": 0.7341}


def wide_report() -> str:
    """Long names, and intervals in every cell of the table of quality."""
    record = noisy_record()
    figures: dict[str, Any] = {}
    for metric in METRICS:
        figures |= intervals(metric)
    finding = record.findings[0]
    more = [replace(one, by=LONG_NAME, against=f"{LONG_NAME}-2") for one in record.findings]
    quality = {"held-out rows": {"joint": figures, "local-only": figures, "pooled": figures}}
    return run_report.page_of(replace(record, findings=[finding, *more], quality=quality))


PAGES: dict[str, Callable[[], str]] = {
    "report": lambda: wide_report(),
    "decision sheet": lambda: summary_of(noisy_record()),
    "three ways": lambda: demo_page.page_of("Three ways", "About.", ["How."], three_ways()),
}


def findings_of(plan: Plan) -> str:
    """The page of findings before any run."""
    return findings_page(plan, check(plan), "0.1.0")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_on_a_phone_and_on_a_desktop(tab: Tab, tmp_path: Path, name: str) -> None:
    """Nothing sideways, no table cropped on a desktop, no rule of axe-core broken; nothing is asked of anybody.

    Tab reaches all that a pointer could use, once each, and one sees where one is. Charts are drawn; headings leave
    no level out, no id is there twice, and what is referred to exists.
    """
    file = tmp_path / "page.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    page = tab.open(file)
    assert sorted(stops(page)) == sorted(reachable(page))
    page.evaluate("for (const fold of document.querySelectorAll('details:not(.values)')) fold.open = true")
    look_at(page)
    look_at_parts(page)
    assert tab.is_clean, (tab.errors, tab.requests)
    assert file.stat().st_size < 1_000_000


def look_at_parts(page: Page) -> None:
    """Look at every chart, which is in sight, and at headings, ids and tables."""
    plots = page.locator("figure.chart img").evaluate_all("all => all.map(one => one.naturalWidth && one.height)")
    assert min(plots, default=100) > 80
    assert page.get_by_role("img").count() == len(plots)
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(one => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    assert page.evaluate(BROKEN_REFERENCES) == []
    assert page.evaluate(NAMELESS) == []
    assert page.locator("th:not([scope])").count() == 0


BROKEN_REFERENCES = """() => [...document.querySelectorAll("[aria-labelledby], [aria-describedby], a[href^='#']")]
  .flatMap(one => ["aria-labelledby", "aria-describedby", "href"].map(name => one.getAttribute(name)))
  .filter(id => id && !document.getElementById(id.replace("#", "")))"""
NAMELESS = """() => [...document.querySelectorAll("[tabindex], [role=img], [role=region], summary, a, nav")]
  .filter(one => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()))
  .map(one => one.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("name", PLANS)
def test_a_summary_is_one_side_of_paper(tab: Tab, tmp_path: Path, name: str) -> None:
    """Whatever the plan, also with eight parties, long names and a finding of every kind."""
    found = list(check(PLANS[name]))
    if name == "eight":
        found += [replace(one, verdict="leaks") for one in found]
    assert printed(tab, tmp_path, summary_page(decision_on_plan(PLANS[name], found, "0.1.0"))) == 1


def test_a_runs_summary_is_one_side_of_paper(tab: Tab, tmp_path: Path) -> None:
    """The summary fits for an attacked run, a partial audit, a run never attacked, and one that did not finish."""
    record = replace(noisy_record(), quality=QUALITY)
    partial = replace(record, findings=record.findings[:1])
    failed = replace(own_side(record), status="failed " + "at a step with many words " * 20)
    for one in (record, partial, own_side(record), failed):
        assert printed(tab, tmp_path, summary_of(one)) == 1


def printed(tab: Tab, folder: Path, text: str) -> int:
    """How many sides of A4 a page takes."""
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    return len(re.findall(rb"/Type\s*/Page\b", tab.open(file).pdf(prefer_css_page_size=True, format="A4")))


def test_a_longer_page_would_be_noticed(tab: Tab, tmp_path: Path) -> None:
    """Pages of paper are really counted."""
    many = Findings([Finding("label-sign", "fund", "bank", "labels", "leaks", "Why. " * 40, "here", "")] * 40)
    assert printed(tab, tmp_path, findings_page(PLANS["exchange"], many, "0.1.0")) > 2


def test_axe_is_really_asked(tab: Tab, tmp_path: Path) -> None:
    """An input without a name and a picture without words are objected to."""
    file = tmp_path / "bad.html"
    file.write_text("<html><body><input><img src='data:,'><p style='color: #ccc'>faint</p></body></html>")
    assert {"label", "image-alt", "color-contrast", "html-has-lang"} <= {rule for rule, _ in violations(tab.open(file))}
