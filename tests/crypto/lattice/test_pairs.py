"""Pairs of limbs calculate as integers do; shares of two parties are cut and lifted within one unit."""

import numpy as np
import pytest

from plumbob.crypto.lattice import Pairs, pairs
from tests.crypto.lattice.support import centred, random_pairs, to_floats, to_integers, to_ints

WHOLE = 1 << 128
GENERATOR = np.random.default_rng(5)
EDGES = np.array([[0, 0], [1, 0], [2**64 - 1, 0], [0, 1], [2**64 - 1, 2**64 - 1], [0, 2**63]], dtype=np.uint64)
LEFT = np.concatenate([EDGES, random_pairs(GENERATOR, 200, 128)])
RIGHT = np.concatenate([EDGES[::-1], random_pairs(GENERATOR, 200, 128)])


def signed(value: int, bits: int) -> int:
    """The residue of least size."""
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def test_sums_and_differences_carry() -> None:
    """Sums and differences carry over both limbs, modulo 2**128."""
    left, right = to_ints(LEFT), to_ints(RIGHT)
    assert to_ints(pairs.add(LEFT, RIGHT)) == [(a + b) % WHOLE for a, b in zip(left, right, strict=True)]
    assert to_ints(pairs.subtract(LEFT, RIGHT)) == [(a - b) % WHOLE for a, b in zip(left, right, strict=True)]
    assert to_ints(pairs.negate(LEFT)) == [-a % WHOLE for a in left]


@pytest.mark.parametrize("count", [0, 1, 7, 63, 64, 65, 127])
def test_shifts_are_those_of_integers(count: int) -> None:
    """Left, right, and right with a sign, by any number of bits."""
    numbers = to_ints(LEFT)
    assert to_ints(pairs.shift_left(LEFT, count)) == [(a << count) % WHOLE for a in numbers]
    assert to_ints(pairs.shift_right(LEFT, count)) == [a >> count for a in numbers]
    assert to_ints(pairs.shift_right_signed(LEFT, count)) == [(signed(a, 128) >> count) % WHOLE for a in numbers]


@pytest.mark.parametrize("bits", [1, 40, 64, 65, 104, 128])
def test_reductions_are_those_of_integers(bits: int) -> None:
    """Reducing to a ring, and back to signed numbers, is that of integers."""
    numbers = to_ints(LEFT)
    assert to_ints(pairs.reduce(LEFT, bits)) == [a % (1 << bits) for a in numbers]
    assert to_ints(centred(LEFT, bits)) == [signed(a, bits) % WHOLE for a in numbers]


def test_numbers_go_in_and_come_out() -> None:
    """Integers and floating-point numbers come out as they went in, with their signs."""
    numbers = np.array([0, 1, -1, 2**62, -(2**62), -(2**63)])
    assert to_integers(pairs.from_integers(numbers), 128).tolist() == numbers.tolist()
    assert to_floats(pairs.from_integers(numbers), 128, 10).tolist() == (numbers / 1024).tolist()
    wide = pairs.shift_left(pairs.from_integers(np.array([-3, 5])), 90)
    assert to_floats(wide, 128, 90).tolist() == [-3.0, 5.0]


def shared(values: list[int], modulus: int) -> tuple[Pairs, Pairs]:
    """Uniform shares of a number."""
    first = [a % modulus for a in to_ints(random_pairs(GENERATOR, len(values), 128))]
    second = [(value - share) % modulus for value, share in zip(values, first, strict=True)]
    return as_pairs(first), as_pairs(second)


def as_pairs(values: list[int]) -> Pairs:
    """Numbers below 2**128 as pairs."""
    return np.array([[value & (2**64 - 1), value >> 64] for value in values], dtype=np.uint64)


@pytest.mark.parametrize("modulus", [1 << 104, (1 << 108) - 12345, 1 << 127])
def test_lifted_shares_are_exact(modulus: int) -> None:
    """Two parties lift alone, from a power of two or from any other modulus."""
    values = [int(value) for value in GENERATOR.integers(-(2**45), 2**45, 500)] + [0, 1, -1]
    first, second = shared(values, modulus)
    total = pairs.add(pairs.lift(first, modulus, True), pairs.lift(second, modulus, False))
    assert [signed(got, 128) for got in to_ints(total)] == values


def test_lifting_fails_as_often_as_the_bound_says() -> None:
    """From a ring that is too small, it goes wrong with probability abs(x) / 2**bits, no more and no less."""
    value, bits, count = 2**10, 14, 20_000
    first, second = shared([value] * count, 1 << bits)
    total = pairs.add(pairs.lift(first, 1 << bits, True), pairs.lift(second, 1 << bits, False))
    wrong = sum(signed(got, 128) != value for got in to_ints(total))
    assert abs(wrong - count / 16) < 6 * (count / 16) ** 0.5
