"""Numbers with their nouns."""

import pytest

from plumbob.counting import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (27_000, "27,000 rows"), (-1, "-1 rows")]
)
def test_one_is_singular(number: int, words: str) -> None:
    """Everything else is not, and thousands are set apart."""
    assert counted(number, "row") == words


def test_a_plural_of_its_own() -> None:
    """For nouns that do not just get an s."""
    assert [counted(number, "query", "queries") for number in (1, 2)] == ["1 query", "2 queries"]
