"""`report`: makes the pages of a run again from its folder, and prints them by the browser that the system has."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from plumbob.checking.filing import with_verdicts
from plumbob.errors import DataError
from plumbob.report.decision import summary_of
from plumbob.report.run import page_of
from plumbob.run_folder import RunFolder


def run(folder: Path, out: Path | None, prints: bool = False) -> dict[str, object]:
    """Write the report to `out`, or beside the record; the decision sheet lies beside it.

    With `prints`, both also as PDF files of the same names.
    """
    place = RunFolder(folder)
    record = with_verdicts(place.record())
    target = out or place.report_file
    # Elsewhere it takes the report's own name: no other file there may be written over.
    beside = place.summary_file if out is None else target.with_name(f"{target.stem}-summary.html")
    page, summary = (text.encode("utf-8") for text in (page_of(record), summary_of(record)))
    try:
        target.write_bytes(page)
        beside.write_bytes(summary)
    except OSError as error:
        raise DataError(f"{target}: the report cannot be written ({type(error).__name__})") from error
    printed = _print_pdf(target, beside) if prints else {}
    return {
        "report": str(target),
        "summary": str(beside),
        **printed,
        "bytes": len(page),
        "lines": [str(target), f"{beside} (decision sheet, one page)", *printed.values()],
    }


def _print_pdf(report: Path, summary: Path) -> dict[str, str]:
    """Print both pages with the system's browser."""
    files = {"report_pdf": report.with_suffix(".pdf"), "summary_pdf": summary.with_suffix(".pdf")}
    for page, file in zip((report, summary), files.values(), strict=True):
        write_pdf(page, file)
    return {name: str(file) for name, file in files.items()}


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
