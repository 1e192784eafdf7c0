"""The intervals hold what they say, most of all where attacks succeed."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from plumbob.arrays import Vector
from plumbob.model import intervals

Draw = Callable[[np.random.Generator, int, int], tuple[Vector, Vector]]

# A simulated share of 300 draws strays from 95 % by less than this, but for once in thousands.
AT_LEAST = 0.95 - 0.045
DRAWS = 300


@pytest.mark.parametrize(("right", "n"), [(0, 5), (3, 10), (50, 100), (455, 455)])
def test_wilson_is_wilsons(right: int, n: int) -> None:
    """The same ends as an independent implementation."""
    expected = binomtest(right, n).proportion_ci(method="wilson")
    assert intervals.wilson(right, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [20, 400])
def test_wilson_covers(share: float, n: int) -> None:
    """In at least about 95 of 100 samples the interval holds the true share."""
    right = np.random.default_rng(1).binomial(n, share, DRAWS)
    held = [low <= share <= high for low, high in (intervals.wilson(int(one), n) for one in right)]
    assert np.mean(held) >= AT_LEAST


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.7), (0.99, 0.999)])
def test_balanced_accuracy_covers(shares: tuple[float, float]) -> None:
    """The interval covers also with classes of different sizes and accuracies."""
    generator, sizes = np.random.default_rng(2), (40, 160)
    right = [generator.binomial(size, share, DRAWS) for size, share in zip(sizes, shares, strict=True)]
    ends = [intervals.balanced_accuracy((one, two), sizes) for one, two in zip(*right, strict=True)]
    assert np.mean([low <= np.mean(shares) <= high for low, high in ends]) >= AT_LEAST


def two_normals(shift: float) -> tuple[Draw, float]:
    """Scores that differ by a shift; the AUC is known."""

    def draw(generator: np.random.Generator, positive: int, negative: int) -> tuple[Vector, Vector]:
        return generator.normal(shift, 1.0, positive), generator.normal(0.0, 1.0, negative)

    return draw, float(norm.cdf(shift / np.sqrt(2)))


def hard_guesses(sensitivity: float, specificity: float) -> tuple[Draw, float]:
    """Beliefs without degrees: the AUC is the balanced accuracy."""

    def draw(generator: np.random.Generator, positive: int, negative: int) -> tuple[Vector, Vector]:
        rows = generator.random(positive) < sensitivity, generator.random(negative) >= specificity
        return np.where(rows[0], 1.0, -1.0), np.where(rows[1], 1.0, -1.0)

    return draw, (sensitivity + specificity) / 2


def partly_known(share: float) -> tuple[Draw, float]:
    """An attack that is sure and right about some rows and knows nothing about the others."""

    def draw(generator: np.random.Generator, positive: int, negative: int) -> tuple[Vector, Vector]:
        known = generator.random(positive) < share, generator.random(negative) < share
        return np.where(known[0], 1.0, 0.0), np.where(known[1], -1.0, 0.0)

    return draw, 1 - (1 - share) ** 2 / 2


AUC_CASES = {
    "nothing": two_normals(0.0),
    "nearly all": two_normals(3.5),
    "hard": hard_guesses(0.8, 0.6),
    "hard, nearly right": hard_guesses(0.99, 0.99),
    "a third known": partly_known(0.33),
    "most known": partly_known(0.95),
}


@pytest.mark.parametrize("sizes", [(12, 12), (60, 200)], ids=str)
@pytest.mark.parametrize("case", AUC_CASES)
def test_auc_covers(case: str, sizes: tuple[int, int]) -> None:
    """The interval covers for smooth, hard and partial answers, few rows and many, near one half and near 1."""
    draw, true = AUC_CASES[case]
    generator = np.random.default_rng(3)
    is_positive = np.repeat([True, False], sizes)
    held = 0
    for _ in range(DRAWS):
        low, high = intervals.auc(is_positive, np.concatenate(draw(generator, *sizes)))
        held += low <= true <= high
    assert held / DRAWS >= AT_LEAST


def test_auc_of_1_is_not_certain() -> None:
    """Ten rows that were all right prove less than a thousand, and infinite beliefs are beliefs like others."""

    def low(n: int) -> float:
        return intervals.auc(np.repeat([True, False], n), np.repeat([np.inf, -np.inf], n))[0]

    assert 0.4 < low(5) < 0.6 < 0.99 < low(500) < 1


@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_explained_covers(noise: float) -> None:
    """The bootstrap of an R^2 holds the population's, for good claims and for bad ones."""
    generator, true, held = np.random.default_rng(4), 1 - noise**2, 0
    for _ in range(40):
        truth = generator.normal(2.0, 1.0, (150, 2))
        low, high = intervals.explained(truth, noise * generator.normal(size=truth.shape))
        held += low <= true <= high
    assert held / 40 >= 0.88


def test_explained_is_repeatable() -> None:
    """The same rows give the same interval, so that a report can be checked."""
    truth = np.arange(20.0)[:, None]
    errors = np.linspace(-1.0, 2.0, 20)[:, None]
    assert intervals.explained(truth, errors) == intervals.explained(truth, errors)
