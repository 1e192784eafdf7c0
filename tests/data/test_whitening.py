"""Whitening: what it does to a party's own columns, and how weights come back from it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.arrays import Matrix
from plumbob.data import build_shard, split_array, table_from
from plumbob.data.encoder import fit_encoder
from plumbob.data.whitening import CLIP, LARGEST, fit_whitening, gamma_for, inverse_root
from plumbob.plan import Plan
from plumbob.protocol.part import ModelPart


def columns(rows: int, width: int, seed: int) -> Matrix:
    """Standardised columns that depend on one another, one of them with outliers."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, width)) @ generator.normal(size=(width, width))
    X[:, 0] = np.exp(2.0 * X[:, 0] / max(1e-9, X[:, 0].std()))
    standardised: Matrix = (X - X.mean(axis=0)) / X.std(axis=0)
    return standardised


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 60), st.integers(1, 12), st.integers(0, 10**6))
def test_the_covariance_is_at_most_the_identity(rows: int, width: int, seed: int) -> None:
    """Whitened columns are centred, and no direction of them has more than one deviation."""
    X = columns(rows, width, seed)
    whitened = fit_whitening([X], width, 0.01).apply(X)
    assert np.abs(whitened.mean(axis=0)).max() < 1e-9
    assert np.linalg.eigvalsh(whitened.T @ whitened / rows).max() <= 1.0 + 1e-9


def test_pieces_make_no_difference() -> None:
    """A table that is read piece by piece is whitened as one that is read at once."""
    X = columns(90, 6, 1)
    whole, cut = fit_whitening([X], 6, 0.01), fit_whitening([X[:20], X[20:71], X[71:]], 6, 0.01)
    np.testing.assert_allclose(cut.matrix, whole.matrix, atol=1e-10)
    np.testing.assert_allclose(cut.centre, whole.centre, atol=1e-12)


def test_the_matrix_is_the_inverse_root() -> None:
    """T (C + gamma I) T is the identity, also where columns repeat one another."""
    covariance = np.cov(np.hstack([columns(50, 3, 2)] * 2), rowvar=False, bias=True)
    root = inverse_root(covariance, 0.01)
    np.testing.assert_allclose(root @ (covariance + 0.01 * np.eye(6)) @ root, np.eye(6), atol=1e-9)


@pytest.mark.parametrize(("l2", "parties", "gamma"), [(0.0, 2, 0.01), (0.01, 2, 0.02), (1.0, 4, 1.0), (0.001, 2, 0.01)])
def test_gamma_grows_with_the_penalty(l2: float, parties: int, gamma: float) -> None:
    """Gamma is at least .01 and at least 4 l2 / p, so that the penalty's curvature stays below p / 4."""
    assert gamma_for(l2, parties) == pytest.approx(gamma)
    matrix = inverse_root(np.zeros((3, 3)), gamma_for(l2, parties))
    assert l2 * np.linalg.norm(matrix @ matrix, 2) <= parties / 4 + 1e-12


def test_weights_come_back_to_the_units_of_the_input() -> None:
    """For rows within five deviations, a part's own scores equal coefficients and offset on the input's columns."""
    X = np.random.default_rng(4).normal(size=(200, 5)) * [1, 10, 0.1, 3, 2] + [5, 0, 1, -2, 7]
    y = np.random.default_rng(5).integers(0, 2, size=200)
    plan = Plan.for_columns((2, 3), protocol="clear", scale="whitened")
    table = split_array(X, y, (2, 3))[1]
    shard = build_shard(table, plan, "features", b"")
    weights = np.array([0.5, -1.0, 2.0])
    part = ModelPart.of(plan.party("features"), shard, weights, None)
    coefficients, offset = part.in_input_units()
    np.testing.assert_allclose(X[:, 2:] @ coefficients + offset, part.encode(table) @ weights, atol=1e-9)
    np.testing.assert_allclose(part.partial_scores(table), part.encode(table) @ weights, atol=1e-9)


def test_new_rows_are_limited_as_in_training() -> None:
    """A new row beyond five deviations scores as one at five, and no whitened entry leaves the lattice's range."""
    X = np.random.default_rng(4).normal(size=(200, 5))
    X[:, 1:] = X[:, :1] + 1e-6 * X[:, 1:]
    plan = Plan.for_columns((0, 5), protocol="clear", scale="whitened")
    shard = build_shard(split_array(X, None, (0, 5))[1], plan, "features", b"")
    part = ModelPart.of(plan.party("features"), shard, np.arange(1.0, 6.0), None)
    low, high = part.input_limits() or (X, X)
    far = np.array([[90.0, -90.0, 90.0, -90.0, 90.0], [0.1, 90.0, 0.1, 0.1, -7.0]])
    table, limited = (split_array(rows, None, (0, 5))[1] for rows in (far, np.clip(far, low, high)))
    np.testing.assert_allclose(part.partial_scores(table), part.partial_scores(limited), atol=1e-9)
    assert np.abs(part.encode(table)).max() <= LARGEST


def test_marks_of_gaps_are_never_clipped() -> None:
    """However rare a gap is, its weight is what it adds, so a scorecard's points are exact."""
    values = np.zeros(4000)
    values[:2], values[2:4] = np.nan, 9.0
    plan = Plan.for_columns((0, 2), protocol="clear", scale="whitened")
    table = table_from(pa.table({"x": values}))
    encoded = fit_encoder(table, plan).encode(table)
    assert np.abs(encoded[:, 1]).max() <= CLIP + 1e-9


def test_outliers_are_clipped_before_they_turn_a_column() -> None:
    """What lies beyond five deviations is trained on as five, so that one row cannot make a column its own."""
    X = np.zeros((400, 1))
    X[0] = 20.0
    whitening = fit_whitening([X], 1, 0.01)
    assert whitening.apply(X)[0, 0] == pytest.approx((CLIP - CLIP / 400) * whitening.matrix[0, 0])
