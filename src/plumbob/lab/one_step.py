"""One step of training in the clear: starting weights, residuals, gradients, updates.

Labels come in as 0/1 and are -1/+1 only here. Rows are samples; the intercept, where there is one, is the last column.
One draw over all columns (section 4) makes starting weights depend on the seed and the columns alone, whatever the
protocol; the intercept is not among them and starts at 0.
"""

from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.errors import DivergenceError, PlanError
from plumbob.model.logistic import uniform_reach
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
