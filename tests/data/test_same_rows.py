"""Bringing tables to common rows, and columns to parties."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.data import split_array, table_from
from plumbob.data.same_rows import align, column_counts
from plumbob.errors import DataError

id_lists = st.lists(st.integers(0, 30), unique=True, max_size=25)


@settings(max_examples=30)
@given(st.tuples(id_lists, id_lists, id_lists))
def test_aligned_rows_are_the_same_people(lists: tuple[list[int], ...]) -> None:
    """Every table keeps exactly the common ids, in one order, each with its own values."""
    tables = [
        table_from(
            pa.table({"id": pa.array(ids, pa.int64()), "x": [float(100 * party + identity) for identity in ids]}), "id"
        )
        for party, ids in enumerate(lists)
    ]
    common = set(lists[0]) & set(lists[1]) & set(lists[2])
    if not common:
        with pytest.raises(DataError, match="no id in common"):
            align(tables)
        return
    aligned = align(tables)
    for party, table in enumerate(aligned):
        assert table.ids == tuple(sorted(map(str, common)))
        assert [value - 100 * party for value in table.columns[0].values] == [int(identity) for identity in table.ids]


def test_ids_that_only_look_alike_are_described() -> None:
    """Where no id is common, a sentence says how each file writes its ids; no id is shown."""
    tables = [table_from(pa.table({"id": ids, "x": [1.0, 2.0]}), "id") for ids in (["007", "011"], ["7", "11"])]
    with pytest.raises(DataError, match=r"2 begin with a 0.*write ids in one way in all files") as caught:
        align(tables)
    assert "007" not in str(caught.value)


def test_labels_follow_their_rows() -> None:
    """Labels move with the ids."""
    bank = table_from(pa.table({"id": [3, 1, 2], "y": [1, 0, 1]}), "id", "y")
    fund = table_from(pa.table({"id": [1, 2, 3, 4], "x": [1.0, 2.0, 3.0, 4.0]}), "id")
    aligned = align([bank, fund])[0]
    assert aligned.labels is not None
    assert list(aligned.labels) == [0, 1, 1]


@pytest.mark.parametrize(
    ("n_columns", "split", "counts"),
    [(23, None, (11, 12)), (1, None, (0, 1)), (5, (0, 5), (0, 5)), (6, (1, 2, 3), (1, 2, 3))],
)
def test_columns_are_counted_from_the_left(
    n_columns: int, split: tuple[int, ...] | None, counts: tuple[int, ...]
) -> None:
    """Without a split the label party has the first d // 2 columns."""
    assert column_counts(n_columns, split) == counts
    X = np.arange(2.0 * n_columns).reshape(2, n_columns)
    tables = split_array(X, [0, 1], split)
    assert tuple(len(table.columns) for table in tables) == counts
    assert np.array_equal(np.column_stack([column.values for table in tables for column in table.columns]), X)
    assert [table.labels is None for table in tables] == [False] + [True] * (len(counts) - 1)


@pytest.mark.parametrize("split", [(4,), (2, 0, 2), (-1, 5), (1, 2)])
def test_a_split_that_does_not_fit_is_refused(split: tuple[int, ...]) -> None:
    """Every party but the first needs a column, and all columns must be given away."""
    with pytest.raises(DataError, match="does not fit 4 columns"):
        column_counts(4, split)


def test_ids_are_compared_by_the_common_rule() -> None:
    """As between organisations: blanks around an id do not count; two ids that are one by the rule are refused."""
    bank = table_from(pa.table({"id": ["p1", "p2"], "x": [1.0, 2.0]}), "id")
    fund = table_from(pa.table({"id": [" p2 ", "p1\t"], "x": [2.0, 1.0]}), "id")
    for table in align([bank, fund]):
        assert table.ids == ("p1", "p2")
        assert list(table.columns[0].values) == [1.0, 2.0]
    with pytest.raises(DataError, match="1 of 2 rows repeat the id of an earlier row"):
        table_from(pa.table({"id": ["p1", "p1 "], "x": [1.0, 2.0]}), "id")
