"""What channels.cu calculates with: two bases of small primes, and a ring's constants modulo each of them.

Nothing here needs more than numpy.
"""

import math
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PRIME_BITS = 28
SPREAD = 1 << 13  # All primes lie so close below 2**28, at most.
MOST = 80  # Channels for which no sum overflows; their columns of both tables also just fit into a thread's registers.
WORD = 1 << 32
THREADS = 128  # Of a block, at most: a warp for each of a processor's four parts.


class ChannelShape(NamedTuple):
    """What channels.cu is compiled for."""

    limbs: int
    channels: int

    @property
    def numbers(self) -> int:
        """Of a block."""
        return max(1, THREADS // self.channels)

    @property
    def block(self) -> int:
        """Threads of a block, in whole warps."""
        return -(-self.numbers * self.channels // 32) * 32

    def macros(self) -> dict[str, int]:
        """The names that the source expects."""
        return {"LIMBS": self.limbs, "CHANNELS": self.channels, "NUMBERS": self.numbers, "BLOCK": self.block}

    def source(self) -> str:
        return (Path(__file__).parent / "channels.cu").read_text()


class Bases:
    """Two bases for numbers of so many limbs, each large enough for products not to grow (channels.cu, "Sizes")."""

    def __init__(self, limbs: int) -> None:
        bound = 1 << (32 * limbs)
        primes = primes_below()
        count = 1
        while min(math.prod(primes[:count]), math.prod(primes[-count:])) < 16 * (count + 1) * bound:
            count += 1
        self.shape = ChannelShape(limbs, count)
        self.first, self.second = primes[0 : 2 * count : 2], primes[1 : 2 * count : 2]
        self.first_product, self.second_product = math.prod(self.first), math.prod(self.second)

    @cached_property
    def tables(self) -> Any:
        """What does not depend on a ring, in the order of channels.cu."""
        cofactors = [self.second_product // m for m in self.second]
        to_second = [self.first_product // m % other for m in self.first for other in self.second]
        to_first = [cofactor * WORD % other for cofactor in cofactors for other in self.first]
        digits = [
            number >> (16 * digit) & 0xFFFF
            for digit in range(2 * self.shape.limbs + 1)
            for number in (*cofactors, self.second_product)
        ]
        return np.array([*to_second, *to_first, *digits], dtype=np.uint32)

    def constants(self, root: int, radix: int) -> Any:
        """Of the ring modulo root**2, whose elements in the other kernels carry the factor `radix`; None where the root
        shares a prime with the bases.
        """
        if any(root % m == 0 for m in (*self.first, *self.second)):
            return None
        count = self.shape.channels
        raised = -(-2 * count * self.first_product // root) * root  # A multiple of the root, no quotient is larger.
        rows: list[Sequence[int]] = [
            *zip(*(self._first_constants(m, root, raised) for m in self.first), strict=True),
            *zip(*(self._second_constants(m, root, raised) for m in self.second), strict=True),
        ]
        entering = self.first_product**2 * pow(radix, -1, root**2)
        for value in (entering, self.first_product, radix):
            halves = value % root**2 % root, value % root**2 // root
            rows += [[half % m for m in base] for base in (self.first, self.second) for half in halves]
        words = [root >> (32 * k) & (WORD - 1) for k in range(self.shape.limbs)]
        return np.array([*(value for row in rows for value in row), *words], dtype=np.uint32)

    def _first_constants(self, m: int, root: int, raised: int) -> Sequence[int]:
        quotient = -pow(root * (self.first_product // m), -1, m)
        values = (
            pow(WORD, self.shape.limbs + 1, m),
            quotient * WORD**2,
            quotient * pow(root, -1, m) * WORD**2,
            quotient * raised * WORD,
            -self.second_product * WORD,
        )
        return m, -pow(m, -1, WORD) % WORD, *(value % m for value in values)

    def _second_constants(self, m: int, root: int, raised: int) -> Sequence[int]:
        divided = pow(self.first_product, -1, m)
        values = (
            pow(WORD, self.shape.limbs + 1, m),
            divided * WORD**2,
            root * divided * WORD**2,
            -divided * WORD**2,
            raised * divided * WORD,
            pow(self.second_product // m, -1, m) * WORD,
        )
        return m, -pow(m, -1, WORD) % WORD, *(value % m for value in values)


@cache
def bases_for(limbs: int) -> Bases | None:
    """None where numbers of so many limbs take too many channels."""
    if 32 * limbs > PRIME_BITS * MOST:
        return None
    bases = Bases(limbs)
    return bases if bases.shape.channels <= MOST else None


@cache
def primes_below() -> list[int]:
    """The largest ones of 28 bits, the largest first."""
    top = 1 << PRIME_BITS
    is_prime = np.ones(SPREAD, dtype=bool)  # Of top - 1, top - 2, ...
    for factor in range(2, math.isqrt(top) + 1):
        is_prime[(top - 1) % factor :: factor] = False
    return [top - 1 - int(place) for place in np.flatnonzero(is_prime)[: 2 * MOST]]
