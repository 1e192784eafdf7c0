"""Labels flipped by randomised response."""

import numpy as np

from plumbob.arrays import Vector
from plumbob.plan.study import label_scale
from plumbob.privacy.label_noise import flips


def flipped_signs(signs: Vector, epsilon: float, random_bytes: bytes) -> Vector:
    """Labels as -1/+1, each flipped by randomised response and scaled so that gradients stay unbiased."""
    if epsilon == 0:
        return signs
    flipped = flips(len(signs), epsilon, lambda count: random_bytes[:count])
    return np.where(flipped, -signs, signs) * label_scale(epsilon)
