"""The public rule for nested samples of rows, as it was measured, and what a plan makes of it."""

from itertools import pairwise
from typing import Any

import pytest

from plumbob.plan import Plan, in_words
from plumbob.plan.levels import levels_by_rule

SHAPES = [
    (rows, columns, parties)
    for rows in (10, 455, 9_999, 10_000, 24_000, 60_000, 160_001, 1_000_000, 20_000_000, 10**9)
    for columns in (1, 23, 40, 400, 3000)
    for parties in (1, 2, 3, 5, 9, 30)
]


def levels(rows: int, columns: int, parties: int) -> list[tuple[int, int]]:
    """The rows and passes of each level."""
    return [(level.rows, level.passes) for level in levels_by_rule(rows, columns, parties)]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((24_000, 23, 2), [(5000, 12), (24_000, 4)]),
        ((36_000, 42, 2), [(8400, 12), (36_000, 4)]),
        ((160_000, 40, 2), [(8000, 14), (35_777, 4), (160_000, 4)]),
        ((1_000_000, 40, 2), [(8000, 12), (40_000, 4), (200_000, 4), (1_000_000, 4)]),
        ((27_000, 23, 3), [(5000, 14), (11_618, 3), (27_000, 5)]),
        ((27_000, 23, 5), [(5000, 18), (11_618, 3), (27_000, 7)]),
    ],
)
def test_known_shapes(shape: tuple[int, int, int], expected: list[tuple[int, int]]) -> None:
    """Measured shapes keep the levels that were measured."""
    assert levels(*shape) == expected


@pytest.mark.parametrize(("parties", "passes"), [(1, 10), (2, 14), (3, 28), (4, 30), (30, 30)])
def test_small_tables_have_no_sample(parties: int, passes: int) -> None:
    """Where half of the rows are fewer than a first level needs, every pass uses all rows."""
    assert levels(9_999, 1, parties) == [(9_999, passes)]
    assert levels(24_000, 96, parties) == [(24_000, passes)]


def test_levels_grow_to_all_rows_within_the_passes() -> None:
    """Levels are nested and large enough, the last one is the table, and passes stay within the limit of long runs."""
    for rows, columns, parties in SHAPES:
        found = levels(rows, columns, parties)
        sizes = [size for size, _ in found]
        assert sizes[-1] == rows
        assert all(small < large for small, large in pairwise(sizes))
        assert len(sizes) == 1 or max(5000, 200 * columns) == sizes[0] <= rows / 2
        assert all(passes >= 3 for _, passes in found)
        assert sum(passes for _, passes in found) <= (24 if parties <= 2 else 30)
        ((_, passes_without_sample),) = levels(1, 1, parties)
        assert sum(size * passes for size, passes in found) <= rows * passes_without_sample


def test_a_rule_without_fractions() -> None:
    """A million times a million rows is exact too: no party may round to another level."""
    first, *_, (rows, _) = levels(8000 * 6**3, 40, 2)
    assert first == (8000, 12)
    assert [size for size, _ in levels(8000 * 6**3, 40, 2)] == [8000, 48_000, 288_000, rows]
    assert [size for size, _ in levels(8000 * 6**3 * 10**12, 40, 2)][1:3] == [480_000_000, 28_800_000_000_000]


def planned(rows: int = 27_000, **keys: Any) -> list[tuple[int, int]]:
    """The same of a plan with 23 columns."""
    plan = Plan.for_columns((11, 12), **{"protocol": "shares", **keys})
    return [(level.rows, level.passes) for level in plan.levels(rows)]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, [(5000, 12), (27_000, 4)]),
        ({"protocol": "clear", "batches": "full"}, [(5000, 12), (27_000, 4)]),
        ({"epochs": 9}, [(27_000, 9)]),
        ({"noise": "rows"}, [(27_000, 20)]),
        ({"protocol": "exchange"}, [(27_000, 10)]),
        ({"protocol": "clear", "batches": "reshuffled"}, [(27_000, 10)]),
    ],
    ids=str,
)
def test_plans_follow_the_rule_or_say_it(keys: dict[str, Any], expected: list[tuple[int, int]]) -> None:
    """Zero epochs take the rule; a number of epochs takes all rows."""
    assert planned(**keys) == expected


def test_levels_in_words() -> None:
    """Levels are told as a person reads them."""
    assert in_words(levels_by_rule(27_000, 23, 2)) == "12 passes on 5,000 rows, 4 on all 27,000"
    assert in_words(levels_by_rule(455, 23, 2)) == "14 passes on all 455 rows"
