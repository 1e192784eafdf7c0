"""The discrete Gaussian on the integers, exactly: rational arithmetic on uniform draws, no floating-point number.

The sampler of Canonne, Kamath and Steinke (The Discrete Gaussian for Differential Privacy, 2020, algorithms 1 to 3):
a discrete Laplace proposal, accepted with a probability exp(-gamma) that is decided by coin flips.
"""

from collections.abc import Callable
from fractions import Fraction
from math import floor, isqrt

Below = Callable[[int], int]
"""Uniform in [0, bound): where the randomness comes from."""


def sample(variance: Fraction, below: Below) -> int:
    """An integer x with probability proportional to exp(-x**2 / (2 variance))."""
    scale = isqrt(floor(variance)) + 1
    while True:
        proposal = _laplace(scale, below)
        if _exponential_coin((abs(proposal) - variance / scale) ** 2 / (2 * variance), below):
            return proposal


def _laplace(scale: int, below: Below) -> int:
    """An integer x with probability proportional to exp(-abs(x) / scale)."""
    while True:
        fraction = below(scale)
        if not _exponential_coin(Fraction(fraction, scale), below):
            continue
        whole = 0
        while _exponential_coin(Fraction(1), below):
            whole += 1
        magnitude = fraction + scale * whole
        is_negative = below(2) == 1
        # Zero has one sign only, or it would come twice as often.
        if magnitude or not is_negative:
            return -magnitude if is_negative else magnitude


def _exponential_coin(gamma: Fraction, below: Below) -> bool:
    """True with probability exp(-gamma), for gamma >= 0."""
    while gamma > 1:
        if not _small_exponential_coin(Fraction(1), below):
            return False
        gamma -= 1
    return _small_exponential_coin(gamma, below)


def _small_exponential_coin(gamma: Fraction, below: Below) -> bool:
    """True with probability exp(-gamma), for gamma in [0, 1]: von Neumann's alternating series."""
    count = 1
    while below(gamma.denominator * count) < gamma.numerator:
        count += 1
    return count % 2 == 1
