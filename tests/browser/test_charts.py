"""Charts in a real browser: drawn at every width, alive under pointer and keys, and quiet."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from plumbob.report.chart import Axis, Chart, Series
from plumbob.report.page import Section, render
from tests.browser.conftest import PHONE, Tab
from tests.report.support import bar_chart, line_chart, point_chart

CHARTS = [line_chart(), point_chart(), bar_chart()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A page with a chart of each kind."""
    path = tmp_path / "page.html"
    path.write_text(render("Charts", [Section("All kinds", charts=CHARTS)]), encoding="utf-8")
    return path


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE], ids=["desktop", "phone"])
def test_every_chart_is_drawn(tab: Tab, file: Path, viewport: dict[str, int]) -> None:
    """Each is an image named by its title, in sight, within the page's width; without a complaint or a request."""
    page = tab.on_screen(**viewport, scheme="light").open(file)
    for chart in CHARTS:
        image = page.get_by_role("img", name=chart.title, exact=True)
        expect(image).to_have_count(1)
        box = image.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 80
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert tab.is_clean, (tab.errors, tab.requests)


def test_pointer_and_keys_show_values(tab: Tab, file: Path) -> None:
    """The pointer shows the nearest value; arrow keys walk through all, for screen readers too; Escape hides them."""
    page = tab.open(file)
    probe = page.get_by_role("slider", name=f"Values of: {CHARTS[0].title}")
    box = probe.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 100)
    assert tip(page) == "epoch 1\n50 % label-sign\n50 % (40 % to 70 %) with noise\n50 % guessing"
    page.mouse.move(0, 0)
    assert tip(page) == ""
    page.keyboard.press("Tab")
    while not probe.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(probe).to_have_attribute("aria-valuetext", "epoch 2; label-sign: 70 %; with noise: -; guessing: 50 %")
    page.keyboard.press("End")
    assert tip(page).startswith("epoch 5\n99 %")
    assert page.locator(".dot:visible").count() == 3
    page.keyboard.press("Escape")
    assert tip(page) == ""
    assert tab.is_clean, (tab.errors, tab.requests)


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 900}, PHONE], ids=["desktop", "phone"])
def test_dots_lie_on_the_line(tab: Tab, tmp_path: Path, viewport: dict[str, int]) -> None:
    """What the script marks is where the value is drawn, at every width and on axes that make their own ends."""
    steps = [float(step) for step in range(1, 111)]
    equations = Series("equations", [4.55 * step for step in steps], steps)
    chart = Chart("Equations", "By step.", Axis("step"), Axis("equations"), [equations])
    file = tmp_path / "page.html"
    file.write_text(render("Dots", [Section("One", charts=[chart])]), encoding="utf-8")
    page = tab.on_screen(**viewport, scheme="light").open(file)
    page.get_by_role("slider").press("End")
    dot, end = page.evaluate(DOT_AND_END)
    assert dot == pytest.approx(end, abs=1.0)


# The middle of the dot, and the last point of the line in the drawing that is in sight, both on the page.
DOT_AND_END = """() => {
  const box = document.querySelector(".dot").getBoundingClientRect();
  const seen = [...document.querySelectorAll(".drawing path.line.c0")].filter(one => one.checkVisibility());
  const line = seen.reduce((one, two) => one.getTotalLength() > two.getTotalLength() ? one : two);
  const end = line.getPointAtLength(line.getTotalLength()).matrixTransform(line.getScreenCTM());
  return [[box.x + box.width / 2, box.y + box.height / 2], [end.x, end.y]];
}"""


def test_the_pointer_finds_a_point_and_a_bar(tab: Tab, file: Path) -> None:
    """Points are found in both directions, bars from top to bottom."""
    page = tab.open(file)
    page.get_by_role("slider").nth(1).press("End")
    assert tip(page) == "none\n0.7 leakage\n0.8 AUC"
    bars = page.get_by_role("slider").nth(2)
    bars.press("Home")
    assert tip(page) == "label-sign\n0.9 attack\n0.5 baseline"
    bars.press("ArrowDown")
    assert tip(page).startswith("label-only")


def test_without_scripts_everything_is_there(new_tab: Callable[..., Tab], file: Path) -> None:
    """Drawings and tables need no script."""
    page = new_tab(java_script_enabled=False).open(file)
    expect(page.get_by_role("img", name=CHARTS[0].title)).to_be_visible()
    page.get_by_text("The data as a table").first.click()
    expect(page.get_by_role("cell", name="60 % (40 % to 70 %)")).to_be_visible()


def tip(page: Page) -> str:
    """What the visible tip says."""
    shown = page.locator(".tip:visible")
    return shown.inner_text() if shown.count() else ""
