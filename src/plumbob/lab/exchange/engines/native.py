"""The fast engine: Paillier's own C++ kernel, several residues per instruction and several threads, without the GIL.

What the kernel cannot do without a division
(inverses) is done here, on gmpy2's integers.
"""

import gmpy2
import numpy as np

from plumbob.crypto.fixed_point import IntegerMatrix
from plumbob.crypto.kernel import KernelEngine
from plumbob.lab.exchange.engines import _paillier
from plumbob.lab.exchange.engines.interface import Digits, PlainEngine, PreparedPowers, Ring, check_range
from plumbob.lab.exchange.limbs import Limbs, from_ints, to_mpz, width_for


def available_paths() -> list[str]:
    """The instruction sets that the kernel can use on this machine, best first; none without AVX2."""
    return _paillier.available_paths()


class NativeEngine(KernelEngine, PlainEngine):
    """Modular arithmetic in the kernel."""

    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        super().__init__(available_paths(), path, threads)

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        return _paillier.multiply(self._prepared(ring), rows(left), rows(right), self.threads)

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        if exponent < 0:
            raise ValueError("expected an exponent of 0 or more, got a negative one: invert the bases first")
        # Only the length shows: the kernel reads every entry of its table whatever the bits are.
        bits = int(exponent).bit_length()
        limbs = from_ints([exponent], width_for(1 << max(bits, 1)))[0]
        return _paillier.power(self._prepared(ring), rows(bases), limbs, bits, self.threads)

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        check_range(matrix, bits)
        if len(bases) == 0:
            return from_ints([1] * matrix.shape[1], ring.width)
        entries = np.ascontiguousarray(matrix, dtype=np.int64)
        sums = _paillier.combine(self._prepared(ring), rows(bases), entries, bits, self.threads)
        # The kernel shifts entries to be non-negative; its last result is what the shift multiplied in everywhere.
        correction = gmpy2.invert(to_mpz(sums[-1:])[0], ring.modulus)
        return self.multiply(ring, sums[:-1], from_ints([correction], ring.width))

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        return _paillier.pack(self._prepared(ring), rows(values), slots, slot_bits, self.threads)

    def table(self, ring: Ring, bases: Limbs, window: int) -> PreparedPowers:
        return _paillier.table(self._prepared(ring), rows(bases), window, self.threads)

    def look_up(self, table: PreparedPowers, digits: Digits) -> Limbs:
        return _paillier.look_up(table, np.ascontiguousarray(digits, dtype=np.uint8), self.threads)

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        if first.modulus < second.modulus:
            first, second, left, right = second, first, right, left
        inverse = from_ints([gmpy2.invert(second.modulus, first.modulus)], first.width)[0]
        modulus = from_ints([second.modulus], second.width)[0]
        width = width_for(int(first.modulus * second.modulus))
        prepared = self._prepared(first)
        return _paillier.join(prepared, modulus, inverse, rows(left), rows(right), width, self.threads)

    def _prepared(self, ring: Ring) -> _paillier.Ring:
        """The kernel's constants for a ring: about a millisecond, so they are kept."""
        if self.path not in ring.prepared:
            root = from_ints([ring.root], width_for(ring.root + 1))[0]
            ring.prepared[self.path] = _paillier.ring(self.path, root, ring.degree)
        prepared: _paillier.Ring = ring.prepared[self.path]
        return prepared


def rows(limbs: Limbs) -> Limbs:
    """The form that the kernel reads; a copy only where the caller's rows are not contiguous."""
    return np.ascontiguousarray(limbs, dtype=np.uint64)
