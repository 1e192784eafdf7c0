"""What channels.cu calculates with: two bases of small primes, and a ring's constants modulo each of them.

Nothing here needs more than numpy.
"""

import math
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plumbob.crypto.engines.cuda.words import words_of

PRIME_BITS = 30
SPREAD = 1 << 13  # All primes lie so close below 2**30, at most.
WORD = 1 << 32
NUMBERS = 4  # Of a block.
WINDOW = 4  # Bits of a secret exponent that are looked up at once; every entry is read, so tables are small.
WARP_CHANNELS = 8
MOST_WARPS = 9  # More, and their parts of the matrices do not fit into registers.


class ChannelShape(NamedTuple):
    """What channels.cu is compiled for."""

    limbs: int
    channels: int

    @property
    def warps(self) -> int:
        """Of a block: eight channels each, the last ones of which may be left over."""
        return -(-self.channels // WARP_CHANNELS)

    @property
    def block(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def beside(self) -> int:
        """Blocks for which a processor's registers suffice."""
        return max(1, 12 // self.warps)

    @property
    def number_words(self) -> int:
        """Of a number in all its channels: four remainders of 32 bits each."""
        return 4 * WARP_CHANNELS * self.warps

    def macros(self) -> dict[str, int]:
        """The names that the source expects."""
        return {
            "LIMBS": self.limbs,
            "CHANNELS": self.channels,
            "NUMBERS": NUMBERS,
            "WINDOW": WINDOW,
            "BLOCK": self.block,
        }

    def source(self) -> str:
        return (Path(__file__).parent / "channels.cu").read_text()


class Bases:
    """Two bases for numbers of this many limbs, each large enough for products not to grow (channels.cu, "Sizes")."""

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
    def matrices(self) -> Any:
        """What does not depend on a ring, in the order of channels.cu."""
        cofactors = [self.second_product // m for m in self.second]
        to_second = self._matrix([self.first_product // m for m in self.first], self.second)
        to_first = self._matrix([cofactor * WORD for cofactor in cofactors], self.first)
        digits = [
            number >> (16 * digit) & 0xFFFF
            for number in (*cofactors, self.second_product)
            for digit in range(2 * self.shape.limbs + 1)
        ]
        return np.concatenate([to_second, to_first, np.array(digits, dtype=np.uint32)])

    def _matrix(self, factors: Sequence[int], primes: Sequence[int]) -> Any:
        """The bytes of factors * 2**(8 a) modulo the primes, as the lanes of each warp take them (`Matrix`)."""
        warps, channels = self.shape.warps, self.shape.channels
        entries = np.zeros((warps * WARP_CHANNELS, 4, warps * WARP_CHANNELS), dtype=np.uint64)  # Factor, a, prime.
        moduli = np.array(primes, dtype=np.uint64)
        remainders = np.array([[factor % prime for prime in primes] for factor in factors], dtype=np.uint64)
        for a in range(4):
            entries[:channels, a, :channels] = (remainders << np.uint64(8 * a)) % moduli
        # Four values of a make a word, for every byte b of an entry.
        words = np.zeros((warps * WARP_CHANNELS, warps * WARP_CHANNELS, 4), dtype=np.uint32)  # Factor, prime, b.
        for b in range(4):
            for a in range(4):
                byte = (entries[:, a, :] >> np.uint64(8 * b)) & np.uint64(0xFF)
                words[:, :, b] |= byte.astype(np.uint32) << np.uint32(8 * a)
        # Factor 8 step + 4 high + place, prime 8 warp + row, byte 2 tile + low; then as the lanes' registers come.
        parted = words.reshape(warps, 2, 4, warps, 8, 2, 2)  # step, high, place, warp, row, tile, low
        return parted.transpose(3, 0, 5, 4, 2, 1, 6).reshape(-1)  # warp, step, tile, row, place, high, low

    def constants(self, root: int, radix: int) -> Any:
        """Of the ring modulo root**2, whose elements in the other kernels carry the factor `radix`; None where the root
        shares a prime with the bases.
        """
        if any(root % m == 0 for m in (*self.first, *self.second)):
            return None
        count, room = self.shape.channels, self.shape.warps * WARP_CHANNELS
        raised = -(-2 * count * self.first_product // root) * root  # A multiple of the root, no quotient is larger.
        rows: list[Sequence[int]] = [
            *zip(*(self._first_constants(m, root, raised) for m in self.first), strict=True),
            *zip(*(self._second_constants(m, root, raised) for m in self.second), strict=True),
        ]
        entering = self.first_product**2 * pow(radix, -1, root**2)
        for value in (entering, self.first_product, radix):
            halves = value % root**2 % root, value % root**2 // root
            rows += [[half % m for m in self.first] for half in halves]
            rows += [[half * self._weight(m) % m for m in self.second] for half in halves]
        padded = np.zeros((len(rows), room), dtype=np.uint32)
        padded[:, :count] = rows
        return np.concatenate([padded.reshape(-1), words_of(root, self.shape.limbs)])

    def _weight(self, m: int) -> int:
        """What a remainder of the second base is kept times."""
        return pow(self.second_product // m, -1, m)

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
        divided, weight = pow(self.first_product, -1, m), self._weight(m)
        values = (
            pow(WORD, self.shape.limbs + 1, m) * weight,
            divided * pow(weight, -1, m) * WORD**2,
            root * divided * weight * WORD**2,
            -divided * weight * WORD**2,
            raised * divided * weight * WORD,
        )
        return m, -pow(m, -1, WORD) % WORD, *(value % m for value in values)


@cache
def bases_for(limbs: int) -> Bases | None:
    """None where numbers of this many limbs take too many channels."""
    if 32 * limbs > PRIME_BITS * WARP_CHANNELS * MOST_WARPS:
        return None
    bases = Bases(limbs)
    return bases if bases.shape.warps <= MOST_WARPS else None


@cache
def primes_below() -> list[int]:
    """The largest ones of 30 bits, the largest first, for two bases."""
    top = 1 << PRIME_BITS
    is_prime = np.ones(SPREAD, dtype=bool)  # Of top - 1, top - 2, ...
    for factor in range(2, math.isqrt(top) + 1):
        is_prime[(top - 1) % factor :: factor] = False
    return [top - 1 - int(place) for place in np.flatnonzero(is_prime)[: 2 * WARP_CHANNELS * MOST_WARPS]]
