"""What masks leave readable of a number that somebody made too large."""

import numpy as np
import pytest

from plumbob.crypto.lattice.masks import MaskedOpening


@pytest.mark.parametrize("holders", [3, 5, 8])
def test_a_number_that_fills_the_modulus_shows_no_more_than_that(holders: int) -> None:
    """Masks and number together have the modulus' room: what is left beside one mask bounds what a number tells."""
    opening = MaskedOpening(1 << 40, 10, holders)
    generator = np.random.default_rng(1)
    bound, size = opening.most_bits, 1 << opening.mask_bits
    assert bound >= 1
    # Counted: numbers that fill the modulus, in as many classes as the bound allows, told apart by the sum they give.
    classes = 1 << bound
    numbers = generator.integers(classes, size=20_000)
    masks = sum(generator.integers(size, size=20_000) for _ in range(holders - 1))
    seen = (numbers * (opening.modulus // classes) + masks) % opening.modulus
    told = np.histogram2d(numbers, seen, bins=(classes, 4 * classes))[0] / len(numbers)
    independent = np.outer(told.sum(axis=1), told.sum(axis=0))
    information = float((told[told > 0] * np.log2(told[told > 0] / independent[told > 0])).sum())
    assert 0.5 < information <= bound
