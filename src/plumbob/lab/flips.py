"""Labels flipped by randomised response.

A label that is flipped once with probability q = 1 / (1 + e**epsilon) has pure epsilon, whatever is done with it;
y / (1 - 2 q) of it in place of y keeps gradients unbiased.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.plan.study import flip_probability, label_scale


def flipped_signs(signs: Vector, epsilon: float, random_bytes: bytes) -> Vector:
    """Labels as -1/+1, each flipped by randomised response and scaled so that gradients stay unbiased."""
    if epsilon == 0:
        return signs
    flipped = flips(len(signs), epsilon, lambda count: random_bytes[:count])
    return np.where(flipped, -signs, signs) * label_scale(epsilon)


def flips(count: int, epsilon: float, draw: Callable[[int], bytes]) -> NDArray[np.bool_]:
    """Which labels are flipped, from random bytes; a probability is rounded up to a multiple of 2**-64."""
    threshold = math.ceil(flip_probability(epsilon) * 2.0**64)
    uniform = np.frombuffer(draw(8 * count), dtype="<u8")
    return uniform < np.uint64(min(threshold, 2**64 - 1))
