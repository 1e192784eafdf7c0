"""The house style of numbers."""

import re
from pathlib import Path

import pytest

import plumbob
from plumbob.counting import Written, counted, decimal, percent, plain, seconds, size
from tests.docs.pages import pages


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (27_000, "27,000 rows"), (-1, "-1 rows")]
)
def test_one_is_singular(number: int, words: str) -> None:
    """Everything else is not, and thousands are set apart."""
    assert counted(number, "row") == words


def test_a_plural_of_its_own() -> None:
    """Nouns that do not just get an s have their own plural."""
    assert [counted(number, "query", "queries") for number in (1, 2)] == ["1 query", "2 queries"]


@pytest.mark.parametrize(
    ("write", "value", "words"),
    [
        (percent, 0.9978, "99.8 %"),
        (percent, 1.0, "100 %"),
        (percent, -0.0001, "0 %"),
        (percent, -0.005, "-0.5 %"),
        (percent, None, "-"),
        (decimal, 0.71444, "0.714"),
        (decimal, -2.5e7, "-2.5e+07"),
        (size, 2_490_000, "2.49 MB"),
        (size, 999_700, "1,000 kB"),
        (size, 12, "12 B"),
        (seconds, 12.345, "12.3 s"),
        (seconds, 86400, "86,400 s"),
        (plain, 2420, "2,420"),
        (plain, 0.12345, "0.1235"),
        (plain, float("nan"), "-"),
    ],
)
def test_numbers_as_people_read_them(write: Written, value: float | None, words: str) -> None:
    """Numbers have their unit, and are no longer than needed."""
    assert write(value) == words


UNIT = re.compile(r"\{[^{}]*:[^{}]*%\}|[}\d] ?%\{|\{[^{}]*:[^{}]+\} ?(%|s\b|[kMG]i?B\b)")


def test_numbers_with_units_are_written_in_one_place() -> None:
    """No percentage, time or size is formatted anywhere else, so that all of them look alike."""
    sources = Path(plumbob.__file__).parent
    others = [file for file in sources.rglob("*.py") if file.name != "counting.py" and "paper" not in file.parts]
    found = [
        f"{file}: {line.strip()}" for file in others for line in file.read_text().splitlines() if UNIT.search(line)
    ]
    assert found == []


def test_pages_write_numbers_alike() -> None:
    """A space before a percent sign and a digit before a point, as in output; code and addresses are left out."""
    code = re.compile(r"```.*?```|`[^`]*`|https?://\S+", re.DOTALL)
    prose = {page.name: code.sub("", page.read_text(encoding="utf-8")) for page in pages()}
    others = re.compile(r"\d%|(?<![\w.…/)\]])\.\d")
    assert {name: found for name, text in prose.items() if (found := others.findall(text))} == {}
