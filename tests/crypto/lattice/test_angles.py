"""Sines are right to 2**-27, and two parties' factors add up to the series of the sum of their angles."""

import numpy as np
import pytest

from plumbob.crypto.lattice import angles
from tests.crypto.lattice.support import ENGINE, sines

HARMONICS = (1, 3, 5, 15)
AMPLITUDES = (0.6, -0.2, 1.5, 0.01)


def test_sines_are_right() -> None:
    """Within 2**-27 on a million angles and at the quadrants' edges, which are exact to a unit."""
    drawn = np.random.default_rng(1).integers(0, 2**32, 100_000).astype(np.uint32)
    turns = np.concatenate([np.arange(4, dtype=np.uint32) << np.uint32(30), drawn])
    sine, cosine = sines(ENGINE, turns)
    exact = turns.astype(np.float64) * (2 * np.pi / 2**32)
    assert abs(sine / 2**30 - np.sin(exact)).max() < 2**-27
    assert abs(cosine / 2**30 - np.cos(exact)).max() < 2**-27
    assert (abs(sine[:4] / 2**30 - [0, 1, 0, -1]) < 2**-29).all()


def test_factors_add_up_to_the_series() -> None:
    """The inner product is the series at the sum of both shares, whatever they are, within the factors' rounding."""
    generator = np.random.default_rng(2)
    first, second = (generator.integers(0, 2**32, 5000).astype(np.uint32) for _ in range(2))
    left = angles.owner_factors(ENGINE, first, HARMONICS).astype(np.int64)
    right = angles.evaluator_factors(ENGINE, second, HARMONICS, AMPLITUDES).astype(np.int64)
    total = (left * right).sum(axis=0) / 2**40
    turn = (first + second).astype(np.float64) * (2 * np.pi / 2**32)
    expected = sum(a * np.sin(k * turn) for k, a in zip(HARMONICS, AMPLITUDES, strict=True))
    assert abs(total - expected).max() < 8 * 2**-20


def test_weights_scale_factors() -> None:
    """A number per row multiplies all factors of that row."""
    turns = np.array([1 << 28, 3 << 27], dtype=np.uint32)
    factors = angles.owner_factors(ENGINE, turns, HARMONICS)
    weighted = angles.weigh(factors, np.array([3 << 20, 1 << 19]))
    assert (weighted[:, 0] == 3 * factors[:, 0]).all()
    assert (abs(2 * weighted[:, 1] - factors[:, 1]) <= 1).all()


@pytest.mark.parametrize("rows", [0, 1])
def test_no_row_and_one_row(rows: int) -> None:
    """Empty data gives empty factors."""
    factors = angles.owner_factors(ENGINE, np.zeros(rows, dtype=np.uint32), HARMONICS)
    assert factors.shape == (8, rows)
