"""Bringing tables to the same rows, and one table's columns to several parties.

Between organisations the common ids come from a private set intersection; here all tables are at hand, as in a
simulation.
"""

from collections.abc import Sequence
from itertools import accumulate

from numpy.typing import ArrayLike

from plumbob.arrays import Matrix
from plumbob.counting import counted
from plumbob.data.frames import table_from
from plumbob.data.ids import ids_in_words
from plumbob.data.tables import Table
from plumbob.errors import DataError


def align(tables: Sequence[Table]) -> tuple[Table, ...]:
    """The rows that all tables have, sorted by id as text, so that row i is the same person everywhere."""
    common = set(tables[0].ids).intersection(*(table.ids for table in tables[1:]))
    if not common:
        shapes = "; ".join(ids_in_words(table.ids) for table in tables)
        raise DataError(f"the tables have no id in common ({shapes}); write ids in one way in all files")
    ordered = sorted(common)
    return tuple(table.select(ordered) for table in tables)


def remarks_on_ids(table: Table) -> list[str]:
    """What the owner of a file should know about its ids and labels before anybody else hears of them."""
    if not table.unlabelled:
        return []
    have = "has no label and is" if table.unlabelled == 1 else "have no label and are"
    return [f"{counted(table.unlabelled, 'row')} {have} left out"]


def column_counts(n_columns: int, split: Sequence[int] | None = None) -> tuple[int, ...]:
    """How many columns each party has, label party first; without a split it has the first half (rounded down)."""
    counts = tuple(split) if split is not None else (n_columns // 2, n_columns - n_columns // 2)
    if len(counts) < 2 or counts[0] < 0 or min(counts[1:]) < 1 or sum(counts) != n_columns:
        raise DataError(
            f"split {counts} does not fit {n_columns} columns: it must add up to them, with at least one for each party"
            " but the first, which may have 0"
        )
    return counts


def split_array(X: Matrix, labels: ArrayLike | None = None, split: Sequence[int] | None = None) -> tuple[Table, ...]:
    """One table per party from one array, columns counted from the left; a row's place is its id."""
    if X.ndim != 2:
        raise DataError(f"expected a two-dimensional array, got {X.ndim} dimensions")
    counts = column_counts(X.shape[1], split)
    whole = table_from(X, labels=labels)
    tables = []
    for party, end in enumerate(accumulate(counts)):
        own = whole.columns[end - counts[party] : end]
        tables.append(Table(whole.ids, own, whole.labels, whole.classes) if party == 0 else Table(whole.ids, own))
    return tuple(tables)
