"""What pages say about the code is so: references are current, names exist, numbers are the code's."""

import importlib
import re
from pathlib import Path

import pytest

from plumbob.protocol.messages import HEADER, Kind
from plumbob.transport.reliable import FRAME
from tools import drawings, reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def text_of(page: str) -> str:
    """A page of docs/."""
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "written"), [("cli.md", reference.cli_page), ("api.md", reference.api_page)])
def test_the_references_are_current(page: str, written: object) -> None:
    """The pages are what `python tools/reference.py` writes today."""
    assert callable(written)
    assert text_of(page) == written(), "run: python tools/reference.py"


def test_the_pictures_are_current() -> None:
    """They are what `python tools/drawings.py` draws today, with the ledger's own numbers."""
    for name, drawn in drawings.drawings().items():
        assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == drawn, "run: python tools/drawings.py"


def test_the_protocol_lists_every_message() -> None:
    """Each kind stands in the table under its number, and nothing else does."""
    table = text_of("protocol.md").split("| kind | body |")[1].split("\n\n")[0]
    assert {(int(number), name) for number, name in re.findall(r"\b(\d+) ([A-Z_]{4,})", table)} == {
        (kind.value, kind.name) for kind in Kind
    }


def test_the_protocol_gives_sizes_as_they_are() -> None:
    """Headers and frames are as long as the page's tables make them."""
    page = text_of("protocol.md")
    assert f"A header of {HEADER.size} bytes" in page
    assert f"| {FRAME.size} | | the message" in page


def test_the_paper_map_names_what_exists() -> None:
    """Every function and every test of the page can be found under its name."""
    page = text_of("paper-map.md")
    functions = set(re.findall(r"`((?:\w+\.)+\w+)`", page))
    tests = set(re.findall(r"`([\w/]+\.py)::(\w+)`", page))
    assert len(functions) > 30
    assert len(tests) > 30
    for name in functions:
        module, _, found = name.rpartition(".")
        assert hasattr(importlib.import_module(f"plumbob.{module}"), found), name
    for file, test in tests:
        assert f"\ndef {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_every_row_of_the_paper_map_has_a_function_and_a_test() -> None:
    """No statement of the paper is left without the code that is it."""
    rows = [line.split(" | ") for line in text_of("paper-map.md").splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    for row in rows:
        assert "`" in row[2], row[0]
        assert ".py::" in row[3], row[0]
