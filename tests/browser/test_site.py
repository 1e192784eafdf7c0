"""The documentation in a real browser: served from a folder, it asks nobody else for anything."""

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.browser.conftest import Tab
from tests.browser.looks import HEIGHT, SCHEMES, WIDTHS, violations
from tools.site import ROOT

COPY_BUTTONS = ".md-code__nav"
"""The theme makes each button that copies a block of code a landmark of its own."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing about it."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Not on the tests' output."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the site can be read."""
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


def test_pictures_are_drawn(new_tab: Callable[..., Tab], address: str) -> None:
    """All three of the concepts, in light and in dark."""
    for colours in ("light", "dark"):
        page = new_tab(color_scheme=colours).open(f"{address}/concepts.html")
        widths = page.locator("article img").evaluate_all("images => images.map(image => image.naturalWidth)")
        assert widths == [760, 760, 760]


@pytest.mark.parametrize("colours", SCHEMES)
def test_pages_fit_every_screen(new_tab: Callable[..., Tab], address: str, colours: str) -> None:
    """At three widths nothing goes sideways, and axe-core has nothing to object to."""
    tab = new_tab(color_scheme=colours, reduced_motion="reduce")
    for page in ("index", "lab", "privacy-officers"):
        opened = tab.open(f"{address}/{page}.html")
        opened.wait_for_load_state("networkidle")
        for width in WIDTHS:
            opened.set_viewport_size({"width": width, "height": HEIGHT})
            assert opened.evaluate("document.documentElement.scrollWidth") <= width, page
            # Colours of the theme's list of headings fade in.
            opened.wait_for_timeout(400)
            assert violations(opened, without=COPY_BUTTONS) == [], (page, width)
