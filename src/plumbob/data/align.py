"""Bringing tables to the same rows, and one table's columns to several parties.

Between organisations the common ids come from a private set intersection; here all tables are at hand, as in a
simulation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from numpy.typing import ArrayLike

from plumbob.arrays import Matrix
from plumbob.counting import counted
from plumbob.data.frames import table_from
from plumbob.data.ids import BEFORE_NUMBER, canonical_ids, look_alikes, own_row, paired_rows, rows_per_id
from plumbob.data.tables import Table
from plumbob.errors import DataError
from plumbob.plan import Plan


def align(tables: Sequence[Table]) -> tuple[Table, ...]:
    """The rows that all tables have, sorted by id as text, so that row i is the same person everywhere.

    Ids are written by the common rule, as between organisations: blanks around them do not count. Where tables have
    several rows of an id, each is paired with each.
    """
    tables = [_with_canonical_ids(table, number) for number, table in enumerate(tables, 1)]
    rows = [rows_per_id(table.ids) for table in tables]
    common = set(rows[0]).intersection(*rows[1:])
    if not common:
        sizes = ", ".join(str(len(table)) for table in tables)
        raise DataError(f"the tables ({sizes} rows) have no id in common; are their ids written the same way?")
    ordered = sorted(common)
    pairs = paired_rows(ordered, [[own[identity] for identity in ordered] for own in rows])
    return tuple(in_agreed_order(table, pairs, place=place) for place, table in enumerate(tables))


def _with_canonical_ids(table: Table, number: int) -> Table:
    try:
        return replace(table, ids=canonical_ids(table.ids))
    except DataError as error:
        raise DataError(f"table {number}: {error}") from None


def in_agreed_order(table: Table, ids: Iterable[str], advice: str = "", place: int = 0) -> Table:
    """One party's own rows as the parties agreed: only these ids, in this order, written by the common rule.

    `place` is the party's among all, which tells its own row of a pair.
    """
    wanted = tuple(ids)
    own = replace(table, ids=canonical_ids(table.ids))
    if not any(BEFORE_NUMBER in name for name in wanted):
        return own.select(wanted, advice)
    return own.select([own_row(name, place) for name in wanted], advice, names=wanted)


def remarks_on_ids(table: Table) -> list[str]:
    """What the owner of a file should know about its ids and labels before anybody else hears of them."""
    alike, repeated = look_alikes(table.ids), table.repeated
    used = {"repeat": "all rows are used", "first": "its first row is used", "last": "its last row is used"}
    remarks = [str(alike)] if alike else []
    if table.unlabelled:
        have = "has no label and is" if table.unlabelled == 1 else "have no label and are"
        remarks.append(f"{counted(table.unlabelled, 'row')} {have} left out (--unlabelled)")
    if repeated:
        what = used[table.choices.duplicates]
        remarks.append(f"{counted(repeated, 'row')} beyond the first of an id: {what} (--duplicates)")
    return remarks


def refuse_several_rows_of_one(plan: Plan, duplicates: str, ids: Iterable[str] = ()) -> None:
    """Refuse ids on several rows: a promise about one row says little about somebody who is on several.

    A list may have been aligned under another plan, so the names of pairs count as much as how the table was read.
    """
    if plan.noise == "rows" and (duplicates == "repeat" or any(BEFORE_NUMBER in identity for identity in ids)):
        raise DataError(
            'this list has several rows for one person: noise = "rows" promises something about single rows, not'
            " about somebody who is on several; bring each person's rows into one, then align again"
        )


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
