"""The documentation in a real browser: served from a folder, it asks nobody else for anything."""

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Tab
from tests.browser.looks import DESKTOP, HEIGHT, PHONE, SCHEMES, WIDTHS, WITHOUT_FADING, violations
from tools.site import ROOT, sources


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing about it."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing on the tests' output."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("the extra `docs` (Zensical) is not installed: the site is not built")
    folder = tmp_path_factory.mktemp("docs")
    subprocess.run([sys.executable, str(ROOT / "tools" / "site.py"), str(folder)], check=True, capture_output=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder / "site"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_pages_ask_nobody_else(tab: Tab, address: str) -> None:
    """Every request goes to the site's own server, the search's too, and nothing is complained of."""
    for page in ("index", "concepts", "attacks"):
        tab.open(f"{address}/{page}.html").wait_for_load_state("networkidle")
    assert tab.errors == []
    assert f"{address}/search.json" in tab.requests
    assert [request for request in tab.requests if not request.startswith((f"{address}/", "data:", "blob:"))] == []


def test_pictures_are_drawn(tab: Tab, address: str) -> None:
    """All four of the concepts, in light and in dark."""
    for colours in SCHEMES:
        page = tab.on_screen(DESKTOP, HEIGHT, colours).open(f"{address}/concepts.html")
        widths = page.locator("article img").evaluate_all("images => images.map(image => image.naturalWidth)")
        assert widths == [760] * 4


EVERY_PAGE = sorted(name.removesuffix(".md") for name in sources().values())
# Pictures, code, wide tables, formulas, and the page that everybody opens first.
ONE_OF_EACH_KIND = ("benchmarks", "concepts", "index", "lattice", "tutorial")


def opened(tab: Tab, address: str, name: str) -> Page:
    """A page of the site, once its scripts have done their work."""
    page = tab.open(f"{address}/{name}.html")
    page.wait_for_load_state("networkidle")
    page.evaluate(WITHOUT_FADING)
    return page


@pytest.mark.timeout(900)
def test_every_page_on_a_phone_and_on_a_desktop(tab: Tab, address: str) -> None:
    """Nothing sideways on either; nothing that axe-core objects to, in both colours, on a page of each kind.

    All pages have one template.
    """
    assert {*ONE_OF_EACH_KIND} <= {*EVERY_PAGE}
    # Each page would make the index of all pages, for a search that nobody here types into.
    tab.page.route("**/search.json", lambda route: route.fulfill(json={"config": {}, "items": []}))
    for name in EVERY_PAGE:
        page = opened(tab, address, name)
        for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
            tab.on_screen(width, HEIGHT, scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            assert name not in ONE_OF_EACH_KIND or violations(page) == [], (name, width)


def test_a_keyboard_reaches_wide_tables(tab: Tab, address: str) -> None:
    """Tab reaches each wide table, with an outline: a box that scrolls is of no use to whoever cannot reach it."""
    page = opened(tab, address, "benchmarks")
    page.set_viewport_size({"width": PHONE, "height": HEIGHT})
    boxes = page.locator(".md-typeset__scrollwrap")
    assert boxes.count() > 3
    boxes.first.focus()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Table")
    page.keyboard.press("ArrowRight")
    # The page forbids eval, which waiting for a function would need.
    for _ in range(200):
        if page.evaluate("document.activeElement.scrollLeft") > 0:
            break
        page.wait_for_timeout(50)
    assert page.evaluate("document.activeElement.scrollLeft") > 0
    assert set(boxes.evaluate_all("all => all.map(one => one.tabIndex)")) == {0}
