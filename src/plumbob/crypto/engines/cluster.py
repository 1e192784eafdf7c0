"""The engine `ray`: large calls are cut into tasks for a cluster's workers, small ones stay here.

Results are fully reduced residues, so that they are the same bit for bit, wherever they were calculated. A modulus may
be a secret prime: it lies in the cluster's memory.
"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from plumbob.crypto import engines
from plumbob.crypto.engines.interface import Digits, Engine, IntegerMatrix, Integers, PreparedPowers, Ring
from plumbob.crypto.engines.python import group_size, logarithm
from plumbob.crypto.engines.workers import StoredValue, Task, workers
from plumbob.crypto.limbs import Limbs, concatenate, from_ints, to_bytes

TRIED_ROWS, TRIED_BITS = 8, 256
"""The power by which the time of a product is measured: about 340 products a row."""
PRODUCTS_OF_TRIAL = TRIED_ROWS * 340


@dataclass(frozen=True, repr=False)
class SentTable:
    """A table here, and the bases from which each worker makes its own."""

    local: PreparedPowers
    ring: Ring
    parcel: StoredValue


class RayEngine:
    """Passes small calls to `local`, and cuts large ones up for the workers."""

    name = "ray"

    def __init__(self, local: Engine) -> None:
        self._local = local
        self._workers = workers()
        self.threads: int | None = getattr(local, "threads", None)

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        # A product takes less time than sending its factors.
        return self._local.multiply(ring, left, right)

    def embed(self, ring: Ring, values: Integers) -> Limbs:
        return self._local.embed(ring, values)

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        parts = self._parts(ring, len(bases), len(bases) * exponent.bit_length() * 5 // 4)
        if len(parts) < 2:
            return self._local.power(ring, bases, exponent)
        return concatenate(self._done("power", self._sent(ring), [(bases[part], exponent) for part in parts]))

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        rows, columns = matrix.shape
        parts = self._parts(ring, max(rows, columns), products_to_combine(rows, columns, bits))
        if len(parts) < 2 or len(bases) != rows:
            return self._local.combine(ring, bases, matrix, bits)
        if columns > rows:
            pieces = [(bases, matrix[:, part], bits) for part in parts]
            return concatenate(self._done("combine", self._sent(ring), pieces))
        # Rows share no table, so that cutting between them repeats nothing but the last few products.
        first, *others = self._done("combine", self._sent(ring), [(bases[part], matrix[part], bits) for part in parts])
        for other in others:
            first = self._local.multiply(ring, first, other)
        return first

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        groups = self._parts(ring, -(-len(values) // max(slots, 1)), len(values) * (slot_bits + 1))
        if len(groups) < 2:
            return self._local.pack(ring, values, slots, slot_bits)
        pieces = [(values[group.start * slots : group.stop * slots], slots, slot_bits) for group in groups]
        return concatenate(self._done("pack", self._sent(ring), pieces))

    def table(self, ring: Ring, bases: Limbs, window: int) -> SentTable:
        digest = hashlib.sha256(_ring_bytes(ring) + bytes([window]) + to_bytes(bases)).digest()
        parcel = self._workers.parcel(digest, _table, ring.root, ring.degree, bases, window)
        return SentTable(self._local.table(ring, bases, window), ring, parcel)

    def look_up(self, table: SentTable, digits: Digits) -> Limbs:
        parts = self._parts(table.ring, len(digits), digits.size)
        if len(parts) < 2:
            return self._local.look_up(table.local, digits)
        return concatenate(self._done("look_up", table.parcel, [(digits[part],) for part in parts]))

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        return self._local.join(first, second, left, right)

    def logarithms(self, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        return [logarithm(self, ring, values, scale) for ring, scale in zip(rings, scales, strict=True)]

    def _parts(self, ring: Ring, length: int, products: int) -> list[slice]:
        return self._workers.parts(length, products * _seconds_per_product(ring.width))

    def _sent(self, ring: Ring) -> StoredValue:
        if self.name not in ring.prepared:
            digest = hashlib.sha256(_ring_bytes(ring)).digest()
            ring.prepared[self.name] = self._workers.parcel(digest, Ring, ring.root, ring.degree)
        parcel: StoredValue = ring.prepared[self.name]
        return parcel

    def _done(self, operation: str, parcel: StoredValue, pieces: Sequence[tuple[Any, ...]]) -> list[Limbs]:
        return self._workers.done([Task(own_engine, operation, (parcel,), piece) for piece in pieces])


def products_to_combine(rows: int, columns: int, bits: int) -> int:
    """Modular products of a call, as the engines count them (Four Russians, then Horner over the bit planes)."""
    if not rows or not columns:
        return 0
    size = group_size(rows, columns * bits)
    return -(-rows // size) * ((1 << size) + columns * bits) + 2 * columns * bits


@cache
def _seconds_per_product(width: int) -> float:
    """Of residues of this many limbs, with one thread here; a few milliseconds, once for each width."""
    engine = own_engine()
    ring = Ring((1 << (32 * width)) - 1, 2) if width > 1 else Ring((1 << 61) - 1, 1)
    bases = from_ints([3] * TRIED_ROWS, ring.width)
    tried = []
    # The first also prepares the ring; the best counts, because others at work here only ever make it slower.
    for _ in range(4):
        started = time.perf_counter()
        engine.power(ring, bases, (1 << TRIED_BITS) - 1)
        tried.append(time.perf_counter() - started)
    return min(tried) / PRODUCTS_OF_TRIAL


def _ring_bytes(ring: Ring) -> bytes:
    return bytes([ring.degree]) + ring.root.to_bytes(-(-ring.root.bit_length() // 8), "little")


# There: what a worker does.


def _table(root: int, degree: Literal[1, 2], bases: Limbs, window: int) -> PreparedPowers:
    return own_engine().table(Ring(root, degree), bases, window)


@cache
def own_engine() -> Engine:
    """The best one of this machine, on one thread."""
    return engines.choose("native" if engines.native_is_built() else "python", threads=1)
