"""Levels of training: first a sample of the rows, then all of them, by a public rule for passes and rows.

The first passes only have to find the neighbourhood of the optimum. The rule depends on rows, columns and parties
alone: no row, column or party may change a level, because that would tell something. benchmarks/levels.py of commit
ae113e8c has the tables on which it was tuned and judged, docs/protocol.md what came out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

ROWS_PER_COLUMN = 200
FEWEST_ROWS = 5000
"""The fewest rows of a sample.

Descent is stable while a sample's columns have a mean square of at most 3: with this many rows, even those of a rare
level exceed it only once in 10**6 samples.
"""
FEWEST_FIRST_PASSES = 12
MOST_PASSES = 30
PASSES_OF_ONE, PASSES_OF_TWO = 10, 14


@dataclass(frozen=True)
class Level:
    """A number of passes, each over the same sample of this many rows."""

    rows: int
    passes: int


RowLevels = tuple[Level, ...]
"""All levels, the smallest first; the last one has all training rows."""


@dataclass(frozen=True)
class Ladder:
    """Limits for levels: the growth of rows from one to the next, the passes in between, and the passes in all."""

    factor: int
    middle_passes: int
    most_passes: int


OF_TWO = Ladder(factor=6, middle_passes=4, most_passes=24)
# Among more parties descent forgets a sample more slowly, so that levels must be closer to each other.
OF_MORE = Ladder(factor=4, middle_passes=3, most_passes=MOST_PASSES)


def passes_without_sample(parties: int) -> int:
    """The passes where each uses all rows: the public rate falls with the parties, so that more of them take longer."""
    return PASSES_OF_ONE if parties == 1 else min(MOST_PASSES, PASSES_OF_TWO * (parties - 1))


def levels_by_rule(rows: int, columns: int, parties: int) -> RowLevels:
    """The levels by the public rule; `columns` are those of all parties.

    The first level has 200 rows per column and at least 5,000. From there to all rows each level has the same number of
    times as many, at most six (among more than two parties four) while passes suffice. There are never more than 30
    passes, between two parties 24. Where half of the rows are fewer than the first level, there is no sample.
    """
    first = max(FEWEST_ROWS, ROWS_PER_COLUMN * columns)
    if 2 * first > rows:
        return (Level(rows, passes_without_sample(parties)),)
    ladder = OF_TWO if parties <= 2 else OF_MORE
    last_passes = min(max(2, parties) + 2, ladder.most_passes - FEWEST_FIRST_PASSES)
    before_last = ladder.most_passes - last_passes
    affordable = 1 + (before_last - FEWEST_FIRST_PASSES) // ladder.middle_passes
    samples = next((count for count in range(1, affordable) if first * ladder.factor**count >= rows), affordable)
    # Passes on a small level are nearly free: all that are added here cost an eighth of a full pass at most.
    wanted = 2 * last_passes + 4 + rows // (8 * first)
    first_passes = min(wanted, before_last - ladder.middle_passes * (samples - 1))
    # Whole numbers only: every party must come to the same rows on every machine.
    middle = [whole_root(first ** (samples - place) * rows**place, samples) for place in range(1, samples)]
    return (
        Level(first, first_passes),
        *(Level(size, ladder.middle_passes) for size in middle),
        Level(rows, last_passes),
    )


def whole_root(value: int, degree: int) -> int:
    """The largest whole number whose power of this degree is at most the value."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low


def total_passes(levels: Sequence[Level]) -> int:
    """How many passes all levels have together."""
    return sum(level.passes for level in levels)


def in_words(levels: RowLevels) -> str:
    """The levels in words: 12 passes on 5,000 rows, 4 on all 27,000."""
    *samples, whole = levels
    numbers = [f"{level.passes} on {level.rows:,}" for level in samples]
    first, *others = [*numbers, f"{whole.passes} on all {whole.rows:,}"]
    passes, _, rows = first.partition(" ")
    noun = "pass" if passes == "1" else "passes"
    return ", ".join([f"{passes} {noun} {rows} rows", *others])
