"""One step of training: starting weights, residuals, gradients, updates, and the parts that one party computes alone.

Labels come in as 0/1 and are -1/+1 only here. Rows are samples; the intercept, where there is one, is the last column.
One draw over all columns (section 4) makes starting weights depend on the seed and the columns alone, whatever the
protocol; the intercept is not among them and starts at 0. `fit_logistic` is what a party could do alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from plumbob.arrays import Matrix, Vector
from plumbob.errors import DivergenceError, PlanError
from plumbob.plan.sigmoids import Sigmoid


def starting_weights(start: str, n_columns: int, generator: np.random.Generator) -> Vector:
    """Weights for `n_columns` columns: zero, xavier, kaiming, small (Laplace / sqrt(d)) or normal."""
    match start:
        case "zero":
            return np.zeros(n_columns)
        case "xavier" | "kaiming":
            reach = uniform_reach(start, n_columns)
            return generator.uniform(-reach, reach, n_columns)
        case "small":
            return generator.laplace(scale=1.0 / np.sqrt(n_columns), size=n_columns)
        case "normal":
            return generator.standard_normal(n_columns)
    raise PlanError(f"unknown start {start!r}")


def uniform_reach(start: str, n_columns: int) -> float:
    """The largest weight of the two uniform starts: sqrt(6 / (d + 1)) for xavier, sqrt(6 / d) for kaiming."""
    return float(np.sqrt(6.0 / (n_columns + (start == "xavier"))))


ROWS_AT_ONCE = 1 << 16
WEIGHT_BITS = 20  # Fraction bits of a row's weight.


def signs_of(y: ArrayLike) -> Vector:
    """Labels 0/1 as -1/+1."""
    return 2.0 * np.asarray(y, dtype=np.float64) - 1.0


def partial_residuals(scores: Vector, signs: Vector | None = None) -> Vector:
    """One party's part of Taylor's residuals (the paper's SV): own scores, minus 2y at the label party."""
    return scores if signs is None else scores - 2.0 * signs


def residual_sums(X: Matrix, own_residuals: Vector, helper_sums: Vector | float = 0.0) -> Vector:
    """The paper's G: own part of the residuals times own columns, plus what the helpers' parts add."""
    sums: Vector = own_residuals @ X + helper_sums
    return sums


def gradient(sums: Vector, rows: int, sigmoid: Sigmoid) -> Vector:
    """The party's own gradient: the mean of those sums over the batch's rows, times 1/4 for Taylor's curve."""
    return sums * (sigmoid.gradient_scale / rows)


def penalties(l2: float, n_columns: int, has_intercept: bool) -> Vector:
    """The L2 factor of each own column (`n_columns` counts the intercept's, which is not penalised)."""
    factors = np.full(n_columns, l2)
    if has_intercept:
        factors[-1] = 0.0
    return factors


@dataclass(frozen=True, repr=False, eq=False)
class Descent:
    """A party's weights, and what momentum carries over to the next step."""

    weights: Vector
    velocity: Vector

    @classmethod
    def from_start(cls, weights: Vector) -> "Descent":
        return cls(weights, np.zeros_like(weights))

    def after(self, gradient: Vector, learning_rate: float, momentum: float, penalties: "Vector | Matrix") -> "Descent":
        """The state after one step; without momentum, plain gradient descent."""
        velocity = momentum * self.velocity + penalised(gradient, self.weights, penalties)
        return Descent(self.weights - learning_rate * velocity, velocity)


def updated(weights: Vector, gradient: Vector, learning_rate: float, penalties: Vector | Matrix) -> Vector:
    """The weights after one step."""
    return weights - learning_rate * penalised(gradient, weights, penalties)


def penalised(gradient: Vector, weights: Vector, penalties: Vector | Matrix) -> Vector:
    """The gradient with the penalty's: a factor for each weight, or a matrix where columns were whitened."""
    pull: Vector = penalties * weights if penalties.ndim == 1 else penalties @ weights
    return gradient + pull


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


def stop_if_diverging(scores: Vector, gradient: Vector, sigmoid: Sigmoid, step: int) -> None:
    """Raise when own scores leave the range in which the approximation can still converge, or nothing is finite.

    Nobody sees the joint score in an encrypted run, so each party watches its own part.
    """
    largest = float(np.max(np.abs(scores), initial=0.0))
    is_finite = np.isfinite(largest) and np.isfinite(gradient).all()
    if is_finite and largest <= sigmoid.score_limit:
        return
    seen = "one beyond it" if is_finite else "a value that is not finite"
    raise DivergenceError(
        f"training diverges at step {step}: expected own scores within {sigmoid.score_limit:.4g} for {sigmoid.name},"
        f' got {seen}; lower learning_rate, set scale = "standard" or row_norm = 1'
    )


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
