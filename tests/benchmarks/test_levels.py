"""The public rule for nested samples of rows, as benchmarks/levels.py measured it."""

from itertools import pairwise

import pytest

from benchmarks.levels import levels

SHAPES = [
    (rows, columns, parties)
    for rows in (10, 455, 9_999, 10_000, 24_000, 60_000, 160_001, 1_000_000, 20_000_000, 10**9)
    for columns in (1, 23, 40, 400, 3000)
    for parties in (1, 2, 3, 5, 9, 30)
]


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


@pytest.mark.parametrize(("parties", "passes"), [(1, 10), (2, 14), (3, 17), (5, 22), (9, 30), (30, 30)])
def test_small_tables_have_no_sample(parties: int, passes: int) -> None:
    """Where half of the rows are fewer than a first level needs, every pass uses all rows."""
    assert levels(9_999, 1, parties) == [(9_999, passes)]
    assert levels(24_000, 96, parties) == [(24_000, passes)]


@pytest.mark.parametrize(("rows", "columns", "parties"), SHAPES)
def test_levels_grow_to_all_rows_within_the_passes(rows: int, columns: int, parties: int) -> None:
    """Levels are nested and large enough, the last one is the table, and passes stay within the limit of long runs."""
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
