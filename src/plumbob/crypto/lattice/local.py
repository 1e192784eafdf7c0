"""Products of a party's own numbers with its own shares: what it calculates alone, exactly and modulo the same ring."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Pairs, Small
from plumbob.crypto.lattice.pairs import BITS, WORD

if TYPE_CHECKING:  # The engine is made of what stands here.
    from plumbob.crypto.lattice.kernel import Engine

RING = 1 << BITS


def pairs_of(values: Sequence[int] | NDArray[np.object_]) -> Pairs:
    """Whole numbers modulo 2**128, as pairs of limbs."""
    words = [(value & WORD, value >> 64 & WORD) for value in values]
    return np.array(words, dtype=np.uint64).reshape(len(values), 2)


def integers_of(values: Pairs) -> list[int]:
    """The inverse of `pairs_of`."""
    return [low | high << 64 for low, high in values.tolist()]


def scores(engine: "Engine", entries: Small, share: Sequence[int], bits: int) -> NDArray[np.uint64]:
    """entries @ share modulo 2**bits, at most 64; one number per row."""
    return engine.own_scores(entries, pairs_of(share)) & np.uint64((1 << bits) - 1)


def sums(engine: "Engine", entries: Small, share: Pairs) -> list[int]:
    """entries.T @ share modulo 2**128; one number per column."""
    return integers_of(engine.own_sums(entries, share))


def lift(share: int, bits: int, is_first: bool) -> int:
    """From a share of a small x modulo 2**bits, one modulo 2**128."""
    return share if is_first else (share - (1 << bits)) % RING


@dataclass(frozen=True)
class WrappedShares:
    """Shares of two parties, modulo 2**128: each cuts its own."""

    is_first: bool

    def reduce(self, share: int) -> int:
        return share % RING

    def cut(self, share: int, dropped: int) -> int:
        """A share of about x / 2**dropped; one party rounds down, the other up."""
        return share % RING >> dropped if self.is_first else -(-share % RING >> dropped) % RING


class WholeShares:
    """Shares of any number of parties that are whole numbers and add up to x itself: each rounds its own off."""

    def reduce(self, share: int) -> int:
        """The share as a signed whole number, also where it came modulo 2**128."""
        return (share + RING // 2) % RING - RING // 2

    def cut(self, share: int, dropped: int) -> int:
        """A share of about x / 2**dropped, rounded to the nearest, so that the errors of many shares do not add up."""
        return (share + (1 << dropped >> 1)) >> dropped


AnyShares = WrappedShares | WholeShares
