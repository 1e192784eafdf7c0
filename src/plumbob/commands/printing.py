"""`report --pdf`: a page as a PDF file, printed by the browser that the system has."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from plumbob.errors import DataError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 180
# It prints a file of ours that loads nothing: no network, no extensions, no header with the file's path.
QUIETLY = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-first-run",
    "--no-pdf-header-footer",
)


def write_pdf(page: Path, target: Path) -> None:
    """Print a page that is on the disk; DataError with what to install or do where that fails."""
    browser = _browser()
    with tempfile.TemporaryDirectory() as profile:
        # A browser refuses its sandbox to root, and would not start.
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [browser, *QUIETLY, *as_root, f"--user-data-dir={profile}", f"--print-to-pdf={target.resolve()}"]
        try:
            done = subprocess.run(  # noqa: S603  # A browser from our list, on a page of ours.
                [*command, page.resolve().as_uri()], capture_output=True, timeout=SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DataError(
                f"{browser} did not print the page ({type(error).__name__}); print {page} yourself"
            ) from None
    if done.returncode or not target.exists():
        raise DataError(
            f"{browser} ended with {done.returncode} and printed nothing; open {page} and print it yourself"
        )


def _browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    raise DataError(
        "--pdf needs Chromium or Chrome on this machine, and there is none; install chromium, or open the page in any "
        "browser and print it"
    )
