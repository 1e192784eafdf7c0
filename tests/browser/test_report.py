"""Reports in a real browser: printed as they should be, and deaf to what names say."""

import re
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

from plumbob.lab.demo import page as demo_page
from plumbob.record import RunRecord
from plumbob.report import run as run_report
from tests.browser.conftest import DESKTOP, Tab
from tests.browser.support import noisy_record, own_side, three_ways
from tests.report.support import hostile_names

NAMES_A_PAGE = 25


@pytest.fixture(scope="module")
def record() -> RunRecord:
    """An audited run with noise, so that no section is missing."""
    return noisy_record()


def test_print(tab: Tab, tmp_path: Path, record: RunRecord) -> None:
    """The printed page is white, with charts, the plan folded, and without links or foldings that cannot be pressed."""
    file = tmp_path / "page.html"
    compared = demo_page.page_of("Three ways", "About.", ["How."], three_ways())
    for text in (run_report.page_of(record), run_report.page_of(own_side(record)), compared):
        file.write_text(text, encoding="utf-8")
        page = tab.on_screen(**DESKTOP, scheme="dark").open(file)
        page.emulate_media(media="print", color_scheme="dark")
        assert page.locator("nav").is_hidden()
        assert page.locator("pre").is_hidden()
        assert page.locator("figure img").first.is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf())) < 20


def test_hostile_names_do_nothing(tab: Tab, tmp_path: Path, record: RunRecord) -> None:
    """200 names of parties, titles, columns, notes and reasons that would like to run: no dialog, script or request."""
    names = hostile_names()
    for start in range(0, len(names), NAMES_A_PAGE):
        file = tmp_path / f"{start}.html"
        file.write_text(run_report.page_of(renamed(record, names[start : start + NAMES_A_PAGE])), encoding="utf-8")
        page = tab.open(file)
        assert page.evaluate(FOREIGN) == []
        assert tab.is_clean, (names[start], tab.errors, tab.requests)


# Elements that no page of ours has, and attributes that run something or ask for something.
FOREIGN = """() => [...document.querySelectorAll("*")].filter(one =>
  one.matches("script, iframe, object, embed, form, link, base, video, audio, input, button, template")
  || [...one.attributes].some(own => own.name.startsWith("on") || ["srcdoc", "action"].includes(own.name)
    || (own.name === "src" && !own.value.startsWith("data:image/svg+xml;base64,")))
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
        quality={name(): {**models, name(): models["joint"]}},
        notes=names,
        engine=name(),
        status=name(),
    )


def _quoted(title: str) -> str:
    """The text as TOML quotes it."""
    return '"' + title.replace("\\", "\\\\").replace('"', '\\"') + '"'
