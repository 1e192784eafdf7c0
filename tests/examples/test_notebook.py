"""The example notebook runs from its first cell to its last, and shows what the file shows."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook" / "first-model.ipynb"
# What differs from run to run, or from machine to machine.
VARYING = re.compile(r"[\d.]+ s\b|\b[0-9a-f]{12}\b|\S*\d+\.py:\d+")
AGAIN = "run: python tools/notebook.py"
FRACTION = re.compile(r"\d\.\d+")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run once, where nothing else lies."""
    out = tmp_path_factory.mktemp("notebook") / "run.ipynb"
    command = [sys.executable, str(ROOT / "tools" / "notebook.py"), str(out)]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return json.loads(out.read_text(encoding="utf-8"))


def outputs(notebook: Any) -> Iterator[Any]:
    """What its cells of code gave, cell by cell."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield cell["outputs"]


def texts(notebook: Any) -> list[str]:
    """What each cell printed, displayed or warned of, without what differs from run to run."""
    return [VARYING.sub("...", "\n".join(map(text_of, shown))) for shown in outputs(notebook)]


def text_of(output: Any) -> str:
    """One output as a terminal would have it."""
    return str(output.get("text") or output["data"]["text/plain"])


@pytest.mark.timeout(600)
def test_every_cell_shows_what_the_file_shows(run: Any) -> None:
    """Values, tables and warnings are those of the file, but for seconds and names that are drawn.

    A row that an attack can only just solve depends on the last bits of a processor's products: .992 may be .994.
    """
    kept = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    shown, expected = texts(run), texts(kept)
    assert [FRACTION.sub("#", text) for text in shown] == [FRACTION.sub("#", text) for text in expected], AGAIN
    assert fractions(shown) == pytest.approx(fractions(expected), abs=0.005), AGAIN


def fractions(shown: list[str]) -> list[float]:
    """All numbers below ten with decimals, cell by cell."""
    return [float(number) for text in shown for number in FRACTION.findall(text)]


@pytest.mark.timeout(600)
def test_findings_and_the_report_are_shown_as_pages(run: Any) -> None:
    """A browser gets headlines and a table for findings, without a script, and a frame for the report."""
    shown = [output["data"] for cell in outputs(run) for output in cell if "data" in output]
    pages = [data["text/html"] for data in shown if "text/html" in data]
    findings = [page for page in pages if "If everyone keeps to the protocol:" in page and "<table" in page]
    assert len(findings) == 2
    assert not any("<script" in page for page in findings)
    assert pages[-1].startswith("<iframe srcdoc=")


def test_the_file_is_small_and_names_no_machine() -> None:
    """The notebook is small enough to be read where the repository is shown, and names no machine."""
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert len(text) < 2**16
    assert str(ROOT) not in text
    assert "ipykernel_" not in text
