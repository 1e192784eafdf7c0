"""One step of training against numerical differentiation, scikit-learn and the joint formula."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_sample_weight

from plumbob.errors import DivergenceError, PlanError
from plumbob.lab import one_step
from plumbob.lab.one_step import starting_weights
from plumbob.model import logistic
from plumbob.plan.sigmoids import SIGMOIDS

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(30, 4))
Y = (RANDOM.random(30) < 0.5).astype(np.int8)
SIGNS = logistic.signs_of(Y)


def slopes(loss: Any, weights: Any) -> Any:
    """Central differences of a loss."""
    step = 1e-6
    return [(loss(weights + step * axis) - loss(weights - step * axis)) / (2 * step) for axis in np.eye(len(weights))]


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("taylor", lambda w: np.mean((X @ w - 2 * SIGNS) ** 2) / 8),
        ("exact", lambda w: np.mean(np.log1p(np.exp(-SIGNS * (X @ w))))),
        ("minimax", lambda w: np.mean(-0.001 * (X @ w) ** 4 + 0.0985 * (X @ w) ** 2 - 0.5 * SIGNS * (X @ w))),
    ],
)
def test_gradients_are_the_slopes_of_their_loss(name: str, loss: Any) -> None:
    """Residuals, scale and mean together are the derivative of the loss that each approximation stands for."""
    weights = np.array([0.3, -0.2, 0.5, 0.1])
    residuals = SIGMOIDS[name].residuals(X @ weights, SIGNS)
    assert np.allclose(
        one_step.gradient(one_step.residual_sums(X, residuals), len(X), SIGMOIDS[name]),
        slopes(loss, weights),
        atol=1e-8,
    )


def test_parts_of_the_parties_make_the_joint_gradient() -> None:
    """Own residuals at home and the helper's sums give each party its part of the joint Taylor gradient."""
    weights = np.array([0.3, -0.2, 0.5, 0.1])
    joint = one_step.gradient(
        one_step.residual_sums(X, SIGMOIDS["taylor"].residuals(X @ weights, SIGNS)), len(X), SIGMOIDS["taylor"]
    )
    XA, XB = X[:, :1], X[:, 1:]
    own_A = one_step.partial_residuals(XA @ weights[:1], SIGNS)
    own_B = one_step.partial_residuals(XB @ weights[1:])
    part_A = one_step.gradient(one_step.residual_sums(XA, own_A, own_B @ XA), len(XA), SIGMOIDS["taylor"])
    part_B = one_step.gradient(one_step.residual_sums(XB, own_B, own_A @ XB), len(XB), SIGMOIDS["taylor"])
    assert np.allclose(np.concatenate([part_A, part_B]), joint, atol=1e-12)


def test_training_reaches_the_regularised_optimum() -> None:
    """Many exact steps with L2 and an unpenalised intercept end where scikit-learn ends."""
    ones = np.hstack([X, np.ones((30, 1))])
    weights = np.zeros(5)
    penalties = one_step.penalties(0.1, 5, has_intercept=True)
    for _ in range(4000):
        residuals = SIGMOIDS["exact"].residuals(ones @ weights, SIGNS)
        slope = one_step.gradient(one_step.residual_sums(ones, residuals), len(ones), SIGMOIDS["exact"])
        weights = one_step.updated(weights, slope, 0.5, penalties)
    reference = LogisticRegression(C=1 / (0.1 * 30), tol=1e-12, max_iter=10_000).fit(X, Y)
    assert np.allclose(weights, [*reference.coef_[0], reference.intercept_[0]], atol=1e-6)


def test_a_step_is_the_documented_one() -> None:
    """weights -= rate * (gradient + l2 * weights), the intercept not penalised, the old weights untouched."""
    weights = np.array([1.0, 2.0])
    new = one_step.updated(weights, np.array([10.0, 20.0]), 0.1, one_step.penalties(0.5, 2, has_intercept=True))
    assert np.allclose(new, [1 - 0.1 * (10 + 0.5), 2 - 0.1 * 20])
    assert weights.tolist() == [1.0, 2.0]
    assert one_step.penalties(0.5, 2, has_intercept=False).tolist() == [0.5, 0.5]


def test_class_weights_are_those_of_scikit_learn() -> None:
    """Balanced weights give both classes the same total."""
    y = np.array([0, 0, 0, 1, 0, 1])
    assert np.allclose(logistic.class_weights(y), compute_sample_weight("balanced", y))


@pytest.mark.parametrize(
    ("name", "values", "slope"),
    [
        ("taylor", [2000.0], [0.0]),
        ("minimax", [7.1], [0.0]),
        ("taylor", [float("nan")], [0.0]),
        ("exact", [float("inf")], [0.0]),
        ("exact", [0.0], [float("inf")]),
    ],
)
def test_a_diverging_run_is_stopped(name: str, values: list[float], slope: list[float]) -> None:
    """The error names the step, the range and what to change."""
    with pytest.raises(DivergenceError, match=r"step 9.*learning_rate"):
        one_step.stop_if_diverging(np.array(values), np.array(slope), SIGMOIDS[name], 9)


def watched_run(rate: float) -> None:
    """Take 200 Taylor steps under the guard."""
    weights = np.zeros(4)
    for step in range(1, 201):
        values = X @ weights
        slope = one_step.gradient(
            one_step.residual_sums(X, SIGMOIDS["taylor"].residuals(values, SIGNS)), len(X), SIGMOIDS["taylor"]
        )
        one_step.stop_if_diverging(values, slope, SIGMOIDS["taylor"], step)
        weights = one_step.updated(weights, slope, rate, np.zeros(4))


def test_a_run_that_will_diverge_is_noticed() -> None:
    """Taylor with a rate that is too large runs away and is stopped; with a smaller one it is left alone."""
    watched_run(1.0)
    with pytest.raises(DivergenceError):
        watched_run(20.0)


def test_a_healthy_run_is_left_alone() -> None:
    """Finite gradients and scores within the limit pass, also for a party without columns."""
    one_step.stop_if_diverging(np.array([6.9]), np.zeros(0), SIGMOIDS["minimax"], 1)
    one_step.stop_if_diverging(np.array([1e6]), np.ones(2), SIGMOIDS["exact"], 1)
    one_step.stop_if_diverging(np.zeros(0), np.zeros(0), SIGMOIDS["taylor"], 1)


# Starting weights: their laws, and that only the generator decides.

D = 4000


@pytest.mark.parametrize(
    ("start", "law"),
    [
        ("xavier", stats.uniform(-np.sqrt(6 / (D + 1)), 2 * np.sqrt(6 / (D + 1)))),
        ("kaiming", stats.uniform(-np.sqrt(6 / D), 2 * np.sqrt(6 / D))),
        ("small", stats.laplace(scale=1 / np.sqrt(D))),
        ("normal", stats.norm()),
    ],
)
def test_weights_follow_their_law(start: str, law: stats.rv_continuous) -> None:
    """Kolmogorov-Smirnov against the documented distribution."""
    weights = starting_weights(start, D, np.random.default_rng(0))
    assert stats.kstest(weights, law.cdf).pvalue > 0.01


def test_zero_is_zero() -> None:
    """The zero start draws nothing."""
    generator = np.random.default_rng(0)
    assert not starting_weights("zero", 5, generator).any()
    assert generator.random() == np.random.default_rng(0).random()


def test_the_generator_decides() -> None:
    """The same generator gives the same weights for all columns at once."""
    first, second = (starting_weights("normal", 9, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first, second)


def test_an_unknown_start_is_refused() -> None:
    """A name outside the plan's list is an error, not zeros."""
    with pytest.raises(PlanError, match="he-normal"):
        starting_weights("he-normal", 3, np.random.default_rng(0))
