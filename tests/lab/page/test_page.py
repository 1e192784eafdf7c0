"""The page in a real browser: one journey, two widths, both colours, and axe-core."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="the extra `test` is not installed: pages are not looked at")
pytest.importorskip("starlette", reason="the lab's extra is not installed: pip install '.[lab]'")

from playwright.sync_api import Page, expect

from plumbob.plan import Plan
from tests.browser.conftest import Tab
from tests.browser.looks import violations
from tests.lab.page.conftest import OpenLab
from tests.lab.page.test_server import put


def first_shown(tab: Tab, lab: OpenLab) -> Page:
    """The page as whoever typed the last printed address sees it, with its answer."""
    assert lab.process.stdout is not None
    address = lab.again
    page = tab.page
    page.goto(address)
    lab.again = lab.process.stdout.readline().split()[-1]
    expect(page.locator("#answer h3").first).to_be_visible()
    return page


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs."""
    folder = tmp_path_factory.mktemp("runs")
    put(folder / "exchange", Plan.for_columns((11, 12), title="Small batches", protocol="exchange", batch_size=8))
    put(folder / "shares", Plan.for_columns((11, 12)))
    return folder


@pytest.fixture(scope="module")
def lab(open_lab: Callable[..., OpenLab], runs: Path) -> OpenLab:
    """A lab on that folder."""
    return open_lab(runs)


def test_a_plan_is_tried_out(tab: Tab, lab: OpenLab) -> None:
    """It begins with the safe defaults; exchange leaks at once; one button brings shares back; a mistake is said."""
    page = first_shown(tab, lab)
    answer = page.locator("#answer")
    expect(page.locator("#key-epochs")).to_have_attribute("placeholder", "0")
    expect(page.locator("#field-batch_size")).to_be_hidden()
    page.locator("#key-protocol").select_option("exchange")
    expect(page.locator("#field-batch_size")).to_be_visible()
    page.locator("#key-batch_size").fill("8")
    expect(answer.locator(".badge.leaks").first).to_be_visible()
    answer.locator("button.fix").first.click()
    expect(page.locator("#key-protocol")).to_have_value("shares")
    expect(answer).to_contain_text("stays split between the parties")
    page.get_by_role("button", name="One more party").click()
    page.get_by_label("Name of party 3").fill("shop")
    expect(answer.locator(".mistakes")).to_contain_text("columns")
    page.get_by_label("Columns of party 3").fill("7")
    expect(answer.locator("h3").first).to_be_visible()
    expect(answer).to_contain_text("shop")
    assert tab.errors == []


def test_the_list_opens_reports(tab: Tab, lab: OpenLab) -> None:
    """Each run has its verdict and its pages, and its plan can be changed."""
    page = first_shown(tab, lab)
    line = page.locator("tr", has_text="Small batches")
    expect(line.locator(".badge.leaks")).to_be_visible()
    line.get_by_role("link", name="change its plan").click()
    expect(page.locator("#key-protocol")).to_have_value("exchange")
    expect(page.locator("#answer .badge.leaks").first).to_be_visible()
    with page.context.expect_page() as opened:
        page.locator("tr", has_text="Small batches").get_by_role("link", name="report").click()
    expect(opened.value.locator("h1")).to_contain_text("Small batches")


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")])
def test_it_fits_and_axe_is_silent(tab: Tab, lab: OpenLab, width: int, scheme: str) -> None:
    """Nothing scrolls sideways on a phone or a desktop, and axe-core has no complaint."""
    page = first_shown(tab, lab)
    tab.on_screen(width, 900, "dark" if scheme == "dark" else "light")
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(page) == []
