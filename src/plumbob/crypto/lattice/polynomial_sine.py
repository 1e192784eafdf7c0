"""Sines and cosines by an integer polynomial: no table, no branch, the same bits on every machine.

An angle is a 32-bit number in units of a turn / 2**32, so that sums wrap as angles do. Results have 30 fraction bits.
"""

import numpy as np
from numpy.typing import NDArray

FRACTION_BITS = 30
QUARTER = 1 << 30
HALF = 1 << 31
# sin(pi z / 2) = z P(z**2) on [0, 1]: a least-squares fit on Chebyshev points, in units of 2**-30, lowest first.
COEFFICIENTS = (1686629713, -693598663, 85569264, -5026851, 172032, -3670)


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
