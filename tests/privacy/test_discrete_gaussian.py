"""The discrete Gaussian: the exact distribution, from uniform draws alone."""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import chisquare, ks_2samp, kstest

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.errors import PrivacyError
from plumbob.privacy import discrete_gaussian

COUNT = 6000
DEVIATIONS = [Fraction(3, 10), Fraction(1), Fraction(57, 10), Fraction(200)]


def seeded_below(seed: int) -> Callable[[int], int]:
    """Uniform draws that are the same in every run."""
    generator = random.Random(seed)
    return generator.randrange


def probabilities(deviation: Fraction) -> dict[int, float]:
    """The probability of every integer within twelve deviations: the definition, summed term by term."""
    reach = int(12 * deviation) + 3
    terms = {x: exp(-(x**2) / (2 * float(deviation) ** 2)) for x in range(-reach, reach + 1)}
    total = sum(terms.values())
    return {x: term / total for x, term in terms.items()}


@cache
def draws(deviation: Fraction) -> list[int]:
    """Reproducible samples, drawn once for all tests of them."""
    below = seeded_below(1)
    return [discrete_gaussian.sample(deviation**2, below) for _ in range(COUNT)]


def inverse_cdf_draws(deviation: Fraction, count: int, seed: int) -> list[int]:
    """Another sampler: look a uniform number up in the cumulated probabilities."""
    table = probabilities(deviation)
    edges = np.cumsum(list(table.values()))
    places = np.searchsorted(edges, np.random.default_rng(seed).random(count))
    values = list(table)
    return [values[min(place, len(values) - 1)] for place in places.tolist()]


def grouped(counts: Counter[int], expected: dict[int, float], total: int) -> tuple[list[int], list[float]]:
    """Neighbouring integers put together until each group is expected at least ten times."""
    found, due, seen, wanted = [], [], 0, 0.0
    for x, probability in expected.items():
        seen += counts[x]
        wanted += probability * total
        if wanted >= 10:
            found.append(seen)
            due.append(wanted)
            seen, wanted = 0, 0.0
    found[-1] += seen
    due[-1] += wanted
    return found, [value * sum(found) / sum(due) for value in due]


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=str)
def test_samples_have_the_exact_probabilities(deviation: Fraction) -> None:
    """A chi-squared test against the definition passes for deviations below, at and far above one."""
    found, due = grouped(Counter(draws(deviation)), probabilities(deviation), COUNT)
    assert len(found) > 1
    assert chisquare(found, due).pvalue > 1e-3


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=str)
def test_an_independent_sampler_agrees(deviation: Fraction) -> None:
    """Mean and second moment are those of an inverse-CDF sampler, within what chance allows."""
    ours, theirs = np.array(draws(deviation)), np.array(inverse_cdf_draws(deviation, 10 * COUNT, 2))
    spread = float(theirs.std())
    assert abs(ours.mean() - theirs.mean()) < 5 * spread * sqrt(1.1 / COUNT)
    squares = theirs.astype(float) ** 2
    assert abs((ours.astype(float) ** 2).mean() - squares.mean()) < 5 * float(squares.std()) * sqrt(1.1 / COUNT)


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=str)
def test_both_signs_are_as_likely(deviation: Fraction) -> None:
    """Of the samples that are not 0, half are negative, and 0 comes once, not twice."""
    sample = np.array(draws(deviation))
    positive, negative = int((sample > 0).sum()), int((sample < 0).sum())
    assert abs(positive - negative) < 5 * sqrt(positive + negative)
    share = probabilities(deviation)[0]
    assert abs(float((sample == 0).mean()) - share) < 5 * sqrt(share * (1 - share) / COUNT)


@pytest.mark.parametrize(
    "gamma", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(10**20 + 1, 10**20)]
)
def test_the_coin_falls_with_its_probability(gamma: Fraction) -> None:
    """The coin is true with probability exp(-gamma), also for gamma above 1."""
    below, count = seeded_below(4), 8000
    share = sum(discrete_gaussian.ratio_coin(gamma.numerator, gamma.denominator, below) for _ in range(count)) / count
    expected = exp(-float(gamma))
    assert abs(share - expected) <= 5 * sqrt(expected * (1 - expected) / count)


def test_noise_of_an_encoding_has_its_deviation() -> None:
    """At the scale of 20 fraction bits a float's exact fraction serves as the deviation, with kernel randomness."""
    deviation = Fraction(0.1) * (1 << 20)
    sample = np.array([discrete_gaussian.sample(deviation**2, SYSTEM_RANDOMNESS.below) for _ in range(2000)])
    assert sample.dtype == np.int64
    assert abs(sample.std() / float(deviation) - 1) < 5 / sqrt(2 * 2000)
    assert len(set(sample.tolist())) > 1900


def test_only_integers_are_drawn() -> None:
    """The sampler asks for uniform integers below positive bounds and for nothing else: no float enters."""
    inner = seeded_below(5)

    def strict(bound: int) -> int:
        assert type(bound) is int
        assert bound > 0
        return inner(bound)

    assert all(type(discrete_gaussian.sample(Fraction(7, 3), strict)) is int for _ in range(200))


@pytest.mark.parametrize("std", [1, 3, 40])
def test_many_draws_have_the_exact_probabilities(std: int) -> None:
    """A chi-squared test of `sample_many` against the definition passes for small and large whole deviations."""
    count = 10_000
    drawn = discrete_gaussian.sample_many(std, count, np.random.default_rng(std).bytes)
    found, due = grouped(Counter(drawn), probabilities(Fraction(std)), count)
    assert len(found) > 1
    assert chisquare(found, due).pvalue > 1e-3


def test_large_deviations_are_normal_to_every_digit_that_can_be_seen() -> None:
    """At a deviation of 2**45 units the distribution function is the normal one's, by Kolmogorov and Smirnov."""
    drawn = np.array(discrete_gaussian.sample_many(1 << 45, 10_000, np.random.default_rng(0).bytes))
    assert kstest(drawn / 2.0**45, "norm").pvalue > 1e-3
    assert len(set((drawn & 255).tolist())) == 256


def test_both_samplers_draw_the_same_distribution() -> None:
    """The fast sampler and the general one agree where both can be asked."""
    fast = discrete_gaussian.sample_many(200, 10_000, np.random.default_rng(1).bytes)
    assert ks_2samp(fast, draws(Fraction(200))).pvalue > 1e-3


def test_no_noise_is_no_deviation_to_draw_with() -> None:
    """A deviation below one unit is refused: it would be rounded to nothing."""
    with pytest.raises(PrivacyError, match="at least one unit"):
        discrete_gaussian.sample_many(0, 1, SYSTEM_RANDOMNESS.draw)


def test_every_draw_takes_fresh_bytes() -> None:
    """Two calls share no randomness: nothing of a pool outlives its call."""
    asked: list[int] = []

    def draw(count: int) -> bytes:
        asked.append(count)
        return SYSTEM_RANDOMNESS.draw(count)

    first = discrete_gaussian.sample_many(1 << 30, 5, draw)
    before = len(asked)
    second = discrete_gaussian.sample_many(1 << 30, 5, draw)
    assert before
    assert len(asked) > before
    assert first != second
