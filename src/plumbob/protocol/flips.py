"""Labels flipped by randomised response."""

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.plan import Plan
from plumbob.plan.settings import label_scale
from plumbob.privacy.noise_cost import flips


def flipped_signs(signs: Vector, epsilon: float, random_bytes: bytes) -> Vector:
    """Labels as -1/+1, each flipped by randomised response and scaled so that gradients stay unbiased."""
    if epsilon == 0:
        return signs
    flipped = flips(len(signs), epsilon, lambda count: random_bytes[:count])
    return np.where(flipped, -signs, signs) * label_scale(epsilon)


def flipped_labels(plan: Plan, y: NDArray[np.int8] | None, signs: Vector | None) -> NDArray[np.bool_] | None:
    """Which labels (0/1) differ from those that training used; None where none could."""
    if plan.label_flip_epsilon == 0 or y is None or signs is None:
        return None
    is_flipped: NDArray[np.bool_] = (signs > 0) != (y == 1)
    return is_flipped
