"""A real browser for pages: the system's chromium, driven by Playwright. Where there is none, tests are skipped."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, Request, expect, sync_playwright

from tests.conftest import browser_path

# In a container there is neither a sandbox of the browser's own, nor a graphics card, nor much shared memory.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


# How long what is expected may take to appear, in milliseconds: a machine may have much else to do.
expect.set_options(timeout=60_000)


@dataclass
class Tab:
    """A page, and everything about it that should not have happened."""

    page: Page
    errors: list[str] = field(default_factory=list)
    """What the console complained of, scripts that failed, dialogs that opened."""
    requests: list[str] = field(default_factory=list)
    """Every address that was asked for."""

    def open(self, where: Path | str) -> Page:
        """A file, or an address; the request for the document itself is not counted."""
        address = where.as_uri() if isinstance(where, Path) else where
        self.page.goto(address)
        with suppress(ValueError):
            self.requests.remove(address)
        return self.page

    def on_screen(self, width: int, height: int, scheme: Literal["light", "dark"]) -> "Tab":
        """The same tab on a screen of this size, for whoever prefers these colours."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(media="null", color_scheme=scheme, reduced_motion="null")
        return self

    def forget(self) -> None:
        """Forget what a test did in the tab: cookies, storage, other tabs, complaints."""
        context = self.page.context
        for other in context.pages:
            if other is not self.page:
                other.close()
        where = urlsplit(self.page.url)
        # A server may be closed by now; then nobody can come back to it either.
        with suppress(Error):
            # What a tab keeps for a server can be removed from that server's pages only; this one has no script.
            if where.scheme == "http":
                self.page.goto(f"http://{where.netloc}/no-such-page")
                self.page.evaluate("sessionStorage.clear(); localStorage.clear()")
        self.page.goto("about:blank")
        context.clear_cookies()
        self.page.unroute_all()
        self.page.mouse.move(0, 0)
        # Whoever left the last page by Tab left the window, and would come back to it first.
        self.page.bring_to_front()
        self.on_screen(**DESKTOP, scheme="light")
        self.errors.clear()
        self.requests.clear()

    @property
    def is_clean(self) -> bool:
        """Whether nothing was complained of, and nothing asked for."""
        return not self.errors and not self.requests


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for a module: while it is open, its event loop runs in the tests' thread, and others could not."""
    path = browser_path()
    if path is None:
        pytest.skip("no chromium on this machine: what only a browser can show is not tested")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def new_tab(browser: Browser) -> Iterator[Callable[..., Tab]]:
    """A function that opens a tab; its keywords are Playwright's, such as java_script_enabled."""
    tabs = []

    def opened(**options: Any) -> Tab:
        tabs.append(opened_in(browser, **options))
        return tabs[-1]

    yield opened
    for tab in tabs:
        tab.page.context.close()


@pytest.fixture(scope="module")
def one_tab(browser: Browser) -> Iterator[Tab]:
    """Opened once for a module: a new one takes longer than most of what tests do in it."""
    tab = opened_in(browser)
    yield tab
    tab.page.context.close()


@pytest.fixture
def tab(one_tab: Tab) -> Tab:
    """A tab of a desktop's size, in light colours, that remembers nothing."""
    one_tab.forget()
    return one_tab


def opened_in(browser: Browser, **options: Any) -> Tab:
    """A tab of a desktop's size, unless its options say otherwise, that notes what should not happen."""
    page = browser.new_context(**({"viewport": DESKTOP} | options)).new_page()
    tab = Tab(page)
    page.on("console", lambda message: _note_console(tab, message))
    page.on("pageerror", lambda error: tab.errors.append(f"script: {error}"))
    page.on("dialog", lambda dialog: _refuse_dialog(tab, dialog))
    page.on("request", lambda request: _note_request(tab, request))
    return tab


def _note_console(tab: Tab, message: ConsoleMessage) -> None:
    if message.type in ("error", "warning"):
        tab.errors.append(f"{message.type}: {message.text}")


def _note_request(tab: Tab, request: Request) -> None:
    tab.requests.append(request.url)


def _refuse_dialog(tab: Tab, dialog: Dialog) -> None:
    tab.errors.append(f"dialog: {dialog.message}")
    dialog.dismiss()
