"""Theorem 3.6: a rotation of the peer's columns changes nothing that the label party sees."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ortho_group

from plumbob.arrays import Matrix
from plumbob.lab import one_step
from plumbob.model import logistic
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS
from tests.lab.attacks.support import gaussian
from tests.protocol.support import trained


@pytest.mark.parametrize("sigmoid", ["taylor", "minimax", "piecewise", "exact"])
def test_a_rotation_leaves_the_transcript_unchanged(sigmoid: str) -> None:
    """From zero weights the label party's sums and weights are the same to the rounding of the features."""
    X, y = gaussian(200, 7)
    plan = Plan.for_columns(
        (3, 4), protocol="clear", seed=5, scale="none", feature_bits=40, sigmoid=sigmoid, epochs=4, batch_size=16
    )
    turned = X.copy()
    turned[:, 3:] = X[:, 3:] @ ortho_group.rvs(4, random_state=1)
    before, after = (trained(plan, (data, y)).transcripts for data in (X, turned))
    assert np.abs(before["label"].sums - after["label"].sums).max() < 1e-8
    assert np.abs(before["label"].weights - after["label"].weights).max() < 1e-8
    assert np.abs(before["features"].X - after["features"].X).max() > 0.5


def test_a_random_start_is_turned_along() -> None:
    """With any start that the label party does not know, rows and weights turn together and residuals stay."""
    X, y = gaussian(120, 6)
    rotation = np.eye(6)
    rotation[2:, 2:] = ortho_group.rvs(4, random_state=2)
    start = np.random.default_rng(3).normal(size=6)
    difference = _residuals(X, y, start) - _residuals(X @ rotation, y, start @ rotation)
    assert np.abs(difference).max() < 1e-12


def _residuals(X: Matrix, y: NDArray[np.int64], weights: Matrix) -> Matrix:
    """Every residual of thirty steps over batches of ten rows."""
    taylor, signs, found = SIGMOIDS["taylor"], logistic.signs_of(y), []
    for step in range(30):
        rows = np.arange(10) + 10 * (step % (len(X) // 10))
        residuals = taylor.residuals(X[rows] @ weights, signs[rows])
        found.append(residuals)
        weights = weights - 0.1 * one_step.gradient(one_step.residual_sums(X[rows], residuals), len(X[rows]), taylor)
    return np.array(found)
