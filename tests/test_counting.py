"""The house style of numbers."""

import pytest

from plumbob.counting import Written, counted, decimal, percent, plain, seconds, size


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (27_000, "27,000 rows"), (-1, "-1 rows")]
)
def test_one_is_singular(number: int, words: str) -> None:
    """Everything else is not, and thousands are set apart."""
    assert counted(number, "row") == words


def test_a_plural_of_its_own() -> None:
    """For nouns that do not just get an s."""
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
    """With their unit, no longer than needed."""
    assert write(value) == words
