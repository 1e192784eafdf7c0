"""Randomised response on labels: each is flipped once, before training, with probability q = 1 / (1 + e**epsilon).

Whatever is done with the flipped labels afterwards, each label has pure epsilon. Every approximation's residual is
curve(z) - c y, so that y / (1 - 2 q) of the flipped label in place of y keeps gradients unbiased.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def flip_probability(epsilon: float) -> float:
    """q; 0 where randomised response is off (epsilon 0)."""
    return 0.0 if epsilon == 0 else 1.0 / (1.0 + math.exp(epsilon))


def label_scale(epsilon: float) -> float:
    """1 / (1 - 2q): what a flipped label is multiplied with in training."""
    return 1.0 / (1.0 - 2.0 * flip_probability(epsilon))


def flips(count: int, epsilon: float, draw: Callable[[int], bytes]) -> NDArray[np.bool_]:
    """Which labels are flipped, from random bytes; a probability is rounded up to a multiple of 2**-64."""
    threshold = math.ceil(flip_probability(epsilon) * 2.0**64)
    uniform = np.frombuffer(draw(8 * count), dtype="<u8")
    return uniform < np.uint64(min(threshold, 2**64 - 1))
