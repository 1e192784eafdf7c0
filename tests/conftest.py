"""What every test run says first: what is missing here, and so will be skipped."""

import gc
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.command_line import CommandLine

IN_MEMORY = Path("/dev/shm")  # noqa: S108  # pytest makes a folder there that is its own.
ROOM_NEEDED = 1 << 30  # Bytes: several times what the tests keep at once.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_configure() -> None:
    """A shell that starts the suite in the background lets it, and all that it starts itself, ignore interrupts."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A busy machine is slow, not wrong: no test measures seconds.
    settings.register_profile("plumbob", deadline=None)
    settings.load_profile("plumbob")
    # Hundreds of processes import the package: compiling it each time would cost them more than their work.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Every message that a journal keeps is an fsync: on a disk the tests of parties mostly wait for it.
    if has_room_in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay to the end: no collection of garbage need look at them, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two workers must name a test alike, or no test runs at all: an address in a name is another one in each."""
    named = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if named:
        raise pytest.UsageError(f"{named[0]}: its name holds an address of memory; give its parameters ids")


def pytest_report_header() -> list[str]:
    """Say what this machine lacks, before a skipped test is mistaken for a passed one."""
    return [native_kernel(), cluster(), larger_data_sets(), browser(), temporary_files()]


def native_kernel() -> str:
    """Whether the tests of the native engine can run."""
    if importlib.util.find_spec("plumbob.crypto._kernel") is None:
        return "native kernel: MISSING, its tests are skipped; .venv/install.log says why it was not built"
    return "native kernel: built"


def cluster() -> str:
    """Whether the tests on a cluster can run."""
    is_there = importlib.util.find_spec("ray") is not None
    return f"ray: {'installed' if is_there else 'MISSING, the tests on a cluster are skipped'}"


def larger_data_sets() -> str:
    """Whether the tests on MNIST and credit data can run."""
    folder = os.environ.get("PLUMBOB_DATA")
    return f"PLUMBOB_DATA: {folder or 'not set, tests that need the larger data sets are skipped'}"


def browser() -> str:
    """Whether pages can be tested in a real browser."""
    return f"browser: {browser_path() or 'MISSING, tests of pages in a browser are skipped; install chromium'}"


def temporary_files() -> str:
    """The folder of the tests' own files."""
    return f"temporary files: in {os.environ.get('PYTEST_DEBUG_TEMPROOT', 'the usual place, which is slow on a disk')}"


def has_room_in_memory() -> bool:
    """Whether the tests' files fit into memory."""
    return os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM_NEEDED


def browser_path() -> str | None:
    """The system's own; none is downloaded."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line, and what it prints."""
    return CommandLine(capsys)
