"""Reports in a real browser: drawn, quiet, usable without a mouse, readable by machines, and deaf to what names say."""

import re
from dataclasses import replace
from functools import partial
from itertools import cycle, pairwise
from pathlib import Path
from typing import Literal

import pytest

from plumbob.lab.reports import compared_runs
from plumbob.record import RunRecord
from plumbob.report import run as run_report
from tests.browser.conftest import DESKTOP, PHONE, Tab
from tests.browser.looks import CONTRASTS, faint
from tests.browser.support import noisy_record, own_side, three_ways
from tests.report.support import hostile_names

NAMES_A_PAGE = 10
MODES = [(DESKTOP, "light"), (PHONE, "dark")]


@pytest.fixture(scope="module")
def record() -> RunRecord:
    """An audited run with noise, so that no section is missing."""
    return noisy_record()


@pytest.fixture
def pages(tmp_path: Path, record: RunRecord) -> list[Path]:
    """A run's page, that of one party's own side, and the page of several compared_runs."""
    texts = [
        run_report.page_of(record),
        run_report.page_of(own_side(record)),
        compared_runs.page_of("Three ways", "About.", ["How."], three_ways()),
    ]
    files = [tmp_path / f"page-{place}.html" for place in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return files


@pytest.mark.parametrize(("viewport", "scheme"), MODES, ids=["desktop", "phone"])
def test_every_page_is_whole(
    tab: Tab, pages: list[Path], viewport: dict[str, int], scheme: Literal["light", "dark"]
) -> None:
    """Every chart is in sight, nothing is wider than the page, nobody complains, and no request leaves."""
    tab.on_screen(**viewport, scheme=scheme)
    for file in pages:
        page = tab.open(file)
        boxes = page.locator("figure.chart .plot").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().height)"
        )
        assert boxes
        assert min(boxes) > 80
        assert page.get_by_role("img").count() == len(boxes)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        assert tab.is_clean, (file, tab.errors, tab.requests)
        assert file.stat().st_size < 1_000_000


@pytest.mark.parametrize(("viewport", "scheme"), MODES, ids=["desktop", "phone"])
def test_accessibility(tab: Tab, pages: list[Path], viewport: dict[str, int], scheme: Literal["light", "dark"]) -> None:
    """A language, one first heading, no level left out, no id twice, names for all that can be reached, contrast."""
    for file in pages:
        page = tab.on_screen(**viewport, scheme=scheme).open(file)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert page.locator("html").get_attribute("lang") == "en"
        levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(one => Number(one.tagName[1]))")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        ids = page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
        assert len(ids) == len(set(ids))
        assert page.evaluate(BROKEN_REFERENCES) == []
        assert page.evaluate(NAMELESS) == []
        assert page.locator("th:not([scope])").count() == 0
        assert faint(page) == []


BROKEN_REFERENCES = """() => [...document.querySelectorAll("[aria-labelledby], [aria-describedby], a[href^='#']")]
  .flatMap(one => ["aria-labelledby", "aria-describedby", "href"].map(name => one.getAttribute(name)))
  .filter(id => id && !document.getElementById(id.replace("#", "")))"""
NAMELESS = """() => [...document.querySelectorAll("[tabindex], [role=img], [role=region], summary, a, nav")]
  .filter(one => !(one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim()))
  .map(one => one.outerHTML.slice(0, 200))"""


def test_contrast_is_really_measured(tab: Tab, tmp_path: Path) -> None:
    """Text that is too faint is seen, also where it or what is behind it lets other colours through."""
    file = tmp_path / "faint.html"
    file.write_text(
        '<p style="color: #999; background: #fff">faint</p><p style="color: #000">ink</p>'
        '<p style="color: rgb(0 0 0 / 0.4)">thin</p><div style="background: #777"><p style="color: #000">on grey</p>'
        '<p style="background: rgb(255 255 255 / 0.1); color: #fff">white on grey</p></div>'
    )
    page = tab.open(file)
    ratios = {one["text"]: round(one["ratio"], 1) for one in page.evaluate(CONTRASTS)}
    assert ratios == {"faint": 2.8, "ink": 21.0, "thin": 2.8, "on grey": 4.7, "white on grey": 3.7}
    assert [words for words, _ in faint(page)] == ["faint", "thin", "white on grey"]


def test_a_keyboard_reaches_everything(tab: Tab, pages: list[Path]) -> None:
    """By Tab one comes through links, charts, tables and foldings, and sees where one is."""
    page = tab.open(pages[0])
    reached: list[str] = []
    for _ in range(200):
        page.keyboard.press("Tab")
        kind = page.evaluate(FOCUSED)
        if kind == "BODY":
            break
        name, _, outline = kind.partition(" ")
        reached.append(name)
        assert outline not in ("", "0px"), kind
    expected = page.locator("a[href], summary, .probe, .scroll, pre[tabindex]").evaluate_all(
        "all => all.filter(one => one.checkVisibility()).length"
    )
    assert len(reached) == expected
    assert {"A", "SUMMARY", "slider", "region"} <= set(reached)


FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body) return "BODY";
  return (one.getAttribute("role") || one.tagName) + " " + getComputedStyle(one).outlineWidth;
}"""


def test_print(tab: Tab, pages: list[Path]) -> None:
    """The printed page is dark ink on white, with charts and without links or foldings that cannot be pressed."""
    for file in pages:
        page = tab.on_screen(**DESKTOP, scheme="dark").open(file)
        page.emulate_media(media="print", color_scheme="dark")
        assert page.locator("nav").is_hidden()
        assert page.locator(".drawing.wide").first.is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert faint(page) == []
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf())) < 20


def test_hostile_names_do_nothing(tab: Tab, tmp_path: Path, record: RunRecord) -> None:
    """200 names of parties, titles, columns, notes and reasons that would like to run: no dialog, script or request."""
    names = hostile_names()
    for start in range(0, len(names), NAMES_A_PAGE):
        file = tmp_path / f"{start}.html"
        file.write_text(run_report.page_of(renamed(record, names[start : start + NAMES_A_PAGE])), encoding="utf-8")
        page = tab.open(file)
        # The page's own script ran, so that another could have; and what it shows it reads from names too.
        assert page.locator(".probe").count() == page.locator("figure.chart").count() > 0
        page.locator(".probe").first.press("End")
        assert page.evaluate(FOREIGN) == []
        assert tab.is_clean, (names[start], tab.errors, tab.requests)


# Elements that no page of ours has, and attributes that run something or ask for something.
FOREIGN = """() => [...document.querySelectorAll("*")].filter(one =>
  one.matches("img, iframe, object, embed, form, link, base, video, audio, input, button, template")
  || [...one.attributes].some(own => own.name.startsWith("on") || ["src", "srcdoc", "action"].includes(own.name))
  || (one.tagName === "SCRIPT" && !one.textContent.includes("plumbobCharts"))
).map(one => one.outerHTML.slice(0, 200))"""


def renamed(record: RunRecord, names: list[str]) -> RunRecord:
    """The same record with these names, in turn, wherever somebody outside could have put one."""
    following = cycle(names)
    name = partial(next, following)
    title = next((one for one in names if one.isprintable()), "A run")
    models = next(iter(record.quality.values()))
    return replace(
        record,
        plan=record.plan.replace('title = "A run"', f"title = {_quoted(title)}"),
        parties=[replace(one, name=name(), columns=[name() for _ in one.columns]) for one in record.parties],
        findings=[
            replace(one, attack=name(), by=name(), against=name(), why=name(), fix=name()) for one in record.findings
        ],
        ledger=[replace(one, party=name(), about=name()) for one in record.ledger],
        curves=[replace(one, attack=name(), by=names[0], against=names[1]) for one in record.curves],
        quality={name(): {**models, name(): models["joint"]}},
        notes=names,
        engine=name(),
        status=name(),
    )


def _quoted(title: str) -> str:
    """The text as TOML quotes it."""
    return '"' + title.replace("\\", "\\\\").replace('"', '\\"') + '"'
