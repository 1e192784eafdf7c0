"""Randomised response on labels."""

import math
import os

import numpy as np
import pytest
from scipy.stats import binomtest

from plumbob.plan.settings import flip_probability, label_scale
from plumbob.privacy.noise_cost import flips


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
