"""What pages say about the code is so: references are current, names exist, numbers are the code's."""

import importlib
import re
from dataclasses import fields
from pathlib import Path

import pytest

import plumbob
from plumbob.checking.rules.gradients import ENOUGH, ENOUGH_OF_FEW, QUIET
from plumbob.checking.rules.predictions import MOST_EPSILON
from plumbob.lab.exchange.proof import ROOTS
from plumbob.net.frames import FRAME, SIZE
from plumbob.net.greeting import LARGEST_GREETING, Greeting
from plumbob.net.identity import CHECKSUM_BYTES, PREFIX, VALID_DAYS
from plumbob.net.numbered import REMEMBERED
from plumbob.net.wire import OPENING
from plumbob.plan.encodings import BINS_FROM, EXPECTED_VARIANCE, LEAST_C, LEVELS_OF_A_COLUMN, MOST_C
from plumbob.plan.row_noise import BIN_SCALE
from plumbob.protocol.handshake import Hello
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind
from tests.docs.pages import DOCS, ROOT, pages
from tools import reference


def text_of(page: str) -> str:
    """The text of a page of docs/."""
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "written"),
    [("cli.md", reference.cli_page), ("api.md", reference.api_page)],
)
def test_the_references_are_current(page: str, written: object) -> None:
    """The pages are what `python tools/reference.py` writes today."""
    assert callable(written)
    assert text_of(page) == written(), "run: python tools/reference.py"


FILE = re.compile(
    r"(?<![\w/.…])(?!secretflow/|python/|docs/reference/)"  # Other systems' own.
    r"((?:src|tests|docs|tools|benchmarks|examples|native)/[\w./-]*\w|[a-z_]+/[\w/]+\.py)(?![\w*])"
)
"""A path in the repository, or a module below src/plumbob."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page: Path) -> None:
    """What was moved, merged or renamed stands under its new name."""
    named = set(FILE.findall(re.sub(r"https?://\S+", "", page.read_text(encoding="utf-8"))))
    places = (ROOT, ROOT / "src" / "plumbob", ROOT / "tests")
    assert [name for name in named if "NAME" not in name and not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")]), ids=lambda page: page.stem)
def test_every_row_of_a_table_has_a_head(page: Path) -> None:
    """A blank line within a table makes the rest of it a paragraph: rows follow a head and its rule, without a gap."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    tables = [found[0].splitlines() for found in re.finditer(r"(?m)(?:^\|[ -].*\|[ ]*\n?)+", text)]
    headless = [rows[0][:40] for rows in tables if len(rows) < 3 or not re.fullmatch(r"\|(?: *:?-+:? *\|)+", rows[1])]
    assert headless == []


def test_every_test_that_a_page_names_exists() -> None:
    """A lemma names the test that drives it to its worst case: a test that was renamed or removed is found here."""
    tests = (file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py"))
    defined = {name for text in tests for name in re.findall(r"def (test_\w+)\(", text)}
    named = {(page.stem, name) for page in pages() for name in re.findall(r"`(test_\w+)`", page.read_text("utf-8"))}
    assert len(named) > 20
    assert [pair for pair in sorted(named) if pair[1] not in defined] == []


TORN = re.compile(r"(?m)^(?:[-*]|\d+\.) .*\n(?: .*\n)*\n(?=(?:[-*]|\d+\.) )")
"""An item, and an empty line before the next one: our lists have none, so that half of a list is not set apart."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_no_list_is_torn(page: Path) -> None:
    """An empty line between two items makes the rest of the list look like another one."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    assert [found[0].splitlines()[0] for found in TORN.finditer(text)] == []


def test_the_protocol_lists_every_message() -> None:
    """Each kind stands in the table under its number, and nothing else does."""
    table = text_of("protocol.md").split("| kind | body |")[1].split("\n\n")[0]
    assert {(int(number), name) for number, name in re.findall(r"\b(\d+) ([A-Z_]{4,})", table)} == {
        (kind.value, kind.name) for kind in Kind
    }


def test_the_wire_has_the_sizes_that_are_given() -> None:
    """Headers and frames are as long as the pages' tables make them."""
    assert f"A header of {HEADER.size} bytes" in text_of("protocol.md")
    assert f"| {SIZE.size + FRAME.size} | | the body" in text_of("network.md")


def map_of_the_paper() -> str:
    """The part of the page about the paper that says where each statement is."""
    return text_of("paper.md").split("## Where each statement is")[1]


def test_the_paper_map_names_what_exists() -> None:
    """Every function and every test of the page can be found under its name."""
    page = map_of_the_paper()
    functions = set(re.findall(r"`((?:\w+\.)+\w+)`", page))
    tests = set(re.findall(r"`([\w/]+\.py)::(\w+)`", page))
    assert len(functions) > 15
    assert len(tests) > 20
    for name in functions:
        module, _, found = name.rpartition(".")
        assert hasattr(importlib.import_module(f"plumbob.{module}"), found), name
    for file, test in tests:
        assert f"\ndef {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_every_row_of_the_paper_map_has_a_function_and_a_test() -> None:
    """No statement of the paper is left without the code that is it."""
    rows = [line.split(" | ") for line in map_of_the_paper().splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    for row in rows:
        assert "`" in row[2], row[0]
        assert ".py::" in row[3], row[0]


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("protocol.md", f"more than {LONGEST_TEXT:,} bytes MUST be refused"),
        ("protocol.md", f"1 + {ROOTS} numbers of key_bits"),
        ("protocol.md", f"An invitation is `{PREFIX}` and base64"),
        ("protocol.md", f"the first {CHECKSUM_BYTES} bytes of a SHA-256"),
        ("network.md", f"JSON of at most {LARGEST_GREETING:,} bytes"),
        ("network.md", f"Digests of the last {REMEMBERED} messages are kept"),
        ("network.md", "`{}`".format(OPENING.decode("latin-1").replace("\x02", "\\x02"))),
        ("network.md", f"valid for {VALID_DAYS} days"),
        ("check.md", f"From {ENOUGH} on labels leak"),
        ("check.md", f"from {ENOUGH_OF_FEW} on"),
        ("check.md", f"while it is at most {QUIET} times a label's part"),
        ("privacy-officers.md", f"if epsilon is at most {MOST_EPSILON:g} |"),
        ("tables.md", f"at least {LEAST_C:g} and at most {MOST_C:g}"),
        ("tables.md", f"C = {EXPECTED_VARIANCE:g} / encoded columns"),
        ("tables.md", f"numeric columns + levels / {LEVELS_OF_A_COLUMN})"),
        ("tables.md", "| `bins` | 0 | {} |".format(" | ".join(str(bins) for _, bins in reversed(BINS_FROM)))),
        ("tables.md", f"multiplied by {BIN_SCALE:g}."),
    ],
)
def test_numbers_that_the_code_sets_are_the_code_s(page: str, sentence: str) -> None:
    """Limits of the wire, thresholds of verdicts and constants of public rules."""
    assert sentence in " ".join(text_of(page).split())


def test_the_wire_has_the_fields_that_are_given() -> None:
    """A hello's and a greeting's fields are listed in their order."""
    [hello] = re.findall(r"\| 1 HELLO \| (.*) \|", text_of("protocol.md"))
    assert re.sub(r" \([^)]*\)", "", hello).split(", ") == [field.name for field in fields(Hello)]
    table = text_of("network.md").split("| field | says |")[1].split("\n\n")[0]
    listed = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert tuple(re.findall(r"\w+", " ".join(listed))) == Greeting.__struct_fields__


def test_the_python_page_has_every_name_that_is_offered() -> None:
    """What `plumbob` offers is on the page; modules and errors have parts of their own, and settings are named."""
    modules = {"attacks", "datasets", "party"}
    assert {*reference.PUBLIC["plumbob"], "PlumbobError", "PAPER", "errors", *modules} == set(plumbob.__all__)
    assert "`plumbob.PAPER`" in reference.api_page()
    assert {f"plumbob.{module}" for module in modules} <= set(reference.PUBLIC)
