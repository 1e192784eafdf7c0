"""From zero-concentrated privacy to epsilon, and the Gaussian mechanism's exact curve.

The zCDP figure is a theorem for the discrete Gaussian that is really drawn. The analytic one (Balle and Wang 2018) is
for the continuous Gaussian; on a grid as fine as ours the two hardly differ, but only the first is proved.

scipy is imported where it is used, and what noise for rows is calibrated by uses none of it: both parties must come to
the same whole number, and they rarely have the same version of scipy.
"""

import math
import sys
from collections.abc import Callable

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
SMALLEST_LOGARITHM = math.log(sys.float_info.min)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon that rho-zCDP gives at this delta (Canonne, Kamath, Steinke 2020, Proposition 12).

    Every order gives a valid epsilon, so that a search that stops early promises too little, never too much.
    """
    if rho == 0:
        return 0.0

    def bound(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return rho * order + (math.log1p(-1 / order) - math.log(delta * order) / (order - 1))

    return max(0.0, _least(bound, -10.0, 20.0))


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a function that falls and then rises, by golden section down to floating-point precision."""
    first, second = (high - GOLDEN * (high - low), low + GOLDEN * (high - low))
    at_first, at_second = function(first), function(second)
    while high - low > 1e-10:
        if at_first < at_second:
            high, second, at_second = second, first, at_first
            first = high - GOLDEN * (high - low)
            at_first = function(first)
        else:
            low, first, at_first = first, second, at_second
            second = low + GOLDEN * (high - low)
            at_second = function(second)
    return min(at_first, at_second)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta of one Gaussian release whose mean moves by mu standard deviations (Balle and Wang 2018, Theorem 8)."""
    from scipy.special import log_ndtr

    left = float(log_ndtr(mu / 2 - epsilon / mu))
    if left < SMALLEST_LOGARITHM:
        return 0.0  # Two numbers too small to tell apart, of which the second is the smaller one.
    right = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(left) * -math.expm1(right - left)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon of one Gaussian release at this delta."""
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(mu, high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high
