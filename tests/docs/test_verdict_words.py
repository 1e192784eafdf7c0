"""The four verdicts are explained in the same words wherever they are explained."""

import re
from pathlib import Path

import pytest

from plumbob.checking.words import MEANINGS, ORDER

DOCS = Path(__file__).parents[2] / "docs"


EXPLAINING = ("concepts", "privacy-officers")
"""Pages with the table; others lead to the first one."""


@pytest.mark.parametrize("page", EXPLAINING)
def test_pages_quote_the_one_definition(page: str) -> None:
    """A table row for every verdict, that begins as the code has it."""
    text = (DOCS / f"{page}.md").read_text().lower()
    for verdict in ORDER:
        assert f"| `{verdict}` | {MEANINGS[verdict].lower()}" in text, verdict


def test_no_other_page_explains_them_again() -> None:
    """Check and auditing lead to the definition, so that there is one to keep."""
    others = [page for page in DOCS.glob("*.md") if page.stem not in EXPLAINING]
    assert not [page.stem for page in others if MEANINGS["leaks"] in page.read_text()]
    for page in ("check", "auditing"):
        assert "(concepts.md#verdicts)" in (DOCS / f"{page}.md").read_text()


def test_one_figure_says_how_often_verdicts_are_right() -> None:
    """README and the page have the same counts; no screen has them, because its verdicts may be of another kind."""
    (row,) = re.findall(r"\| the plan alone \|.*", (DOCS / "check.md").read_text())
    readme = (DOCS.parent / "README.md").read_text()
    counts = re.findall(r"\d+ of \d+", row)
    assert len(counts) == 3
    assert all(f" {one} " in readme for one in counts)


def test_every_verdict_has_a_meaning() -> None:
    """Every verdict has a meaning, in the order in which findings are sorted."""
    assert tuple(MEANINGS) == ORDER
