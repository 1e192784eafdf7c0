"""What a party calculates alone: its labels as signs, its rows' weights, and the model that its own columns would give.

Labels come in as 0/1. The steps of a training in the clear are the lab's (`lab.one_step`).
"""

import numpy as np
from numpy.typing import ArrayLike

from plumbob.arrays import Matrix, Vector


def uniform_reach(start: str, n_columns: int) -> float:
    """The largest weight of the two uniform starts: sqrt(6 / (d + 1)) for xavier, sqrt(6 / d) for kaiming."""
    return float(np.sqrt(6.0 / (n_columns + (start == "xavier"))))


WEIGHT_BITS = 20  # Fraction bits of a row's weight.


def signs_of(y: ArrayLike) -> Vector:
    """Labels 0/1 as -1/+1."""
    return 2.0 * np.asarray(y, dtype=np.float64) - 1.0


def class_weights(y: ArrayLike) -> Vector:
    """A factor for each row's residual that gives both classes the same weight: n / (2 * rows of its class)."""
    labels = np.asarray(y, dtype=np.intp)
    return (len(labels) / (2.0 * np.bincount(labels, minlength=2)))[labels]


def bounded_class_weights(y: ArrayLike) -> Vector:
    """Class weights divided by the larger one: no row weighs more than 1, and the public rate holds as it is."""
    weights = class_weights(y)
    return rounded_weights(weights / weights.max())


def rounded_weights(weights: Vector) -> Vector:
    """Weights rounded as they are used on shares."""
    rounded: Vector = np.rint(weights * 2**WEIGHT_BITS) / 2**WEIGHT_BITS
    return rounded


MOST_STEPS = 50
SMALLEST_STEP = 1e-8
LEAST_CURVATURE = 1e-9  # Keeps directions in which nothing varies where they are.


def fit_logistic(X: Matrix, y: ArrayLike, penalty: Matrix, row_weights: Vector | None = None) -> Vector:
    """Weights that minimise mean log loss, each row's times its weight, + w' penalty w / 2; labels in 0/1."""
    labels = np.asarray(y, dtype=np.float64)
    counts = np.ones(len(X)) if row_weights is None else row_weights
    weights = np.zeros(X.shape[1])
    for _ in range(MOST_STEPS):
        step = _step(X, labels, counts, weights, penalty)
        weights = _halve_until_better(X, labels, counts, weights, step, penalty)
        if np.abs(step).max(initial=0.0) < SMALLEST_STEP:
            break
    return weights


def _step(X: Matrix, labels: Vector, counts: Vector, weights: Vector, penalty: Matrix) -> Vector:
    probabilities = 0.5 * (1.0 + np.tanh(0.5 * (X @ weights)))
    gradient = X.T @ (counts * (probabilities - labels)) / len(X) + penalty @ weights
    curvature: Matrix = (X.T * (counts * probabilities * (1.0 - probabilities))) @ X / len(X) + penalty
    return -np.linalg.solve(curvature + LEAST_CURVATURE * np.eye(len(weights)), gradient).astype(np.float64)


def _halve_until_better(
    X: Matrix, labels: Vector, counts: Vector, weights: Vector, step: Vector, penalty: Matrix
) -> Vector:
    """The step halved until the loss falls: far from the solution a whole step may overshoot."""
    before = _loss(X, labels, counts, weights, penalty)
    for halvings in range(20):
        further: Vector = weights + step * 0.5**halvings
        if _loss(X, labels, counts, further, penalty) <= before:
            return further
    return weights


def _loss(X: Matrix, labels: Vector, counts: Vector, weights: Vector, penalty: Matrix) -> float:
    scores = X @ weights
    losses = counts * (np.logaddexp(0.0, scores) - labels * scores)
    return float(np.mean(losses) + 0.5 * weights @ penalty @ weights)
