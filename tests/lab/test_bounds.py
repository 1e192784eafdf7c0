"""The paper's bounds against simulated training and brute force, never against their own formulas."""

import math
from itertools import count, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from plumbob.lab import bounds, one_step
from plumbob.lab.one_step import starting_weights
from plumbob.plan.sigmoids import SIGMOIDS

RATES_AND_NORMS = [(0.01, 1.0), (0.1, 1.0), (1.0, 1.0), (0.1, 5.0), (0.5, 3.0)]


def rows_of_norm(norm: float, n_rows: int, n_columns: int, seed: int) -> Any:
    """Rows within a cone, of exactly this norm, with labels: the worst that training can meet is near one direction."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, n_columns)) + 2 * random.normal(size=n_columns)
    return norm * rows / np.linalg.norm(rows, axis=1, keepdims=True), random.choice([-1.0, 1.0], n_rows)


def scores_of_run(name: str, rate: float, X: Any, signs: Any, weights: Any, n_steps: int) -> Any:
    """All rows' scores before each step of a run with batches of 5."""
    random = np.random.default_rng(0)
    for _ in range(n_steps):
        yield X @ weights
        batch = random.choice(len(X), 5, replace=False)
        residuals = SIGMOIDS[name].residuals(X[batch] @ weights, signs[batch])
        slope = one_step.gradient(one_step.residual_sums(X[batch], residuals), len(X[batch]), SIGMOIDS[name])
        weights = one_step.updated(weights, slope, rate, np.zeros(len(weights)))


def noisy_sums(X: Any, residuals: Any, std: float, random: np.random.Generator) -> Any:
    """Both parties' sums, two columns each, with the other party's noise."""
    parts = X[:, :2], X[:, 2:]
    return np.concatenate([(residuals + random.normal(0, std, len(X))) @ part for part in parts])


def steps_by_recursion(first: float, limit: float, factor: float) -> int:
    """How many terms of a geometric sequence stay below a limit, by multiplying."""
    for steps in count():
        if first >= limit:
            return steps
        first *= factor
    raise AssertionError


@pytest.mark.parametrize(("rate", "norm"), RATES_AND_NORMS)
@pytest.mark.parametrize("name", ["taylor", "minimax"])
def test_scores_grow_no_faster_than_the_lemma_says(name: str, rate: float, norm: float) -> None:
    """Lemma 4.4 and its use in E.3: the largest abs(score) + 2 never grows by more than the factor."""
    for seed in range(10):
        X, signs = rows_of_norm(norm, 20, 4, seed)
        heights = [np.abs(scores).max() + 2 for scores in scores_of_run(name, rate, X, signs, np.zeros(4), 30)]
        heights = [height for height in heights if name == "taylor" or height < 5.2]
        for before, after in pairwise(heights):
            assert after <= bounds.growth(rate, norm) * before * (1 + 1e-12)


@pytest.mark.parametrize(("rate", "norm"), RATES_AND_NORMS)
@pytest.mark.parametrize("largest", [0.0, 0.7, 1.9])
def test_signs_show_labels_for_as_long_as_promised(rate: float, norm: float, largest: float) -> None:
    """Corollary 4.5 and Theorems 4.6, 4.10, E.3: in a real run no sign lies during the safe steps."""
    promises = {"taylor": bounds.safe_steps, "minimax": bounds.minimax_safe_steps}
    for name, promise in promises.items():
        steps = promise(rate, largest, norm)
        assert steps >= 1
        for seed in range(5):
            X, signs = rows_of_norm(norm, 20, 4, seed)
            start = np.random.default_rng(seed).normal(size=4)
            start *= largest / np.abs(X @ start).max()
            for scores in scores_of_run(name, rate, X, signs, start, steps):
                assert np.array_equal(-np.sign(SIGMOIDS[name].residuals(scores, signs)), signs)


def test_the_paper_without_the_rows_norm_promises_too_much() -> None:
    """With rows of norm 10 a sign lies at step 2, the uncorrected bound promises 29 and the corrected one 1."""
    X, signs = np.full((5, 1), 10.0), np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    second = list(scores_of_run("taylor", 0.1, X, signs, np.zeros(1), 2))[1]
    assert not np.array_equal(-np.sign(SIGMOIDS["taylor"].residuals(second, signs)), signs)
    assert bounds.safe_steps(0.1) == 29
    assert bounds.safe_steps(0.1, row_norm=10.0) == 1


@given(st.floats(1e-3, 4), st.floats(0, 1.99), st.floats(0.1, 10), st.floats(0, 5))
def test_safe_steps_count_the_terms_below_the_limit(rate: float, largest: float, norm: float, error: float) -> None:
    """The logarithms agree with multiplying step by step, but for one step where a term meets the limit exactly."""
    factor = 1 + rate * norm**2 / 4
    for found, first, limit in [
        (bounds.safe_steps(rate, largest, norm), 2 + largest, 4.0),
        (bounds.minimax_safe_steps(rate, largest, norm), 2 + largest, 5.2),
        (bounds.noisy_safe_steps(rate, error, largest, norm), 4 * error + 2 + largest, 4 * error + 4),
    ]:
        if found < 5000:
            assert found in (
                steps_by_recursion(first, limit, factor),
                steps_by_recursion(first, limit * (1 - 1e-8), factor),
            )


def test_a_start_beyond_the_threshold_is_safe_for_no_step() -> None:
    """Large scores at the start void the criterion; a whole number of steps is not rounded up."""
    assert bounds.safe_steps(0.1, 2.0) == 0
    assert bounds.minimax_safe_steps(0.1, 3.2) == 0
    assert bounds.minimax_safe_steps(0.1, 3.1) == 1
    assert bounds.safe_steps(4.0) == 1


@pytest.mark.parametrize("start", ["zero", "xavier", "kaiming", "small", "normal"])
def test_scores_at_the_start_stay_within_their_bound(start: str) -> None:
    """Lemma 4.7 with constants: over many draws the bound fails no more often than it says, and is not vacuous."""
    n_rows, n_columns, norm, failure = 20, 30, 3.0, 0.1
    X, _ = rows_of_norm(norm, n_rows, n_columns, 0)
    # The other extreme: all of a row in one column, where a heavy tail shows most.
    X[:5] = np.eye(n_columns)[:5] * norm
    bound = bounds.start_score_bound(start, n_rows, n_columns, norm, failure)
    draws = [starting_weights(start, n_columns, np.random.default_rng(seed)) for seed in range(2000)]
    largest = np.array([np.abs(X @ weights).max() for weights in draws])
    assert np.mean(largest > bound) <= failure
    assert bound <= 4 * np.quantile(largest, 0.9)


@pytest.mark.parametrize("failure", [1e-2, 1e-10, 1e-40])
def test_the_small_start_bound_covers_the_heavy_tail(failure: float) -> None:
    """With all of a row in one column the score is Laplace itself, whose exact quantile the bound must reach."""
    n_columns = 25
    bound = bounds.start_score_bound("small", 1, n_columns, 1.0, failure)
    assert bound >= -math.log(failure) / math.sqrt(n_columns)


@pytest.mark.parametrize(("n_batches", "size"), [(1, 2), (2, 2), (4, 3), (7, 3), (16, 3)])
def test_ratios_merge_as_soon_as_promised(n_batches: int, size: int) -> None:
    """Lemma 3.4 by drawing batches and joining whoever met: one group in time, as often as the lemma says."""
    trials, epochs = 100, bounds.epochs_to_merge(n_batches)
    merged = 0
    for seed in range(trials):
        random = np.random.default_rng(seed)
        groups = np.arange(n_batches * size)
        for _ in range(epochs):
            for batch in random.permutation(n_batches * size).reshape(n_batches, size):
                groups[np.isin(groups, groups[batch])] = groups[batch[0]]
        merged += len(np.unique(groups)) == 1
    promised = bounds.merge_probability(n_batches, size)
    assert merged / trials >= promised - 3 * math.sqrt(promised * (1 - promised) / trials)


@pytest.mark.parametrize(("n_batches", "merge", "exact"), [(1, 1, 2), (2, 2, 2), (3, 2, 2), (4, 3, 3), (105, 7, 7)])
def test_epochs_until_values_are_exact(n_batches: int, merge: int, exact: int) -> None:
    """Lemma 3.4 and Theorem 3.5 at values worked out by hand; one person must be met twice."""
    assert bounds.epochs_to_merge(n_batches) == merge
    assert bounds.epochs_to_exact_values(n_batches) == exact
    assert bounds.epochs_to_values_once_merged(1) == 2


def test_a_batch_is_solvable_exactly_up_to_its_bound() -> None:
    """Corollary 3.2: as many rows as columns have one solution, one row more has many; slots multiply it."""
    random = np.random.default_rng(5)
    for slots in (1, 3):
        limit = bounds.largest_solvable_batch(4, slots)
        for n_rows in (limit, limit + 1):
            rank = np.linalg.matrix_rank(random.normal(size=(n_rows, 4 * slots)))
            assert (rank == n_rows) == (n_rows <= limit)


@pytest.mark.parametrize(
    ("key_bits", "slot_bits", "slots"), [(2048, 64, 31), (3072, 64, 47), (2048, 22, 93), (65, 64, 1)]
)
def test_slots(key_bits: int, slot_bits: int, slots: int) -> None:
    """Section 5.2: the paper's 31 slots of 64 bits, and no slot that would reach into the top bit."""
    assert bounds.slots(key_bits, slot_bits) == slots
    assert slots * slot_bits <= key_bits - 1 < (slots + 1) * slot_bits


def test_the_gaussian_constant_fits_the_tail() -> None:
    """1 + 2 sqrt(ck) + 2ck <= 4k for every k >= 1, with equality at 1, which is what Lemma 6.3 needs."""
    k = np.linspace(1, 1000, 100_000)
    c = bounds.GAUSSIAN_CONSTANT
    assert np.all(1 + 2 * np.sqrt(c * k) + 2 * c * k <= 4 * k + 1e-9)
    assert 1 + 2 * math.sqrt(c) + 2 * c == pytest.approx(4)


@pytest.mark.parametrize("n_columns", [1, 6])
def test_noise_in_the_gradient_stays_within_its_bound(n_columns: int) -> None:
    """Lemma 6.3 by drawing: over whole runs the bound fails no more often than it says."""
    std, size, n_steps, failure = 3.0, 8, 20, 0.2
    bound = bounds.gradient_error_bound(std, size, n_steps, failure)
    random = np.random.default_rng(2)
    X, _ = rows_of_norm(1.0, size, 2 * n_columns, 3)
    XA, XB = X[:, :n_columns], X[:, n_columns:]
    largest = []
    for _ in range(500):
        noise = random.normal(0, std, (2, n_steps, size))
        errors = np.hstack([noise[0] @ XA, noise[1] @ XB]) / (4 * size)
        largest.append(np.linalg.norm(errors, axis=1).max())
    assert np.mean(np.array(largest) > bound) <= failure


@pytest.mark.parametrize("norm", [1.0, 4.0])
def test_noisy_scores_drift_no_faster_than_promised(norm: float) -> None:
    """Theorem 6.6 by training with noise: scores stay below 2 for the promised steps, as often as said."""
    rate, std, size, failure, horizon = 0.02, 2.0, 5, 0.1, 30
    error = bounds.gradient_error_bound(std, size, horizon, failure)
    steps = min(horizon, bounds.noisy_safe_steps(rate, error, 0.0, norm))
    assert 1 <= steps < bounds.safe_steps(rate, 0.0, norm)
    escaped = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        X, signs = rows_of_norm(norm, 20, 4, seed)
        weights = np.zeros(4)
        for _ in range(steps):
            escaped += bool(np.abs(X @ weights).max() >= 2)
            batch = random.choice(20, size, replace=False)
            residuals = X[batch] @ weights - 2 * signs[batch]
            weights = weights - rate / (4 * size) * noisy_sums(X[batch], residuals, std, random)
    assert escaped <= failure * 60


def test_noisy_training_is_as_useful_as_promised() -> None:
    """Theorem 6.4 by training with noise at its rate: the mean weights' loss exceeds the best by less than the gap."""
    std, size, n_steps, failure = 1.0, 5, 400, 0.05
    X, signs = rows_of_norm(1.0, 40, 4, 7)
    best = lsq_linear(X, 2 * signs).x

    def loss(weights: Any) -> float:
        return float(np.mean((X @ weights - 2 * signs) ** 2) / 8)

    error = bounds.gradient_error_bound(std, size, n_steps, failure)
    rate = bounds.utility_learning_rate(1.0, float(np.linalg.norm(best)), error, n_steps)
    for seed in range(4):
        random = np.random.default_rng(seed)
        weights, path = np.zeros(4), []
        for _ in range(n_steps):
            path.append(weights)
            batch = random.choice(40, size, replace=False)
            residuals = X[batch] @ weights - 2 * signs[batch]
            weights = weights - rate / (4 * size) * noisy_sums(X[batch], residuals, std, random)
        row_gradient = max(np.abs(X @ point - 2 * signs).max() / 4 for point in path)
        furthest = max(float(np.linalg.norm(point - best)) for point in path)
        gap = bounds.utility_gap(max(1.0, row_gradient), furthest, error, n_steps, failure)
        assert loss(np.mean(path, axis=0)) <= loss(best) + gap
