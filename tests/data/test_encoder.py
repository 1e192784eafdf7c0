"""Columns become numbers as the plan says, and weights come back in the units that were passed in."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import StandardScaler

from plumbob.data import table_from
from plumbob.data.encoder import Encoder, RareRows, fit_encoder
from plumbob.data.whitening import CLIP
from plumbob.errors import DataError
from plumbob.plan import PAPER, Plan
from plumbob.plan.row_noise import BIN_SCALE


def fitted(columns: dict[str, list[Any]], **keys: Any) -> Encoder:
    """An encoder for these columns under a plan with these keys."""
    table = table_from(pa.table(columns))
    return fit_encoder(table, Plan.for_columns((1, 1), **{**PAPER, "protocol": "clear", **keys}))


def test_standardisation_is_that_of_scikit_learn() -> None:
    """Shift and factor come from the table's rows, and give what scikit-learn's scaler gives."""
    X = np.random.default_rng(0).normal(5.0, 3.0, (40, 3)) * [1.0, 1e-4, 1e6]
    encoder = fit_encoder(table_from(X[:30]), Plan.for_columns((1, 2), protocol="clear"))
    assert np.allclose(encoder.encode(table_from(X)), StandardScaler().fit(X[:30]).transform(X), atol=1e-12)


@settings(max_examples=30)
@given(arrays(np.float64, (8, 3), elements=st.floats(-1e6, 1e6)), arrays(np.float64, 3, elements=st.floats(-5, 5)))
def test_weights_come_back_in_the_units_of_the_input(X: Any, weights: Any) -> None:
    """X @ coefficients + offset is the score that the scaled columns have, constant columns included."""
    encoder = fit_encoder(table_from(X), Plan.for_columns((1, 2), protocol="clear"))
    coefficients, offset = encoder.in_input_units(weights)
    scale = 1 + np.abs(X * coefficients).sum(axis=1) + abs(offset)
    assert np.all(np.abs(X @ coefficients + offset - encoder.encode(table_from(X)) @ weights) < 1e-9 * scale)


@pytest.mark.parametrize("value", [0.1, 0.0, -7e9])
def test_a_constant_column_becomes_zero_and_is_kept(value: float) -> None:
    """Its width stays as planned, and it never counts, also if it varies later."""
    encoder = fitted({"c": [value] * 7, "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]})
    encoded = encoder.encode(table_from(pa.table({"c": [value + 1.0], "x": [4.0]})))
    assert encoded.tolist() == [[0.0, 0.0]]
    assert encoder.in_input_units(np.ones(2))[0][0] == 0.0


def test_without_scaling_numbers_stay() -> None:
    """scale = "none" passes values through."""
    encoder = fitted({"x": [1.0, 5.0], "c": [2.0, 2.0]}, scale="none")
    assert encoder.encode(table_from(pa.table({"x": [7.0], "c": [2.0]}))).tolist() == [[7.0, 2.0]]


def test_missing_values_become_the_training_mean() -> None:
    """A gap stands at the mean of the rows that have a value, beside the column that marks it."""
    encoder = fitted({"x": [1.0, None, 3.0]}, scale="none")
    assert encoder.encode(table_from(pa.table({"x": [None, 5.0]}))).tolist() == [[2.0, 1.0], [5.0, 0.0]]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"x": [1.0, float("inf")]}, "column 'x': 1 of 2 numbers is infinite"),
        ({"x": [1.7e308, -1.7e308]}, "out of range"),
    ],
)
def test_what_cannot_be_calculated_with_is_refused(columns: dict[str, Any], words: str) -> None:
    """Infinity is refused by column and count."""
    with pytest.raises(DataError, match=words):
        fitted(columns).encode(table_from(pa.table(columns)))


@pytest.mark.parametrize("bins", [0, 4])
def test_a_column_without_any_value_gives_no_column(bins: int) -> None:
    """It says nothing; a value that it has later counts for nothing, either."""
    encoder = fitted({"x": [None, None, None], "z": [1.0, 2.0, 3.0]}, bins=bins)
    assert encoder.names == fitted({"z": [1.0, 2.0, 3.0]}, bins=bins).names
    assert len(encoder.encode(table_from(pa.table({"x": [7.0], "z": [2.0]})))[0]) == len(encoder.names)


@pytest.mark.parametrize("bins", [0, 4])
def test_noise_refuses_a_column_without_any_value(bins: int) -> None:
    """Left out, its absence would tell exactly that nobody has a value."""
    with pytest.raises(DataError, match="without any value in 2 rows: 'x'; leave them out with --drop"):
        fit_encoder(
            table_from(pa.table({"x": pa.array([None, None], pa.float64()), "z": [1.0, 2.0]})),
            Plan.for_columns((1, 1), noise="rows", bins=bins),
        )


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"x": [1.0], "city": [3]}, "'city' holds numbers here and held text in training"),
        ({"x": ["s3cret"], "city": ["a"]}, "'x' holds text here and held numbers in training"),
        ({"x": [1.0]}, "1 of 2 columns of the model are missing here: 'city'"),
        ({"x": [float("inf")], "city": ["a"]}, "infinite or too large, the first in row 1; correct them"),
    ],
)
def test_new_rows_must_look_like_training_rows(columns: dict[str, Any], words: str) -> None:
    """At prediction another kind of column, a missing one or infinity is refused."""
    encoder = fitted({"x": [1.0, 2.0], "city": ["a", "b"]})
    with pytest.raises(DataError, match=words) as refusal:
        encoder.encode(table_from(pa.table(columns)))
    assert "s3cret" not in str(refusal.value)


def test_columns_are_found_by_name() -> None:
    """The order of a later file does not matter, and columns that training did not have are ignored."""
    encoder = fitted({"x": [1.0, 2.0], "z": [5.0, 9.0]}, scale="none")
    table = table_from(pa.table({"other": ["a"], "z": [9.0], "x": [1.0]}))
    assert encoder.encode(table).tolist() == [[1.0, 9.0]]


def test_unseen_levels_are_counted_by_column() -> None:
    """A plan with bins takes a level that training never saw, and says in which column and how often."""
    town = ["Bonn"] * 40 + ["Kiel"] * 42
    encoder = fitted({"x": [float(row) for row in range(82)], "town": town}, bins=4)
    new = table_from(pa.table({"x": [1.0, None], "town": ["Rome", "Kiel"]}))
    assert encoder.unseen(new) == {"x": 1, "town": 1}
    assert np.isfinite(encoder.encode(new)).all()
    with pytest.raises(DataError, match=r"'x' \(1\), 'town' \(1\)") as refusal:
        encoder.refuse_unseen(new)
    assert "Rome" not in str(refusal.value)


def test_a_level_that_training_grouped_counts_as_seen() -> None:
    """The training rows themselves are never refused, and rows of the rare group are counted apart."""
    town = ["Bonn"] * 40 + ["Kiel"] * 40 + ["Ulm"] * 2
    encoder = fitted({"town": town}, bins=4)
    trained_on = table_from(pa.table({"town": town}))
    assert encoder.unseen(trained_on) == {}
    assert encoder.counted_as_rare(trained_on) == {"town": RareRows(rows=2, kept=2)}
    encoder.refuse_unseen(table_from(pa.table({"town": ["Ulm", "Rome"]})))
    gaps = table_from(pa.table({"town": ["Ulm", None]}))
    assert encoder.unseen(gaps) == {"town": 1}
    assert encoder.counted_as_rare(gaps) == {"town": RareRows(rows=1, kept=2)}


def test_slots_are_scaled_like_any_column() -> None:
    """Means and deviations that come from counts are those of the encoded columns."""
    columns: dict[str, list[Any]] = {"x": [1.0, 5.0, 5.0, None, 7.0, 9.0], "t": ["a", "b", "b", "b", None, "a"]}
    encoder = fitted(columns, bins=3, rare=1, scale="standard")
    encoded = encoder.encode(table_from(pa.table(columns)))
    assert np.allclose(encoded.mean(axis=0), 0)
    # A bin beside its number is made smaller; a gap and a level are not.
    assert np.allclose(encoded.std(axis=0), [1.0, BIN_SCALE, BIN_SCALE, 1.0, 1.0, 1.0])


def test_a_rare_slot_stays_within_what_whitening_keeps() -> None:
    """Nothing of it is clipped in training, so that it counts as much at prediction."""
    town = ["Bonn"] * 995 + ["Kiel"] * 5
    encoder = fitted({"town": town}, bins=2, rare=1, scale="standard")
    encoded = encoder.encode(table_from(pa.table({"town": ["Kiel", "Bonn"]})))
    assert np.abs(encoded).max() <= CLIP
    assert encoded[0, 0] - encoded[1, 0] > 4
