"""`report --pdf`: the pages of a run, printed by the system's browser."""

from pathlib import Path

import pytest

from plumbob.commands import report
from plumbob.errors import DataError
from plumbob.run_folder import RunFolder
from tests.browser.support import noisy_record
from tests.conftest import browser_path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder with a record."""
    (tmp_path / "run").mkdir()
    RunFolder(tmp_path / "run").keep(noisy_record())
    return tmp_path / "run"


def test_both_pages_are_printed(run: Path) -> None:
    """The report on as many sides as it takes, the summary on exactly one."""
    if browser_path() is None:
        pytest.skip("no chromium on this machine: nothing is printed")
    told = report.run(run, None, prints=True)
    pages = [Path(str(told[name])).read_bytes() for name in ("report_pdf", "summary_pdf")]
    assert all(page.startswith(b"%PDF") for page in pages)
    assert [page.count(b"/Type /Page\n") for page in pages][1] == 1
    assert pages[0].count(b"/Type /Page\n") > 1


def test_without_a_browser_it_says_what_to_do(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages are written all the same."""
    monkeypatch.setattr(report, "BROWSERS", ())
    with pytest.raises(DataError, match="install chromium, or open the page in any browser and print it"):
        report.run(run, None, prints=True)
    assert (run / "report.html").exists()


def test_a_browser_that_fails_is_named(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that fails is named, with the page that can be printed by hand."""
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 7\n")
    broken.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match=r"ended with 7 and printed nothing; open .*report\.html"):
        report.run(run, None, prints=True)
