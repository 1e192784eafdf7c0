"""The sentence about one person's row: every page and every output says what the theorem promises, and not more."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plumbob.checking.check import check, notes
from plumbob.checking.row_notes import noise_in_words
from plumbob.plan import Plan
from plumbob.report.plan_page import GLOSSARY, decision_on_plan

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted([*(REPOSITORY / "docs").glob("*.md"), REPOSITORY / "README.md", REPOSITORY / "CHANGELOG.md"])
ABSENT = re.compile(
    r"without (that|this|the) (person's row|person|row|label)\b|had (that|this) (person|row) (not )?(held|been)|"
    r"taking part in the training makes",
    re.IGNORECASE,
)
"""Words that compare with a table in which somebody is missing: neighbours have the same number of rows."""
OTHER_VALUES = "any other values in this person's row"
IS_IN_THE_TABLE = re.compile(r"(that (the|this) person is|that you are) in the table", re.IGNORECASE)
NAME = "differential privacy"
THAT_PROMISE = (
    "privacy.md",
    "privacy-officers.md",
    "defences.md",
    "glossary.md",
    "limitations.md",
    "concepts.md",
)


def plain(text: str) -> str:
    """The text on one line, as a reader hears it."""
    return re.sub(r"[\s>*]+", " ", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_compares_with_a_table_without_the_person(page: Path) -> None:
    """The promise compares with other values in the row, not with its absence."""
    found = ABSENT.search(plain(page.read_text(encoding="utf-8")))
    assert found is None, found


@pytest.mark.parametrize("name", ["privacy.md", "privacy-officers.md"])
def test_the_pages_with_the_sentence_say_what_it_compares_with(name: str) -> None:
    """Any other values in this person's row; that the person is in the table is not hidden."""
    text = plain((REPOSITORY / "docs" / name).read_text(encoding="utf-8"))
    assert OTHER_VALUES in text
    assert IS_IN_THE_TABLE.search(text)


@pytest.mark.parametrize("name", THAT_PROMISE)
def test_the_promise_has_its_name_on_every_page(name: str) -> None:
    """Whoever looks for differential privacy finds it where it is promised."""
    assert NAME in plain((REPOSITORY / "docs" / name).read_text(encoding="utf-8")).lower()


def rows_plan(**keys: Any) -> Plan:
    """A plan that promises something, about whole rows unless the keys say otherwise."""
    return Plan.for_columns((8, 22), **{"rows": 455, "noise": "rows", "epsilon": 2.0, **keys})


def sheet(plan: Plan) -> str:
    """What the decision sheet says is protected."""
    return " ".join(decision_on_plan(plan, check(plan), "0.1.0").protected)


def checked(plan: Plan) -> str:
    """The notes of `check`."""
    return " ".join(notes(plan))


@pytest.mark.parametrize("said", [sheet, checked], ids=lambda said: said.__name__)
def test_outputs_say_it_as_the_pages_do(said: Callable[[Plan], str]) -> None:
    """The sheet and the notes of `check`: the name, other values, and that presence is not hidden."""
    text = said(rows_plan())
    assert NAME in text.lower()
    assert OTHER_VALUES in text
    assert IS_IN_THE_TABLE.search(text)
    assert ABSENT.search(text) is None


@pytest.mark.parametrize("said", [sheet, checked], ids=lambda said: said.__name__)
def test_a_promise_about_labels_compares_with_the_other_label(said: Callable[[Plan], str]) -> None:
    """Under `sound` only the label may differ, and it is never absent."""
    text = said(rows_plan(protocol="exchange", noise="sound", row_norm=1.0))
    assert NAME in text.lower()
    assert "the other label in this person's row" in text
    assert ABSENT.search(text) is None


def test_the_receipt_and_the_glossary_of_the_report_name_it() -> None:
    """Both name the promise: where epsilon and delta are explained, and where they are recorded."""
    (entry,) = [one.means for one in GLOSSARY if "epsilon" in one.forms]
    assert NAME in entry.lower()
    assert OTHER_VALUES in entry
    assert NAME in noise_in_words(rows_plan(), 455)


def test_the_ledger_is_explained_with_its_limit() -> None:
    """A person under another id column is another person: said where the ledger is explained."""
    words = "person under another id column is another person"
    for name in ("privacy.md", "privacy-officers.md", "operations.md"):
        assert words in plain((REPOSITORY / "docs" / name).read_text(encoding="utf-8"))
    assert words in checked(rows_plan())
