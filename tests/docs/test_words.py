"""What pages and outputs say about one person's row is what the theorem promises; verdicts are explained once."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbob.checking.check import check
from plumbob.checking.words import MEANINGS, ORDER
from plumbob.plan import Plan
from plumbob.report.decision import decision_on_plan
from tests.docs.pages import DOCS, ROOT

ABSENT = re.compile(
    r"without (that|this|the) (person's row|person|row|label)\b|had (that|this) (person|row) (not )?(held|been)|"
    r"taking part in the training makes",
    re.IGNORECASE,
)
"""Words that compare with a table in which somebody is missing: neighbours have the same number of rows."""
IS_IN_THE_TABLE = re.compile(r"(that (the|this) person is|that you are) in the table", re.IGNORECASE)
ROWS = Plan.for_columns((8, 22), rows=455, noise="rows", epsilon=2.0)
LABELS = Plan.for_columns((8, 22), rows=455, protocol="exchange", noise="sound", epsilon=2.0, row_norm=1.0)


def plain(page: Path) -> str:
    """The page on one line, as a reader hears it."""
    return re.sub(r"[\s>*]+", " ", page.read_text(encoding="utf-8"))


def sheet(plan: Plan) -> str:
    """What the decision sheet says is protected."""
    return " ".join(decision_on_plan(plan, check(plan), "0.1.0").protected)


def checked(plan: Plan) -> str:
    """The notes of `check`."""
    return " ".join(check(plan).notes)


PROMISES: dict[str, Callable[[], str]] = {
    "privacy": lambda: plain(DOCS / "privacy.md"),
    "privacy officers": lambda: plain(DOCS / "privacy-officers.md"),
    "decision sheet": lambda: sheet(ROWS),
    "notes of check": lambda: checked(ROWS),
}


@pytest.mark.parametrize("said", PROMISES.values(), ids=PROMISES)
def test_the_promise_compares_with_other_values(said: Callable[[], str]) -> None:
    """Its name, any other values in this person's row, and that presence is not hidden."""
    text = said()
    assert "differential privacy" in text.lower()
    assert "any other values in this person's row" in text
    assert IS_IN_THE_TABLE.search(text)


def test_nothing_compares_with_a_table_without_the_person() -> None:
    """On no page and in no output; a promise about labels compares with the other label."""
    pages = {page.name: plain(page) for page in [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]}
    outputs = {f"{said.__name__} {plan.noise}": said(plan) for said in (sheet, checked) for plan in (ROWS, LABELS)}
    assert {name: ABSENT.findall(text) for name, text in {**pages, **outputs}.items() if ABSENT.search(text)} == {}
    assert all("the other label in this person's row" in said(LABELS) for said in (sheet, checked))


@pytest.mark.parametrize("page", ["concepts", "privacy-officers"])
def test_pages_quote_the_one_definition_of_the_verdicts(page: str) -> None:
    """A table row for every verdict, that begins as the code has it; no other page explains them again."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8").lower()
    assert [verdict for verdict in ORDER if f"| `{verdict}` | {MEANINGS[verdict].lower()}" not in text] == []
    others = [other for other in DOCS.glob("*.md") if other.stem not in ("concepts", "privacy-officers")]
    assert not [other.stem for other in others if MEANINGS["leaks"] in other.read_text(encoding="utf-8")]
