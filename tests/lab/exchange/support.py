"""What several tests of Paillier need: an engine that counts, and plain arithmetic."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from plumbob.crypto import Encoded, Encoding
from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.lab.exchange.engines.interface import Digits, Integers, PaillierEngine, PreparedPowers, Ring
from plumbob.lab.exchange.limbs import Limbs
from plumbob.lab.exchange.packing import centred
from plumbob.lab.exchange.paillier import EncryptedVector, PrivateKey


def integers(entries: Sequence[Sequence[int]], bits: int) -> Encoded:
    """A matrix of given integers under an encoding of `bits` bits, sign included."""
    return Encoded(np.array(entries, dtype=np.int64), Encoding(bits - 1, 0))


def plain_product(values: Sequence[int], matrix: Encoded) -> list[int]:
    """What `@` must give, in Python's unbounded integers."""
    return [int(value) for value in np.array(values, dtype=object) @ matrix.values.astype(object)]


class CountingEngine:
    """Passes every call on to another engine, and counts the calls by name."""

    def __init__(self, inner: PaillierEngine) -> None:
        self._inner = inner
        self.calls: Counter[str] = Counter()
        self.packed_in: set[int] = set()
        """Roots of the rings in which `pack` was asked for."""

    @property
    def name(self) -> str:
        return self._inner.name

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        self.calls["multiply"] += 1
        return self._inner.multiply(ring, left, right)

    def embed(self, ring: Ring, values: Integers) -> Limbs:
        self.calls["embed"] += 1
        return self._inner.embed(ring, values)

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        self.calls["power"] += 1
        return self._inner.power(ring, bases, exponent)

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        self.calls["combine"] += 1
        return self._inner.combine(ring, bases, matrix, bits)

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        self.calls["pack"] += 1
        self.packed_in.add(ring.root)
        return self._inner.pack(ring, values, slots, slot_bits)

    def table(self, ring: Ring, bases: Limbs, window: int) -> PreparedPowers:
        self.calls["table"] += 1
        return self._inner.table(ring, bases, window)

    def look_up(self, table: PreparedPowers, digits: Digits) -> Limbs:
        self.calls["look_up"] += 1
        return self._inner.look_up(table, digits)

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        self.calls["join"] += 1
        return self._inner.join(first, second, left, right)

    def logarithms(self, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        self.calls["logarithms"] += 1
        return self._inner.logarithms(rings, values, scales)


SINGLE: dict[str, Any] = {"key_bits": 256, "feature_bits": 30, "residual_bits": 30}
"""Keys of a plan under which a reply has room for one sum."""


def decrypt_signed(key: PrivateKey, vector: EncryptedVector) -> list[int]:
    """The plaintexts, centred around 0."""
    return [centred(value, key.public.n) for value in key.decrypt(vector)]
