"""The four verdicts are explained in the same words wherever they are explained."""

from pathlib import Path

import pytest

from plumbob.checking.verdict_words import MEANINGS, ORDER

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["concepts", "check", "auditing", "privacy-officers"])
def test_pages_quote_the_one_definition(page: str) -> None:
    """A table row for every verdict, that begins as the code has it."""
    text = (DOCS / f"{page}.md").read_text().lower()
    for verdict in ORDER:
        assert f"| `{verdict}` | {MEANINGS[verdict].lower()}" in text, verdict


def test_every_verdict_has_a_meaning() -> None:
    """In the order in which findings are sorted."""
    assert tuple(MEANINGS) == ORDER
