"""crypto/randomness.py: uniform draws from one source."""

import os
from collections import Counter

import pytest
from scipy import stats

from plumbob.crypto import SYSTEM_RANDOMNESS, Randomness
from tests.crypto.support import seeded

SURPRISING = 1e-6  # With seeded draws a test that passes once passes always.


def test_the_kernel_is_the_default() -> None:
    """Without a test's source every byte comes from the operating system, and the record can say so."""
    assert SYSTEM_RANDOMNESS.is_kernel
    assert Randomness().is_kernel
    assert not seeded("any").is_kernel


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 255, 256, 257])
def test_numbers_below_a_bound_are_uniform(bound: int) -> None:
    """Every number is as likely as every other, drawn one by one or at once, also where many must be drawn again."""
    randomness = seeded("below")
    for numbers in ([randomness.below(bound) for _ in range(40 * bound)], randomness.many_below(bound, 40 * bound)):
        drawn = Counter(numbers)
        assert drawn.total() == 40 * bound
        assert set(drawn) <= set(range(bound))
        assert bound == 1 or stats.chisquare([drawn[value] for value in range(bound)]).pvalue > SURPRISING


@pytest.mark.parametrize("bound", [1, 3, 200, 256, 257, (1 << 100) + 1, (1 << 104) * 3 // 5])
def test_many_below_are_drawn_in_a_fixed_order(bound: int) -> None:
    """All at once, then all again that were too large, so that what the kernel gave can be replayed."""
    drawn: list[bytes] = []

    def source(size: int) -> bytes:
        drawn.append(os.urandom(size))
        return drawn[-1]

    values, bits = Randomness(source).many_below(bound, 60), (bound - 1).bit_length()
    size, expected = -(-bits // 8), list[int]()
    for piece in drawn:
        assert len(piece) == (60 - len(expected)) * size
        candidates = [piece[k * size : (k + 1) * size] for k in range(60 - len(expected))]
        numbers = [int.from_bytes(one, "little") >> (8 * size - bits) for one in candidates]
        expected += [number for number in numbers if number < bound]
    assert values == expected


@pytest.mark.parametrize("bits", [0, 1, 7, 8, 9, 64, 100])
def test_of_bits_uses_the_whole_range(bits: int) -> None:
    """Each bit is set about half of the time, and none above the width."""
    randomness = seeded("bits")
    drawn = [randomness.of_bits(bits) for _ in range(400)]
    assert all(0 <= value < 1 << bits for value in drawn)
    for bit in range(bits):
        assert 130 < sum(value >> bit & 1 for value in drawn) < 270


def test_seeded_draws_repeat() -> None:
    """A test's source gives the same draws again, and another seed gives others."""
    first, again, other = seeded("a"), seeded("a"), seeded("b")
    drawn = [first.draw(32) for _ in range(3)]
    assert drawn == [again.draw(32) for _ in range(3)]
    assert len({*drawn, other.draw(32)}) == 4
