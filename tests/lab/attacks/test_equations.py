"""Sums as equations: solved by rank, as far as rounding lets them."""

import numpy as np
import pytest

from plumbob.lab.attacks import equations
from tests.lab.attacks.support import gaussian, seen
from tests.protocol.support import plan_for


def test_as_many_rows_as_columns_are_determined() -> None:
    """Where the rank is the number of rows, every residual comes out exactly and counts as determined."""
    X = np.random.default_rng(1).normal(size=(6, 8))
    residuals = np.arange(6.0)
    solution = equations.solve(X, residuals @ X, 1e-13)
    np.testing.assert_allclose(solution.values, residuals, atol=1e-9)
    assert solution.is_determined.all()
    assert solution.rank == 6


def test_rank_and_not_the_number_of_columns_decides() -> None:
    """Two equal rows leave each other open and no third row, however many columns there are."""
    X = np.random.default_rng(1).normal(size=(5, 9))
    X[3] = X[1]
    solution = equations.solve(X, np.array([1.0, 2.0, 3.0, -2.0, 5.0]) @ X, 1e-13)
    assert solution.rank == 4
    assert solution.is_determined.tolist() == [True, False, True, False, True]
    np.testing.assert_allclose(solution.left_open, [0, 0.5, 0, 0.5, 0], atol=1e-5)


def test_what_rounding_drowns_is_left_open() -> None:
    """A direction that is smaller than the rounding of the sums is not solved for, and its rows are not determined."""
    X = np.eye(3)
    X[2, 2] = 1e-6
    rounded = np.array([1.0, -2.0, 2e-6 + 1e-4])
    solution = equations.solve(X, rounded, 1e-4)
    assert solution.is_determined.tolist() == [True, True, False]
    assert abs(solution.values[2]) < 0.1


def test_columns_of_zeros_say_nothing() -> None:
    """A batch that is 0 in all own columns is solved as 0 and wholly open."""
    solution = equations.solve(np.zeros((4, 3)), np.zeros(3), 1e-13)
    assert not solution.values.any()
    assert (solution.left_open == 1).all()


def test_fixed_batches_give_what_fresh_ones_give() -> None:
    """Taking a repeated batch apart once changes no solution."""
    view, _ = seen(plan_for((3, 6), protocol="clear", batches="fixed", batch_size=5), gaussian(40, 9))
    for (batch, X, scores, sums), (_, own_scores, solution) in zip(
        view.steps(), equations.solved_steps(view), strict=True
    ):
        alone = equations.solve(X, sums, equations.sum_error(view, X))
        np.testing.assert_array_equal(solution.values, alone.values)
        np.testing.assert_array_equal(own_scores, scores)
        assert len(batch) == len(solution.values)


def test_flipped_labels_weigh_more() -> None:
    """Randomised response divides labels by 1 - 2q, and an attacker who reads the plan knows it."""
    view, _ = seen(plan_for((2, 2), protocol="clear", batch_size=4), gaussian(20, 4))
    assert equations.label_weight(view) == 2.0
    plan = view.plan.replace(label_flip_epsilon=np.log(3.0))
    flipped = type(view)(view.party, plan, view.X, None, view.seed, view.start, view.sums, view.weights)
    assert equations.label_weight(flipped) == pytest.approx(4.0)
