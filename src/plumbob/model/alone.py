"""What a party can learn from its own columns alone: a logistic regression by Newton's method, with a small penalty.

It is what the joint model is compared with. The penalty is that of scikit-learn's default, half the squared weights
beside the summed loss, so that separable columns and more columns than rows do no harm; the intercept has none.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

MOST_STEPS = 50
SMALL = 1e-8


def fit_alone(X: Matrix, y: ArrayLike, has_intercept: bool) -> Vector:
    """Weights; `y` is 0/1, and with an intercept the last column of X is 1."""
    positive = np.asarray(y, dtype=np.float64)
    penalties = np.ones(X.shape[1])
    penalties[X.shape[1] - has_intercept :] = SMALL
    weights = np.zeros(X.shape[1])
    for _ in range(MOST_STEPS):
        step = _newton_step(X, positive, weights, penalties)
        weights = weights - step
        if np.abs(step).max(initial=0.0) < SMALL:
            break
    return weights


def _newton_step(X: Matrix, positive: Vector, weights: Vector, penalties: Vector) -> Vector:
    probabilities = 0.5 * (1.0 + np.tanh(0.5 * (X @ weights)))
    gradient = (probabilities - positive) @ X + penalties * weights
    curvature = (X * (probabilities * (1.0 - probabilities))[:, None]).T @ X + np.diag(penalties)
    return np.asarray(np.linalg.solve(curvature, gradient), dtype=np.float64)
