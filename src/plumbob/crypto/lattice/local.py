"""Products of own numbers with own shares: what a party calculates alone, exactly and modulo the same ring.

Matrices are floating-point numbers that are multiples of 2**-fraction; shares are cut into limbs so short that every
sum is exact, and the limbs' sums are put together modulo the ring.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Pairs
from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.crypto.lattice.pairs import BITS

EXACT_BITS = 53
LIMB_BITS = 16
ROWS_AT_ONCE = 1 << (EXACT_BITS - (ENTRY_BITS - 1) - LIMB_BITS)
WORD = (1 << 64) - 1
RING = 1 << BITS


def pairs_of(values: Sequence[int]) -> Pairs:
    """Whole numbers modulo 2**128, as pairs of limbs."""
    words = [(value & WORD, value >> 64 & WORD) for value in values]
    return np.array(words, dtype=np.uint64).reshape(len(values), 2)


def integers_of(values: Pairs) -> list[int]:
    """The inverse of `pairs_of`."""
    return [low | high << 64 for low, high in values.tolist()]


def scores(X: NDArray[np.float64], fraction: int, share: Sequence[int], bits: int) -> NDArray[np.uint64]:
    """(X * 2**fraction) @ share modulo 2**bits, at most 64; one number per row."""
    columns = X.shape[1]
    size = min(LIMB_BITS, EXACT_BITS - (ENTRY_BITS - 1) - max(columns, 1).bit_length())
    count = -(-bits // size)
    limbs = [[float(value >> (size * place) & ((1 << size) - 1)) for place in range(count)] for value in share]
    weights = np.array(limbs, dtype=np.float64).reshape(columns, count)
    total = np.zeros(len(X), dtype=np.uint64)
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        parts = (np.ldexp(X[rows], fraction) @ weights).astype(np.int64).view(np.uint64)
        for place in range(count):
            total[rows] += parts[:, place] << np.uint64(size * place)
    return total & np.uint64((1 << bits) - 1)


def sums(X: NDArray[np.float64], fraction: int, share: Pairs) -> list[int]:
    """(X * 2**fraction).T @ share modulo 2**128; one number per column."""
    totals = np.zeros((X.shape[1], BITS // LIMB_BITS), dtype=object)
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        limbs = np.ascontiguousarray(share[rows]).view(np.dtype("<u2")).astype(np.float64)
        totals += (np.ldexp(X[rows], fraction).T @ limbs).astype(np.int64).astype(object)
    return [sum(int(part) << (LIMB_BITS * place) for place, part in enumerate(row)) % RING for row in totals]


def cut(share: int, dropped: int, is_first: bool) -> int:
    """A share modulo 2**128 of x as one of about x / 2**dropped; one of the two parties rounds down, the other up."""
    return share >> dropped if is_first else -(-share % RING >> dropped) % RING


def lift(share: int, bits: int, is_first: bool) -> int:
    """A share modulo 2**bits of a small x as one modulo 2**128."""
    return share if is_first else (share - (1 << bits)) % RING


@dataclass(frozen=True)
class WrappedShares:
    """Shares of two parties, modulo 2**128: each cuts its own."""

    is_first: bool

    def reduce(self, share: int) -> int:
        return share % RING

    def cut(self, share: int, dropped: int) -> int:
        """Of about x / 2**dropped."""
        return cut(share % RING, dropped, self.is_first)


class WholeShares:
    """Shares of any number of parties that are whole numbers and add up to x itself: each rounds its own off."""

    def reduce(self, share: int) -> int:
        """As they are; from numbers modulo 2**128, the signed ones."""
        return (share + RING // 2) % RING - RING // 2

    def cut(self, share: int, dropped: int) -> int:
        """Of about x / 2**dropped, rounded to the nearest so that many shares' errors do not add up to one side."""
        return (share + (1 << dropped >> 1)) >> dropped


AnyShares = WrappedShares | WholeShares
