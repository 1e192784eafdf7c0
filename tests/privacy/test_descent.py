"""The passes on whole numbers, against plain arithmetic, against neighbours, and against the best guesser there is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta

from plumbob.arrays import Vector
from plumbob.privacy import rows
from tests.privacy.descent import NoisyDescent

FEATURE_BITS, RESIDUAL_BITS = 13, 20
NORMS = (2.0, 1.5)
DELTA = 0.01  # Large, so that the promise is as tight as it can be for a thousand runs.
ERROR = 0.05


def curve(scores: Vector) -> Vector:
    """The sigmoid minus 1/2, within its bound."""
    return 0.5 * np.tanh(0.5 * scores)


def table(count: int, seed: int = 0) -> tuple[rows.Units, NDArray[np.int8]]:
    """Rows of two parties in units, with the intercept's column, and labels."""
    generator = np.random.default_rng(seed)
    parts = [rows.clipped_units(generator.normal(size=(count, 2)) * 3, norm, FEATURE_BITS) for norm in NORMS]
    ones = np.full((count, 1), 1 << FEATURE_BITS)
    return np.hstack([*parts, ones]), generator.integers(0, 2, count).astype(np.int8)


def descent(units: rows.Units, labels: NDArray[np.int8], epsilon: float = 1.0, passes: int = 4) -> NoisyDescent:
    """A small plan with everything charged."""
    sensitivity = rows.Sensitivity.of(NORMS, FEATURE_BITS, RESIDUAL_BITS)
    cost = rows.calibrated(epsilon, DELTA, sensitivity.units, passes)
    return NoisyDescent(units, labels, curve, FEATURE_BITS, RESIDUAL_BITS, sensitivity, cost, 4 / 3, 0.5)


def test_without_noise_it_is_the_plain_descent() -> None:
    """With nobody's noise the weights are those of floating-point arithmetic, up to the cut of residuals."""
    units, labels = table(400)
    weights, step = np.zeros(5), np.zeros(5)
    X = units / 2.0**FEATURE_BITS
    for _ in range(4):
        gradient = X.T @ (curve(X @ weights) + 0.5 - labels) / len(X)
        step = 0.5 * step - 4 / 3 * gradient
        weights = weights + step
    assert descent(units, labels).run([]) == pytest.approx(weights, abs=1e-5)


def test_everybody_s_noise_is_added() -> None:
    """The first step's variance grows with the number of parties that draw."""
    units, labels = table(50)
    one_pass = descent(units, labels, passes=1)
    expected = one_pass.run([])
    generator = np.random.default_rng(3)
    for parties in (1, 3):
        found = np.array([one_pass.run([generator.bytes] * parties) - expected for _ in range(300)])
        deviation = 4 / 3 * one_pass.cost.std * math.sqrt(parties) / (50 * 2.0 ** (FEATURE_BITS + RESIDUAL_BITS))
        assert found.std() == pytest.approx(deviation, rel=0.06)


# The best guesser: it knows every row but one, sees all noisy sums, and knows the others' noise. Lemma 6 lets whoever
# post-processes choose the weights of the next pass, so the test chooses the worst: one row's residual is at an end.
WORST_WEIGHTS = np.array([0.0, 1000.0, 0.0, 0.0, 0.0])


def world(canary: int, epsilon: float = 1.0, weaker: int = 1) -> NoisyDescent:
    """The table in which one row is this one of two; both have norms of almost the bound and opposite gradients."""
    units, labels = table(12)
    sign = 1 if canary else -1
    units[0] = [(2 << FEATURE_BITS) - 200, sign * 1000, 3 << (FEATURE_BITS - 1), 0, 1 << FEATURE_BITS]
    labels[0] = 1 - canary
    honest = descent(units, labels, epsilon)
    return replace(honest, cost=replace(honest.cost, std=honest.cost.std // weaker))


def guesses(canary: int, runs: int, seed: int, weaker: int = 1, epsilon: float = 1.0) -> Vector:
    """The log likelihood ratio of the two tables in each of many runs, with one honest party's noise."""
    zero, one = (world(which, epsilon, weaker).sums(WORST_WEIGHTS) for which in (0, 1))
    honest = world(canary, epsilon, weaker)
    draw = np.random.default_rng(seed).bytes
    seen = [(honest.sums(WORST_WEIGHTS) + honest.noise_of_a_run(draw)).sum(axis=0) for _ in range(runs)]
    return np.array([float((sums - honest.cost.passes * (zero + one) / 2) @ (one - zero)) for sums in seen])


def test_the_worst_rows_are_almost_at_the_bound() -> None:
    """Lemma 3 is within one part in a hundred of what two real rows do to the sums."""
    moved = world(1).sums(WORST_WEIGHTS) - world(0).sums(WORST_WEIGHTS)
    assert 0.98 * world(1).sensitivity.units < np.linalg.norm(moved) <= world(1).sensitivity.units


def lower_bound(ones: Vector, zeros: Vector) -> float:
    """An epsilon that is exceeded with 95 % confidence: threshold from one half of the runs, rates from the other."""
    half = len(ones) // 2
    candidates = np.quantile(np.concatenate([ones[:half], zeros[:half]]), np.linspace(0.02, 0.98, 97))
    best = max(candidates, key=lambda at: _bound(ones[:half], zeros[:half], float(at)))
    return _bound(ones[half:], zeros[half:], float(best))


def _bound(ones: Vector, zeros: Vector, threshold: float) -> float:
    hits, alarms = int((ones > threshold).sum()), int((zeros > threshold).sum())
    return max(_log_odds(hits, alarms, len(ones)), _log_odds(len(zeros) - alarms, len(ones) - hits, len(ones)))


def _log_odds(hits: int, alarms: int, runs: int) -> float:
    low = float(beta.ppf(ERROR / 2, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - ERROR / 2, alarms + 1, runs - alarms)) if alarms < runs else 1.0
    return float(np.log((low - DELTA) / high)) if low > DELTA else 0.0


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.soak
def test_a_thousand_runs_prove_no_more_than_was_claimed(epsilon: float) -> None:
    """What the best guesser proves about epsilon from 1,000 runs lies below the claim, and is not nothing."""
    found = lower_bound(guesses(1, 1000, 1, epsilon=epsilon), guesses(0, 1000, 2, epsilon=epsilon))
    assert 0 < found <= epsilon


@pytest.mark.soak
def test_a_quarter_of_the_noise_is_caught_in_a_thousand_runs() -> None:
    """The same guesser proves more than was claimed where the deviation is a quarter of what it should be."""
    assert lower_bound(guesses(1, 1000, 1, weaker=4), guesses(0, 1000, 2, weaker=4)) > 1.0


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_no_coin_flip_is_named_more_often_than_the_bound_says(epsilon: float) -> None:
    """Which of two rows a fair coin chose, the best guesser names in no larger share than the promise allows."""
    ones, zeros = (guesses(canary, 400, canary, epsilon=epsilon) for canary in (1, 0))
    named = int((ones > 0).sum() + (zeros < 0).sum())
    lowest = float(beta.ppf(ERROR, named, 800 - named + 1))
    assert 0.5 < lowest <= rows.coin_flip_bound(epsilon, DELTA)
