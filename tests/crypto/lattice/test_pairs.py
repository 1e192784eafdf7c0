"""Pairs of limbs calculate as integers do; shares of two parties are cut and lifted within one unit."""

import numpy as np
import pytest

from plumbob.crypto.lattice import Pairs, pairs
from plumbob.crypto.lattice.local import pairs_of
from tests.crypto.lattice.support import random_pairs, signed, to_ints

WHOLE = 1 << 128
GENERATOR = np.random.default_rng(5)
EDGES = np.array([[0, 0], [1, 0], [2**64 - 1, 0], [0, 1], [2**64 - 1, 2**64 - 1], [0, 2**63]], dtype=np.uint64)
LEFT = np.concatenate([EDGES, random_pairs(GENERATOR, 200, 128)])
RIGHT = np.concatenate([EDGES[::-1], random_pairs(GENERATOR, 200, 128)])


def test_sums_and_differences_carry() -> None:
    """Sums and differences carry over both limbs, modulo 2**128."""
    left, right = to_ints(LEFT), to_ints(RIGHT)
    assert to_ints(pairs.add(LEFT, RIGHT)) == [(a + b) % WHOLE for a, b in zip(left, right, strict=True)]
    assert to_ints(pairs.subtract(LEFT, RIGHT)) == [(a - b) % WHOLE for a, b in zip(left, right, strict=True)]
    assert to_ints(pairs.negate(LEFT)) == [-a % WHOLE for a in left]


@pytest.mark.parametrize("bits", [1, 40, 64, 65, 104, 128])
def test_reductions_are_those_of_integers(bits: int) -> None:
    """Reducing to a ring is that of integers."""
    assert to_ints(pairs.reduce(LEFT, bits)) == [a % (1 << bits) for a in to_ints(LEFT)]


def test_numbers_go_in_and_come_out() -> None:
    """Integers come out as they went in, with their signs."""
    numbers = np.array([0, 1, -1, 2**62, -(2**62), -(2**63)])
    assert signed(pairs.from_integers(numbers)) == numbers.tolist()


def shared(values: list[int], modulus: int) -> tuple[Pairs, Pairs]:
    """Uniform shares of a number."""
    first = [a % modulus for a in to_ints(random_pairs(GENERATOR, len(values), 128))]
    second = [(value - share) % modulus for value, share in zip(values, first, strict=True)]
    return pairs_of(first), pairs_of(second)


@pytest.mark.parametrize("modulus", [1 << 104, (1 << 108) - 12345, 1 << 127])
def test_lifted_shares_are_exact(modulus: int) -> None:
    """Two parties lift alone, from a power of two or from any other modulus."""
    values = [int(value) for value in GENERATOR.integers(-(2**45), 2**45, 500)] + [0, 1, -1]
    first, second = shared(values, modulus)
    total = pairs.add(pairs.lift(first, modulus, True), pairs.lift(second, modulus, False))
    assert signed(total) == values


def test_lifting_fails_as_often_as_the_bound_says() -> None:
    """From a ring that is too small, it goes wrong with probability abs(x) / 2**bits, no more and no less."""
    value, bits, count = 2**10, 14, 20_000
    first, second = shared([value] * count, 1 << bits)
    total = pairs.add(pairs.lift(first, 1 << bits, True), pairs.lift(second, 1 << bits, False))
    wrong = sum(got != value for got in signed(total))
    assert abs(wrong - count / 16) < 6 * (count / 16) ** 0.5
