"""Factors of a Fourier series whose argument is shared: the angle of a sum is the sum of the shares' angles.

sin(a + b) = sin a cos b + cos a sin b, so a series with K harmonics is one inner product of length 2 K per row between
what the owner and the evaluator each calculate from their own share.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import LatticeEngine, Small
from plumbob.crypto.lattice.polynomial_sine import FRACTION_BITS

FACTOR_BITS = 20
"""Fraction bits of a factor; a product has twice as many."""

Angles = NDArray[np.uint32]


def owner_factors(engine: LatticeEngine, angles: Angles, harmonics: Sequence[int]) -> Small:
    """Cosines, then sines, of the multiples of each angle: (2 K, rows), with 20 fraction bits."""
    sines, cosines = _multiples(engine, angles, harmonics)
    return _rounded(np.concatenate([cosines, sines]).astype(np.int64), FRACTION_BITS - FACTOR_BITS)


def evaluator_factors(
    engine: LatticeEngine,
    angles: Angles,
    harmonics: Sequence[int],
    amplitudes: Sequence[float],
    fraction_bits: int = FACTOR_BITS,
) -> Small:
    """Sines, then cosines, each times its harmonic's amplitude, which lies between -2 and 2."""
    sines, cosines = _multiples(engine, angles, harmonics)
    scaled = np.array([round(amplitude * 2**FRACTION_BITS) for amplitude in (*amplitudes, *amplitudes)], dtype=np.int64)
    products = np.concatenate([sines, cosines]).astype(np.int64) * scaled[:, None]
    return _rounded(products, 2 * FRACTION_BITS - fraction_bits)


def weighted(factors: Small, weights: NDArray[np.int64]) -> Small:
    """Factors times a number per row that only this party knows, given with 20 fraction bits."""
    return _rounded(factors.astype(np.int64) * weights, FACTOR_BITS)


def _multiples(engine: LatticeEngine, angles: Angles, harmonics: Sequence[int]) -> tuple[Small, Small]:
    return engine.sines(np.array(harmonics, dtype=np.uint32)[:, None] * np.asarray(angles, dtype=np.uint32))


def _rounded(values: NDArray[np.int64], dropped: int) -> Small:
    return ((values + (1 << (dropped - 1))) >> dropped).astype(np.int32)
