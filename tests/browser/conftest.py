"""A real browser for pages: the system's chromium, driven by Playwright. Where there is none, tests are skipped."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, expect, sync_playwright

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

    @property
    def is_clean(self) -> bool:
        """Nothing was complained of, and nothing asked for."""
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
    """A function that opens a tab; its keywords are Playwright's: viewport, color_scheme, java_script_enabled."""
    contexts = []

    def opened(**options: Any) -> Tab:
        context = browser.new_context(**({"viewport": DESKTOP} | options))
        contexts.append(context)
        page = context.new_page()
        tab = Tab(page)
        page.on("console", lambda message: _note_console(tab, message))
        page.on("pageerror", lambda error: tab.errors.append(f"script: {error}"))
        page.on("dialog", lambda dialog: _refuse_dialog(tab, dialog))
        page.on("request", lambda request: _note_request(tab, request))
        return tab

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def tab(new_tab: Callable[..., Tab]) -> Tab:
    """A tab of a desktop's size, in light colours."""
    return new_tab()


def _note_console(tab: Tab, message: ConsoleMessage) -> None:
    if message.type in ("error", "warning"):
        tab.errors.append(f"{message.type}: {message.text}")


def _note_request(tab: Tab, request: Request) -> None:
    tab.requests.append(request.url)


def _refuse_dialog(tab: Tab, dialog: Dialog) -> None:
    tab.errors.append(f"dialog: {dialog.message}")
    dialog.dismiss()
