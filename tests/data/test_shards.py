"""Shards: held-out rows, clipping, rounding, the intercept's column and the labels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from plumbob.data import Shard, build_shard, split_array, store
from plumbob.data.shards import clipped, held_out_rows, rounded
from plumbob.errors import DataError
from plumbob.plan import PAPER, Plan

KEY = b"agreed"
X = np.random.default_rng(1).normal(size=(50, 5)) * 10
Y = np.arange(50) % 2


def shards(split: tuple[int, ...] = (2, 3), **keys: Any) -> list[Shard]:
    """Both parties' shards of the same 50 rows."""
    plan = Plan.for_columns(split, **{**PAPER, "protocol": "clear", **keys})
    tables = split_array(X, Y, split)
    return [build_shard(table, plan, party.name, KEY) for table, party in zip(tables, plan.parties, strict=True)]


@settings(max_examples=40)
@given(st.lists(st.text(max_size=5), unique=True, min_size=1, max_size=40), st.floats(0, 0.99), st.binary(max_size=99))
def test_held_out_rows_depend_on_the_ids_alone(ids: list[str], share: float, key: bytes) -> None:
    """Another order of the same ids holds out the same people, exactly as many as planned, and all rows are used."""
    count = round(len(ids) * share)
    training, held_out = held_out_rows(ids, count, key)
    assert len(held_out) == count
    assert sorted([*training, *held_out]) == list(range(len(ids)))
    backwards = ids[::-1]
    again = held_out_rows(backwards, count, key)[1]
    assert {ids[row] for row in held_out} == {backwards[row] for row in again}


def test_another_key_holds_out_others() -> None:
    """The choice is keyed: nobody outside the run can tell who is held out."""
    ids = [str(number) for number in range(1000)]
    first, second = (set(held_out_rows(ids, 200, key)[1]) for key in (b"a", b"b"))
    assert 10 < len(first & second) < 80


def test_held_out_rows_are_the_same_at_every_party() -> None:
    """Every party trains on the same people and tests on the same others."""
    label, features = shards(test_share=0.3, scale="none", intercept=False)
    training, held_out = held_out_rows([str(row) for row in range(50)], 15, KEY)
    assert np.allclose(np.hstack([label.X, features.X]), X[training], atol=2**-16)
    assert np.array_equal(np.hstack([label.X_test, features.X_test]), X[held_out])
    assert label.y is not None
    assert label.y_test is not None
    assert list(label.y) == list(Y[training])
    assert list(label.y_test) == list(Y[held_out])


def test_only_the_label_party_has_labels_and_the_intercept() -> None:
    """The constant column is the label party's last, exactly 1, whatever is scaled or clipped."""
    label, features = shards(row_norm=0.5, test_share=0.2)
    assert (label.X.shape, features.X.shape) == ((40, 3), (40, 3))
    assert np.all(label.X[:, -1] == 1.0)
    assert np.all(label.X_test[:, -1] == 1.0)
    assert (label.has_intercept, features.has_intercept) == (True, False)
    assert features.y is None
    assert features.y_test is None


def test_a_label_party_without_columns_keeps_the_intercept() -> None:
    """d_A = 0 is allowed: its matrix is the constant column alone, or empty."""
    assert shards((0, 5), row_norm=1.0)[0].X.shape == (50, 1)
    assert shards((0, 5), intercept=False)[0].X.shape == (50, 0)


def test_standardised_rows_have_mean_0_and_deviation_1() -> None:
    """Scaling is fitted on all of a party's rows, before anybody knows which are held out, and without a label."""
    label, _ = shards(test_share=0.3, intercept=False)
    rows = np.vstack([label.X, label.X_test])
    assert np.allclose(rows.mean(axis=0), 0, atol=1e-4)
    assert np.allclose(rows.std(axis=0), 1, atol=1e-4)


@given(arrays(np.float64, (6, 7), elements=st.floats(-1e3, 1e3)), st.integers(1, 6), st.floats(0.01, 100))
def test_clipping_bounds_the_joint_norm_without_a_message(rows: Any, own: int, norm: float) -> None:
    """Parts clipped apart make rows of at most the joint norm; a part within its share is left as it is."""
    parts = rows[:, :own], rows[:, own:]
    joint = np.hstack([clipped(part, norm, 7) for part in parts])
    assert np.all(np.linalg.norm(joint, axis=1) <= norm * (1 + 1e-12))
    for part in parts:
        share = norm * np.sqrt(part.shape[1] / 7)
        lengths = np.linalg.norm(part, axis=1)
        expected = part * np.array([min(1.0, share / length) if length else 1.0 for length in lengths])[:, None]
        assert np.allclose(clipped(part, norm, 7), expected, rtol=1e-12)


def test_clipping_is_for_training_only() -> None:
    """Held-out rows keep their length."""
    _, features = shards(row_norm=0.1, test_share=0.5)
    assert np.linalg.norm(features.X, axis=1).max() < 0.11
    assert np.linalg.norm(features.X_test, axis=1).max() > 1


@given(arrays(np.float64, 5, elements=st.floats(-1e6, 1e6)), st.integers(1, 24))
def test_rounding_is_to_the_nearest_multiple(values: Any, bits: int) -> None:
    """Rounded features are whole multiples of 2^-bits, at most half a unit away."""
    found = rounded(values[None, :], bits)[0]
    assert np.all(found * 2.0**bits == np.rint(found * 2.0**bits))
    assert np.all(np.abs(found - values) <= 2.0 ** -(bits + 1))


def test_a_shard_prints_no_data() -> None:
    """The repr holds counts only."""
    assert repr(shards(test_share=0.2)[1]) == "Shard(40 training rows, 10 held out, 3 columns)"


def test_wrong_tables_are_refused() -> None:
    """Another width than planned, no labels, or one class among the training rows."""
    tables = split_array(X, Y, (2, 3))
    plan = Plan.for_columns((2, 4), protocol="clear")
    with pytest.raises(DataError, match="the plan says 4 columns, this table gives 3"):
        build_shard(tables[1], plan, "features", KEY)
    with pytest.raises(DataError, match="no label column"):
        build_shard(split_array(X, None, (2, 3))[0], plan, "label", KEY)
    # All positives are held out, and nobody may say who they are.
    rare = np.zeros(50)
    rare[held_out_rows(tables[0].ids, 10, KEY)[1]] = 1
    with pytest.raises(DataError, match="in 40 training rows, got 1"):
        build_shard(split_array(X, rare, (2, 3))[0], plan.replace(test_share=0.2), "label", KEY)


@pytest.mark.parametrize("keys", [{}, {"test_share": 0.3, "row_norm": 1.0}, {"scale": "none"}])
def test_rows_in_pieces_and_in_files_are_the_same(monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]) -> None:
    """Bit for bit: what is scaled, clipped and rounded some rows at a time, into a file, is what it is at once."""
    at_once = shards(**keys)
    monkeypatch.setattr(store, "MAPPED_FROM", 1)
    monkeypatch.setattr(store, "ROWS_AT_ONCE", 7)
    for ours, theirs in zip(shards(**keys), at_once, strict=True):
        assert np.array_equal(ours.X, theirs.X)
        assert np.array_equal(ours.X_test, theirs.X_test)
        assert ours.X.base is not None


def test_whitened_rows_in_pieces_are_the_same_but_for_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over pieces round otherwise than sums at once, and nothing else differs."""
    at_once = shards(scale="whitened", test_share=0.3)
    monkeypatch.setattr(store, "ROWS_AT_ONCE", 7)
    for ours, theirs in zip(shards(scale="whitened", test_share=0.3), at_once, strict=True):
        assert np.abs(ours.X - theirs.X).max() <= 2.0**-16
        assert np.allclose(ours.X_test, theirs.X_test, rtol=0, atol=1e-12)
