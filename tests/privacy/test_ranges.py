"""Ranges that are stated, and ranges that are proposed from a dictionary's words."""

import math

import pytest

from plumbob.errors import DataError
from plumbob.privacy.home import CATEGORY, Range
from plumbob.privacy.ranges import proposed_ranges, stated_ranges

PROPOSED = [
    ("age in years", Range(0, 100)),
    ("amount of given credit, 10,000 to 1,000,000 dollars", Range(10_000, 1_000_000)),
    ("balance between -300 and 2700", Range(-500, 5000)),
    ("repayment status, -2 to 8", Range(-2, 10)),
    ("utilisation in percent", Range(0, 100)),
    ("debt ratio", Range(0, 1)),
    ("paperless billing, yes/no", CATEGORY),
    ("at most 63 items", Range(0, 100)),
    ("number of credit lines", Range(0, 10)),
    ("tenure", Range(0, 120)),
    ("free text", None),
    ("17 to 17", None),
]


@pytest.mark.parametrize(("description", "expected"), PROPOSED)
def test_a_description_gives_a_round_range(description: str, expected: Range | None) -> None:
    """Words and numbers of a dictionary become a range that is round and no smaller; without any there is none."""
    assert proposed_ranges({"column": description}) == {"column": expected}


def test_a_proposed_range_covers_what_was_said() -> None:
    """Ends are only ever moved outward."""
    for low, high in ((3.0, 7.0), (-41.0, -3.0), (-0.07, 0.3), (0.0, 9.99e5), (-2e-3, 8.1)):
        found = proposed_ranges({"x": f"from {low} to {high}"})["x"]
        assert found is not None
        assert found.low <= low
        assert found.high >= high


def test_stated_ranges_follow_the_columns() -> None:
    """Each numeric column gets its own range, each category the one that is known."""
    found = stated_ranges(["age", "job=clerk"], {"age": [0, 90], "unused": [1, 2]}, [False, True])
    assert found == [Range(0, 90), CATEGORY]


def test_a_column_without_a_range_is_named() -> None:
    """A party is told which ranges are missing and how to state one."""
    with pytest.raises(DataError, match=r"needs a range for 'income'; state each with --range"):
        stated_ranges(["age", "income"], {"age": [0, 90]}, [False, False])


@pytest.mark.parametrize("ends", [[1.0], [2.0, 1.0], [1.0, 1.0], [0.0, math.inf], [math.nan, 1.0]])
def test_a_range_that_is_none_is_refused(ends: list[float]) -> None:
    """Two finite numbers, the smaller one first."""
    with pytest.raises(DataError, match="two numbers"):
        stated_ranges(["age"], {"age": ends}, [False])
