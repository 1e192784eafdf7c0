"""Factors of a Fourier series whose argument is shared: the angle of a sum is the sum of the shares' angles.

sin(a + b) = sin a cos b + cos a sin b, so a series with K harmonics is one inner product of length 2 K per row between
what the owner and the evaluator each calculate from their own share.

Sines are those of an integer polynomial: no table, no branch, the same bits on every machine. An angle is a 32-bit
number in units of a turn / 2**32, so that sums wrap as angles do. A sine has 30 fraction bits.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Angles, Small

if TYPE_CHECKING:  # The engine is made of what stands here.
    from plumbob.crypto.lattice.kernel import Engine

FRACTION_BITS = 30
QUARTER = 1 << 30
HALF = 1 << 31
# sin(pi z / 2) = z P(z**2) on [0, 1]: a least-squares fit on Chebyshev points, in units of 2**-30, lowest first.
COEFFICIENTS = (1686629713, -693598663, 85569264, -5026851, 172032, -3670)
FACTOR_BITS = 20
"""Fraction bits of a factor; a product has twice as many."""


def owner_factors(engine: "Engine", angles: Angles, harmonics: Sequence[int]) -> Small:
    """Cosines, then sines, of the multiples of each angle: (2 K, rows), with 20 fraction bits."""
    waves = [(harmonic, shift, 1) for shift in (QUARTER, 0) for harmonic in harmonics]
    return engine.waves(angles, waves, FRACTION_BITS - FACTOR_BITS)


def evaluator_factors(
    engine: "Engine",
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


def weigh(factors: Small, weights: NDArray[np.int64]) -> Small:
    """Multiply factors with a number per row that only this party knows, given with 20 fraction bits."""
    return ((factors.astype(np.int64) * weights + (1 << FACTOR_BITS >> 1)) >> FACTOR_BITS).astype(np.int32)


def sine(angles: NDArray[np.uint32]) -> NDArray[np.int32]:
    """The sines of angles in units of a turn / 2**32."""
    signed = angles.astype(np.uint32).view(np.int32).astype(np.int64)
    sign = signed >> 63
    size = (signed ^ sign) - sign
    # From a quarter turn on, the sine falls as it rose. The mask is all ones there and zero elsewhere.
    beyond = (QUARTER - size) >> 63
    folded = size + (beyond & (HALF - 2 * size))
    square = (folded * folded) >> FRACTION_BITS
    total = np.full(angles.shape, COEFFICIENTS[-1], dtype=np.int64)
    for coefficient in COEFFICIENTS[-2::-1]:
        total = coefficient + ((total * square) >> FRACTION_BITS)
    result = (total * folded) >> FRACTION_BITS
    signed_result: NDArray[np.int32] = ((result ^ sign) - sign).astype(np.int32)
    return signed_result
