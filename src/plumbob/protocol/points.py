"""What an alignment does with points: it multiplies them by a secret scalar, proves that it did, and compares lists."""

from collections.abc import Iterable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Flags
from plumbob.crypto import same_scalar
from plumbob.crypto.ristretto import ORDER, POINT_BYTES, PackedTexts, Points, RistrettoGroup, uniform_strings

WORDS = POINT_BYTES // 8

PointRows = NDArray[np.void]
"""Points, a row of 32 bytes each."""
PointWords = NDArray[np.uint64]
"""Points as four numbers each, in the order of the bytes."""


class Blinder:
    """Multiplies by a scalar and by its inverse, and proves that it did; the kernel spreads points over threads."""

    def __init__(self, scalar: int, domain: bytes, threads: int) -> None:
        self._scalar, self._inverse = scalar, pow(scalar, -1, ORDER)
        self._domain = domain
        self._group = RistrettoGroup(threads=threads)

    def hash_texts(self, texts: PackedTexts, scalar: int = 1) -> bytes:
        """Texts hashed to points, times a scalar."""
        # The domain has a fixed length.
        return self._group.times_hashed(uniform_strings(self._domain, texts), scalar)

    def blind(self, texts: PackedTexts) -> bytes:
        """Texts hashed to points, times the scalar."""
        return self.hash_texts(texts, self._scalar)

    def put_on(self, points: Points) -> bytes:
        """Points times the scalar; CryptoError where one is no point."""
        return self._group.times(points, self._scalar)

    def take_off(self, points: Points) -> bytes:
        """Points times the scalar's inverse; CryptoError where one is no point."""
        return self._group.times(points, self._inverse)

    def public(self) -> bytes:
        """The scalar times the generator."""
        return same_scalar.public_point(self._group, self._scalar)

    def prove(self, context: bytes, points: Iterable[Points], challenge: bytes) -> bytes:
        """Prove that all points, chunk by chunk, were multiplied by this scalar."""
        combination = same_scalar.combine(self._group, points, challenge)
        return same_scalar.prove(self._group, self._scalar, context, combination)

    def is_proved(
        self,
        context: bytes,
        public: bytes,
        points: Iterable[Points],
        products: Iterable[Points],
        challenge: bytes,
        proof: bytes,
    ) -> bool:
        """Whether a peer proved that all products carry one scalar; CryptoError where it sent what is no point."""
        combination = same_scalar.combine(self._group, points, challenge)
        product = same_scalar.combine(self._group, products, challenge)
        return same_scalar.verify(self._group, context, public, combination, product, proof)


# Lists of points in memory.


class SortedPoints:
    """A list's points in the order of their bytes, each with its place in the list."""

    def __init__(self, points: bytes) -> None:
        rows = np.frombuffer(points, dtype=f"V{POINT_BYTES}")
        order = _order_of(points)
        self.places = order.astype(np.uint32)
        self.points: PointRows = np.take(rows, order)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def is_as_it_came(self) -> bool:
        """Whether the list came sorted, each point once."""
        return not self.count_repeats() and bool((self.places[1:] > self.places[:-1]).all())

    def count_repeats(self) -> int:
        """How many points equal an earlier one."""
        return int(np.count_nonzero(self.points[1:] == self.points[:-1]))

    def are_in(self, *others: "SortedPoints") -> Flags:
        """Which points all the other lists have too."""
        return reduce(np.logical_and, (self._are_among(other) for other in others))

    def _are_among(self, other: "SortedPoints") -> Flags:
        if not len(other):
            return np.zeros(len(self), dtype=np.bool_)
        there = _first_words(other.points)
        first = np.minimum(np.searchsorted(there, _first_words(self.points)), len(there) - 1)
        found: Flags = np.take(other.points, first) == self.points
        # Points that share eight bytes only somebody makes on purpose: those after the first are compared in full.
        later = other.points[1:][there[1:] == there[:-1]]
        if len(later):
            rest = {point.tobytes() for point in later}
            found |= np.array([point.tobytes() in rest for point in self.points], dtype=np.bool_)
        return found


def shuffle(points: bytes, order: NDArray[np.uint32]) -> bytes:
    """The same points in another order."""
    return np.take(np.frombuffer(points, dtype=f"V{POINT_BYTES}"), order).tobytes()


def _order_of(points: bytes) -> NDArray[np.intp]:
    words = _words(points)
    first = words[:, 0]
    order = np.argsort(first)
    if (first[order[1:]] == first[order[:-1]]).any():
        order = np.lexsort(words.T[::-1])
    return order


def _first_words(points: PointRows) -> NDArray[np.uint64]:
    return np.ndarray(len(points), ">u8", points, strides=(POINT_BYTES,)).astype(np.uint64)


def _words(points: bytes) -> PointWords:
    """Points as numbers read big-endian, so that they are ordered as the bytes are."""
    return np.frombuffer(points, dtype=">u8").reshape(-1, WORDS).astype(np.uint64)
