"""Factors of a Fourier series whose argument is shared: the angle of a sum is the sum of the shares' angles.

sin(a + b) = sin a cos b + cos a sin b, so a series with K harmonics is one inner product of length 2 K per row between
what the owner and the evaluator each calculate from their own share.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Angles, LatticeEngine, Small
from plumbob.crypto.lattice.polynomial_sine import FRACTION_BITS, QUARTER

FACTOR_BITS = 20
"""Fraction bits of a factor; a product has twice as many."""


def owner_factors(engine: LatticeEngine, angles: Angles, harmonics: Sequence[int]) -> Small:
    """Cosines, then sines, of the multiples of each angle: (2 K, rows), with 20 fraction bits."""
    waves = [(harmonic, shift, 1) for shift in (QUARTER, 0) for harmonic in harmonics]
    return engine.waves(angles, waves, FRACTION_BITS - FACTOR_BITS)


def evaluator_factors(
    engine: LatticeEngine,
    angles: Angles,
    harmonics: Sequence[int],
    amplitudes: Sequence[float],
    fraction_bits: int = FACTOR_BITS,
) -> Small:
    """Sines, then cosines, each times its harmonic's amplitude, which lies between -2 and 2."""
    scaled = [round(amplitude * 2**FRACTION_BITS) for amplitude in amplitudes]
    pairs = list(zip(harmonics, scaled, strict=True))
    waves = [(harmonic, shift, scale) for shift in (0, QUARTER) for harmonic, scale in pairs]
    return engine.waves(angles, waves, 2 * FRACTION_BITS - fraction_bits)


def weighted(factors: Small, weights: NDArray[np.int64]) -> Small:
    """Factors times a number per row that only this party knows, given with 20 fraction bits."""
    return ((factors.astype(np.int64) * weights + (1 << FACTOR_BITS >> 1)) >> FACTOR_BITS).astype(np.int32)
