"""Noise on labels and gradients: the paper's formulas, flipped labels, and a run's budget."""

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from plumbob.lab.flips import flips
from plumbob.plan.study import flip_probability, label_scale
from plumbob.privacy.label_noise import HeuristicNoise

# The paper's formulas, against its own numbers and against neighbouring runs.

PAPER = HeuristicNoise(
    epsilon=0.5, delta=0.1, gradient_norm=1.0, epochs=1, n_steps=30, learning_rate=0.01, batch_size=256
)


@pytest.mark.parametrize(("epochs", "expected"), [(1, 36.0), (10, 113.7), (30, 197.0)])
def test_the_paper_s_noise(epochs: int, expected: float) -> None:
    """At the paper's settings the label party's deviation depends on how the epochs are read."""
    assert replace(PAPER, epochs=epochs).label_party_std() == pytest.approx(expected, abs=0.05)


def test_feature_parties_need_less() -> None:
    """Scores hold no label: 8G - 4 in place of 8G, half of it at G = 1."""
    still = replace(PAPER, learning_rate=0.0)
    assert still.feature_party_std() == pytest.approx(still.label_party_std() / 2)
    assert replace(PAPER, epsilon=1.0).label_party_std() == pytest.approx(PAPER.label_party_std() / 2)


@pytest.mark.parametrize(("epochs", "batches_per_epoch"), [(1, 1), (4, 3), (30, 50)])
def test_the_drift_covers_the_recursion(epochs: int, batches_per_epoch: int) -> None:
    """Lemma D.2 summed step by step, weights moving by 2 sqrt(2) rate G / s once an epoch, is at most the formula's."""
    rate, size, bound = 0.3, 8, 1.5
    noise = HeuristicNoise(1.0, 0.1, bound, epochs, epochs * batches_per_epoch, rate, size)
    moved = total = 0.0
    for _ in range(epochs):
        moved += 2 * np.sqrt(2) * rate * bound / size
        total += batches_per_epoch * size * moved**2
    drift = noise.label_party_sensitivity() ** 2 - 64 * bound**2 * epochs
    assert total * (1 - 1e-9) <= drift <= 3 * total


def released(X: Any, signs: Any, rate: float, batches: Any) -> tuple[Any, Any, float]:
    """What the two parties of three columns each release over a run without noise, and the largest row gradient."""
    weights, label, features, largest = np.zeros(6), [], [], 0.0
    for batch in batches:
        label.append(X[batch, :3] @ weights[:3] - 2 * signs[batch])
        features.append(X[batch, 3:] @ weights[3:])
        largest = max(largest, np.abs(X @ weights - 2 * signs).max() / 4, (np.linalg.norm(weights) + 2) / 4)
        weights = weights - rate / (4 * len(batch)) * ((X[batch] @ weights - 2 * signs[batch]) @ X[batch])
    return np.concatenate(label), np.concatenate(features), float(largest)


def test_one_row_moves_the_release_by_no_more_than_the_sensitivity() -> None:
    """Lemmas D.2 and D.3 by brute force: another person in one place, the same batches, whole runs compared."""
    rate, epochs, size, n_rows = 1.0, 4, 5, 20
    random = np.random.default_rng(0)
    for _ in range(50):
        X = random.normal(size=(n_rows, 6))
        X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
        signs = random.choice([-1.0, 1.0], n_rows)
        other_X, other_signs = X.copy(), signs.copy()
        other_X[0], other_signs[0] = -X[0], -signs[0]
        batches = [batch for _ in range(epochs) for batch in random.permutation(n_rows).reshape(-1, size)]
        label, features, bound = released(X, signs, rate, batches)
        other_label, other_features, other_bound = released(other_X, other_signs, rate, batches)
        noise = HeuristicNoise(1.0, 0.1, max(bound, other_bound), epochs, len(batches), rate, size)
        assert np.linalg.norm(label - other_label) <= noise.label_party_sensitivity()
        assert np.linalg.norm(features - other_features) <= noise.feature_party_sensitivity()


# Randomised response on labels.


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_labels_are_flipped_with_the_stated_probability(epsilon: float) -> None:
    """The count of flips is what a binomial with q = 1 / (1 + e**epsilon) gives."""
    flipped = flips(20_000, epsilon, os.urandom)
    assert binomtest(int(flipped.sum()), 20_000, flip_probability(epsilon)).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_ratio_of_likelihoods_is_exactly_the_budget(epsilon: float) -> None:
    """Keeping over flipping is e**epsilon: pure epsilon for each label."""
    q = flip_probability(epsilon)
    assert (1 - q) / q == pytest.approx(math.exp(epsilon))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_scaled_flipped_labels_are_unbiased(epsilon: float) -> None:
    """The mean of scaled flipped labels is the label."""
    signs = np.where(flips(200_000, epsilon, os.urandom), -1.0, 1.0) * label_scale(epsilon)
    assert signs.mean() == pytest.approx(1.0, abs=6 * label_scale(epsilon) / math.sqrt(200_000))


def test_off_means_off() -> None:
    """Epsilon 0 in a plan means that no label is touched."""
    assert flip_probability(0.0) == 0.0
    assert label_scale(0.0) == 1.0
    assert not flips(1000, 0.0, os.urandom).any()
