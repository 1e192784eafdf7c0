"""Logistic regression on one party's own columns, by Newton's method: what it could do alone, fitted at home."""

import numpy as np
from numpy.typing import ArrayLike

from plumbob.arrays import Matrix, Vector

MOST_STEPS = 50
SMALLEST_STEP = 1e-8
LEAST_CURVATURE = 1e-9  # Keeps directions in which nothing varies where they are.


def fit_logistic(X: Matrix, y: ArrayLike, penalty: Matrix) -> Vector:
    """Weights that minimise mean log loss + w' penalty w / 2; labels in 0/1."""
    labels = np.asarray(y, dtype=np.float64)
    weights = np.zeros(X.shape[1])
    for _ in range(MOST_STEPS):
        step = _step(X, labels, weights, penalty)
        weights = _halve_until_better(X, labels, weights, step, penalty)
        if np.abs(step).max(initial=0.0) < SMALLEST_STEP:
            break
    return weights


def _step(X: Matrix, labels: Vector, weights: Vector, penalty: Matrix) -> Vector:
    probabilities = 0.5 * (1.0 + np.tanh(0.5 * (X @ weights)))
    gradient = X.T @ (probabilities - labels) / len(X) + penalty @ weights
    curvature: Matrix = (X.T * (probabilities * (1.0 - probabilities))) @ X / len(X) + penalty
    return -np.linalg.solve(curvature + LEAST_CURVATURE * np.eye(len(weights)), gradient).astype(np.float64)


def _halve_until_better(X: Matrix, labels: Vector, weights: Vector, step: Vector, penalty: Matrix) -> Vector:
    """Halved until the loss falls: far from the solution a whole step may overshoot."""
    before = _loss(X, labels, weights, penalty)
    for halvings in range(20):
        further: Vector = weights + step * 0.5**halvings
        if _loss(X, labels, further, penalty) <= before:
            return further
    return weights


def _loss(X: Matrix, labels: Vector, weights: Vector, penalty: Matrix) -> float:
    scores = X @ weights
    return float(np.mean(np.logaddexp(0.0, scores) - labels * scores) + 0.5 * weights @ penalty @ weights)
