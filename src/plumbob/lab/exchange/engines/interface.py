"""What an engine does: arithmetic on many residues at once, nothing about keys.

Arguments and results are limb arrays (`lab.exchange.limbs`) of fully reduced residues, so that two engines that are
right agree bit for bit. Which operations run, and how many, depends on shapes and widths only, never on values.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_mpz, width_for

Integers = Sequence[int] | NDArray[np.int64]
Digits = NDArray[np.uint8]
MAX_BITS = 63  # Matrix entries plus their offset must fit an int64.
PreparedPowers = Any  # Made by `PaillierEngine.table` and understood by the same engine only.


@dataclass(frozen=True, repr=False)
class Ring:
    """Integers modulo root**degree. Paillier calculates modulo n**2, p**2 and q**2."""

    root: int
    degree: Literal[1, 2]
    prepared: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False)
    """What engines keep for this ring. It dies with the ring, whose root may be a secret prime."""

    @cached_property
    def modulus(self) -> mpz:
        return mpz(self.root) ** self.degree

    @cached_property
    def width(self) -> int:
        """How many limbs a residue takes."""
        return width_for(int(self.modulus))


class PaillierEngine(Protocol):
    """Small on purpose: everything that keys and encrypted vectors need is a combination of these."""

    @property
    def name(self) -> str:
        """The engine's name in records and benchmarks."""

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        """Products row by row; `right` may have a single row, which then meets every row of `left`."""

    def embed(self, ring: Ring, values: Integers) -> Limbs:
        """1 + value * root modulo root**2: what Paillier's messages become. Values may be negative."""

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        """bases**exponent in time that does not depend on the bits of the exponent, which may be secret."""

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        """Column j of the answer: the product over rows i of bases[i]**matrix[i, j].

        Entries lie in [-2**(bits-1), 2**(bits-1)); bases are units.
        """

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        """Every `slots` rows become one: the product of values[k]**(2**(k * slot_bits)). The last may be shorter."""

    def table(self, ring: Ring, bases: Limbs, window: int) -> PreparedPowers:
        """All powers bases[j]**v for v < 2**window, for `look_up`; window is at most 8."""

    def look_up(self, table: PreparedPowers, digits: Digits) -> Limbs:
        """Row r of the answer: the product over j of bases[j]**digits[r, j]."""

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        """Chinese remainders: residues modulo the product of both moduli that are `left` and `right` modulo each."""

    def logarithms(self, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        """For each ring modulo p**2: (values**(p - 1) - 1) / p * scale modulo p. What decryption consists of.

        Values are units of any width, p and the scale secrets: see `power`.
        """


class PlainEngine:
    """What engines on this machine's cores have in common: two divisions per value, on gmpy2's integers."""

    def embed(self, ring: Ring, values: Integers) -> Limbs:
        root = mpz(ring.root)
        # Python's own integers do not overflow.
        unbounded = values.tolist() if isinstance(values, np.ndarray) else values
        return from_ints((1 + value % root * root for value in unbounded), ring.width)

    def logarithms(self: PaillierEngine, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        found = []
        for ring, scale in zip(rings, scales, strict=True):
            prime = mpz(ring.root)
            reduced = from_ints((value % ring.modulus for value in to_mpz(values)), ring.width)
            raised = to_mpz(self.power(ring, reduced, ring.root - 1))
            logarithms = ((value - 1) // prime * scale % prime for value in raised)
            found.append(from_ints(logarithms, width_for(ring.root)))
        return found


def check_range(matrix: IntegerMatrix, bits: int) -> None:
    """Refuse entries outside the range: kernels take the low bits of anything and would return wrong results."""
    if not 1 <= bits <= MAX_BITS:
        raise ValueError(f"expected 1 to {MAX_BITS} bits, got {bits}: encode with a smaller scale")
    limit = 1 << (bits - 1)
    if matrix.size and not (-limit <= int(matrix.min()) and int(matrix.max()) < limit):
        raise ValueError(f"expected entries in [-{limit}, {limit}), got larger ones: raise bits or check the encoding")
