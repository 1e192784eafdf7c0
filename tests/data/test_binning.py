"""Where numbers are cut into bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plumbob.arrays import Vector
from plumbob.data.encoding import places_of
from plumbob.data.fitting import cut_points

COLUMNS = arrays(np.float64, st.integers(0, 60), elements=st.floats(-1e9, 1e9) | st.just(np.nan) | st.just(0.0))


@given(COLUMNS, st.integers(2, 12))
def test_cuts_rise_and_every_bin_has_rows(values: Vector, bins: int) -> None:
    """There are at most as many bins as asked for, and each holds a row that the cuts came from."""
    cuts = cut_points(values, bins)
    assert len(cuts) < bins
    assert list(cuts) == sorted(set(cuts))
    present = values[~np.isnan(values)]
    if len(present):
        assert set(places_of(present, cuts)) == set(range(len(cuts) + 1))


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
