"""Columns as bins and levels: how many columns they give, and what a row becomes that training never saw."""

from dataclasses import replace
from datetime import date
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import KBinsDiscretizer

from plumbob.arrays import Matrix, Vector
from plumbob.data import Table, store, table_from
from plumbob.data.cuts import cut_points, places_of
from plumbob.data.encoder import ColumnEncoder, FittedColumns, fit_columns, fit_encoder
from plumbob.data.tables import Column, EncodingChoices
from plumbob.plan import Plan

TEN = EncodingChoices(bins=10)
TOWNS = ["Bonn"] * 60 + ["Kiel"] * 35 + ["Ulm"] * 4 + [None]


def a_table(**columns: Any) -> Table:
    """Columns of a hundred rows."""
    return table_from(pa.table(columns))


def fitted(table: Table, choices: EncodingChoices = TEN) -> tuple[ColumnEncoder, ...]:
    """How the table's columns become numbers."""
    return fit_columns(table, choices)


def encoded(own: ColumnEncoder, column: Column) -> Matrix:
    """The rows by encoded columns."""
    numbers = np.empty((len(column.values), own.width))
    own.write(column, numbers)
    return numbers


def test_gaps_have_a_slot_and_the_reference_has_none() -> None:
    """Each row has at most one 1, and the slot with most rows is the one without a column."""
    values: list[float | None] = [*np.linspace(0, 1, 60), *[5.0] * 25, *[None] * 15]
    table = a_table(x=values)
    (own,) = fitted(table)
    X = encoded(own, table.columns[0])
    assert len(own.names) == X.shape[1] == own.count
    slots = X[:, 1:]
    assert slots.sum(axis=1).max() == 1
    assert np.flatnonzero(slots.sum(axis=1) == 0).tolist() == list(range(60, 85))
    assert X[-15:, -1].tolist() == [1.0] * 15
    assert own.names[-1] == "x=(gap)"


def test_levels_with_few_rows_are_grouped() -> None:
    """Fewer than `rare` rows: one slot for all of them; gaps have their own."""
    (own,) = fitted(a_table(town=TOWNS))
    assert own.names == ("town=Kiel", "town=(rare)", "town=(gap)")
    (all_levels,) = fitted(a_table(town=TOWNS), replace(TEN, rare=1))
    assert all_levels.names == ("town=Kiel", "town=Ulm", "town=(gap)")


def test_an_unseen_level_is_a_rare_one() -> None:
    """It is counted, and encoded as the rare ones are; without a slot for them the row is an average one."""
    (own,) = fitted(a_table(town=TOWNS))
    new = Column("town", np.array(["Rome", "Kiel", None], dtype=object))
    assert (own.unseen(new), own.counted_as_rare(new)) == (0, 1)
    assert encoded(own, new).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    (plain,) = fitted(a_table(town=["Bonn"] * 60 + ["Kiel"] * 40))
    assert plain.unseen(new) == 2
    assert encoded(plain, new).tolist() == [[0.4], [1.0], [0.4]]


def test_a_gap_where_training_had_none_is_an_average_row() -> None:
    """A number that is missing at prediction alone moves no score away from the average."""
    (own,) = fitted(a_table(x=np.arange(100.0)))
    new = Column("x", np.array([np.nan, 3.0]))
    assert own.unseen(new) == 1
    assert encoded(own, new)[0, 1:] == pytest.approx([0.1] * 9)


def test_constant_columns_give_no_column() -> None:
    """One value, one level, nothing but gaps: there is nothing to tell apart."""
    table = a_table(x=[1.0] * 100, t=["a"] * 100, gone=pa.array([None] * 100, pa.float64()))
    assert [own.names for own in fitted(table)] == [(), (), ()]


@pytest.mark.parametrize(
    "choices",
    [
        TEN,
        EncodingChoices(is_paid_for=True),
        EncodingChoices(),
    ],
)
def test_the_width_of_the_whole_file_holds_for_any_rows_of_it(choices: EncodingChoices) -> None:
    """Rows that lack a level, a gap or a value change no width: what was proposed is what is trained on."""
    generator = np.random.default_rng(3)
    numbers: list[float | None] = [*np.round(generator.exponential(size=90), 1), *[None] * 10]
    table = a_table(x=numbers, town=TOWNS)
    whole = replace(table, fitted=FittedColumns(fit_columns(table, choices), choices))
    widths = [len(own.names) for own in fitted(whole, choices)]
    for _ in range(20):
        few = whole.take(np.sort(generator.choice(100, 12, replace=False)))
        for own, column, width in zip(fitted(few, choices), few.columns, widths, strict=True):
            assert len(own.names) == encoded(own, column).shape[1] == width
            assert len(set(own.names)) == width


def test_gaps_are_marked_beside_the_number() -> None:
    """A column with gaps gives one more column, and one without gives none; a new gap there is counted."""
    table = a_table(x=[*np.arange(99.0), None], full=np.arange(100.0))
    marked, full = fitted(table, EncodingChoices())
    assert marked.names == ("x", "x=(gap)")
    assert full.names == ("full",)
    assert encoded(marked, table.columns[0])[:, 1].tolist() == [0.0] * 99 + [1.0]
    assert marked.unseen(Column("x", np.array([np.nan, 3.0]))) == 0


def test_a_plain_column_stands_beside_its_bins() -> None:
    """A number also stands as it is, gaps at the mean; two values have bins only."""
    table = a_table(x=[None, *range(99)], flag=[0, 1] * 50)
    plan = Plan.for_columns((1, 1), protocol="clear", bins=4)
    encoder = fit_encoder(table, plan)
    names = [name.partition("=")[0] for name in encoder.names]
    assert [names.count(name) for name in ("x", "flag")] == [1 + 3 + 1, 1]
    assert encoder.names[0] == "x"
    assert encoder.reading.columns == ("x", "flag")
    assert encoder.encode(table)[0, 0] == 0.0
    assert sum(own.width for own in encoder.columns) == len(encoder.names)
    assert encoder.unseen(a_table(x=[None] * 2, flag=[None, 1.0])) == {"flag": 1}


def test_columns_are_restored_as_they_were() -> None:
    """What is stored in a part encodes rows as before, and what no fit could give is refused."""
    table = a_table(x=[*np.arange(99.0), None], town=TOWNS)
    for choices in (TEN, EncodingChoices()):
        for own, column in zip(fitted(table, choices), table.columns, strict=True):
            stored = msgspec.to_builtins(own)
            assert msgspec.convert(stored, ColumnEncoder) == own
            changes: list[dict[str, Any]] = [{"shares": [0.5]}, {"name": 3}, {"surprise": 1}, {"cuts": [2.0, 1.0]}]
            changes += [{"shares": [7.0] * own.count}, {"factor": -1.0}, {"cuts": [float("nan")]}]
            for change in changes:
                with pytest.raises(msgspec.ValidationError):
                    msgspec.convert(stored | change, ColumnEncoder)
            assert encoded(own, column).shape == (100, own.width)


def test_pieces_are_encoded_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is walked through in pieces gives the numbers of one that is encoded at once."""
    table = a_table(x=[*np.arange(99.0), None], town=TOWNS)
    monkeypatch.setattr(store, "ROWS_AT_ONCE", 7)
    for own, column in zip(fitted(table), table.columns, strict=True):
        pieces = [encoded(own, replace(column, values=column.values[piece])) for piece in store.pieces(100)]
        assert np.array_equal(np.vstack(pieces), encoded(own, column), equal_nan=True)


def test_columns_print_nothing_of_the_table() -> None:
    """The repr of a column shows no level and no cut."""
    for own in fitted(a_table(x=np.arange(100.0), town=TOWNS)):
        assert "Kiel" not in repr(own)
        assert "cuts" not in repr(own)


def test_a_day_is_shown_as_a_day() -> None:
    """Bins of days are named by days, the last one of each bin included."""
    days = [date(2026, 1, 1 + place // 4) for place in range(100)]
    (own,) = fitted(a_table(opened=days), EncodingChoices(bins=2))
    assert own.slot_names == ("(-inf, 2026-01-12]", "(2026-01-12, inf)")


def test_bins_agree_with_scikit_learn() -> None:
    """Where all values differ and fill equal bins, both put the same rows into the same bin."""
    values = np.random.default_rng(5).normal(size=1000)
    (own,) = fitted(a_table(x=values))
    theirs = KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    assert own.slots(Column("x", values)).tolist() == theirs.fit_transform(values[:, None])[:, 0].tolist()


# Where numbers are cut into bins.

COLUMNS = arrays(np.float64, st.integers(0, 60), elements=st.floats(-1e9, 1e9) | st.just(np.nan) | st.just(0.0))


@settings(max_examples=40)
@given(COLUMNS, st.integers(2, 12))
def test_cuts_rise_and_every_bin_has_rows(values: Vector, bins: int) -> None:
    """There are at most as many bins as asked for, and each holds a row that the cuts came from."""
    cuts = cut_points(values, bins)
    assert len(cuts) < bins
    assert list(cuts) == sorted(set(cuts))
    present = values[~np.isnan(values)]
    if len(present):
        assert set(places_of(present, cuts)) == set(range(len(cuts) + 1))


@settings(max_examples=40)
@given(COLUMNS, st.integers(2, 12))
def test_the_order_of_rows_changes_no_cut(values: Vector, bins: int) -> None:
    """Cuts depend on how often each value occurs and on nothing else."""
    shuffled = np.random.default_rng(len(values)).permutation(values)
    assert cut_points(values, bins) == cut_points(shuffled, bins)


def test_equal_shares_where_values_allow_it() -> None:
    """A thousand different values in ten bins are a hundred in each."""
    values = np.random.default_rng(1).normal(size=1000)
    assert np.bincount(places_of(values, cut_points(values, 10))).tolist() == [100] * 10


@pytest.mark.parametrize("heavy", [0.0, 5.0, 9.0])
def test_a_value_that_fills_a_bin_alone_keeps_it(heavy: float) -> None:
    """Nine tenths of the rows hold one value: it has its own bin, and others still tell the rest apart."""
    spread = np.linspace(0.5, 8.5, 100)
    values = np.concatenate([np.full(900, heavy), spread])
    cuts = cut_points(values, 10)
    places = places_of(values, cuts)
    assert set(places[:900]).isdisjoint(places[900:])
    assert len(cuts) >= 2 or heavy == 9.0


def test_few_values_are_each_a_bin() -> None:
    """Where there are fewer values than bins, no two share one."""
    values = np.array([3.0, 1.0, 2.0, 1.0, np.nan])
    assert cut_points(values, 10) == (1.5, 2.0)
    assert places_of(values[:4], cut_points(values, 10)).tolist() == [2, 0, 1, 0]


def test_a_cut_is_short() -> None:
    """It is the shortest decimal between its neighbours, not one of a person's cells."""
    assert cut_points(np.array([1234.5678, 1987.4321]), 2) == (1600.0,)
