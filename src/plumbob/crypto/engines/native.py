"""The fast engine: the C++ kernel in `native/`, several residues per instruction and several threads, without the GIL.

Importing this module raises ImportError where the kernel was not built. What the kernel cannot do without a division
(inverses) is done here, on gmpy2's integers.
"""

import gmpy2
import numpy as np

from plumbob.crypto.engines import _kernel
from plumbob.crypto.engines.interface import (
    Digits,
    IntegerMatrix,
    KernelEngine,
    PlainEngine,
    PreparedPowers,
    Ring,
    check_range,
)
from plumbob.crypto.limbs import Limbs, from_ints, to_mpz, width_for


def available_paths() -> list[str]:
    """The instruction sets that the kernel can use on this machine, best first; "portable" is always the last."""
    return _kernel.available_paths()


class NativeEngine(KernelEngine, PlainEngine):
    """Modular arithmetic in the kernel."""

    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        super().__init__(available_paths(), path, threads)

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        return _kernel.multiply(self._prepared(ring), rows(left), rows(right), self.threads)

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        if exponent < 0:
            raise ValueError("expected an exponent of 0 or more, got a negative one: invert the bases first")
        # Only the length shows: the kernel reads every entry of its table whatever the bits are.
        bits = int(exponent).bit_length()
        limbs = from_ints([exponent], width_for(1 << max(bits, 1)))[0]
        return _kernel.power(self._prepared(ring), rows(bases), limbs, bits, self.threads)

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        check_range(matrix, bits)
        if len(bases) == 0:
            return from_ints([1] * matrix.shape[1], ring.width)
        entries = np.ascontiguousarray(matrix, dtype=np.int64)
        sums = _kernel.combine(self._prepared(ring), rows(bases), entries, bits, self.threads)
        # The kernel shifts entries to be non-negative; its last result is what the shift multiplied in everywhere.
        correction = gmpy2.invert(to_mpz(sums[-1:])[0], ring.modulus)
        return self.multiply(ring, sums[:-1], from_ints([correction], ring.width))

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        return _kernel.pack(self._prepared(ring), rows(values), slots, slot_bits, self.threads)

    def table(self, ring: Ring, bases: Limbs, window: int) -> PreparedPowers:
        return _kernel.table(self._prepared(ring), rows(bases), window, self.threads)

    def look_up(self, table: PreparedPowers, digits: Digits) -> Limbs:
        return _kernel.look_up(table, np.ascontiguousarray(digits, dtype=np.uint8), self.threads)

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        if first.modulus < second.modulus:
            first, second, left, right = second, first, right, left
        inverse = from_ints([gmpy2.invert(second.modulus, first.modulus)], first.width)[0]
        modulus = from_ints([second.modulus], second.width)[0]
        width = width_for(int(first.modulus * second.modulus))
        prepared = self._prepared(first)
        return _kernel.join(prepared, modulus, inverse, rows(left), rows(right), width, self.threads)

    def _prepared(self, ring: Ring) -> _kernel.Ring:
        """The kernel's constants for a ring: about a millisecond, so they are kept."""
        if self.path not in ring.prepared:
            root = from_ints([ring.root], width_for(ring.root + 1))[0]
            ring.prepared[self.path] = _kernel.ring(self.path, root, ring.degree)
        prepared: _kernel.Ring = ring.prepared[self.path]
        return prepared


def rows(limbs: Limbs) -> Limbs:
    """The form that the kernel reads; a copy only where the caller's rows are not contiguous."""
    return np.ascontiguousarray(limbs, dtype=np.uint64)
