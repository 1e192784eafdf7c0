"""What noisy residuals cost, for labels: zero-concentrated privacy, and the Gaussian mechanism's exact curve beside it.

If the label party updates with the very vector that it released, flipping one label moves one entry of each release
that the row is in, by twice the approximation's label weight: 4 in Taylor's, 1 in the others. One visit costs
rho = sensitivity**2 / (2 std**2), a run as many times that as a row is visited, whatever the peer does in between.

The zCDP figure is a theorem for the discrete Gaussian that is really drawn. The analytic one (Balle and Wang 2018) is
for the continuous Gaussian; on a grid as fine as ours the two hardly differ, but only the first is proved.

scipy is imported where it is used: every party loads this module, and few plans need it.
"""

import math
import sys
from dataclasses import dataclass
from functools import lru_cache

from plumbob.errors import PrivacyError

SMALLEST_LOGARITHM = math.log(sys.float_info.min)


@dataclass(frozen=True)
class LabelCost:
    """A run's cost for one label: noise of this deviation on residuals of this sensitivity, for so many visits."""

    std: float
    sensitivity: float
    visits: int

    @property
    def rho_per_visit(self) -> float:
        return self.sensitivity**2 / (2 * self.std**2)

    @property
    def rho(self) -> float:
        """zCDP of the whole run."""
        return self.visits * self.rho_per_visit

    def zcdp_epsilon(self, delta: float) -> float:
        """The proved epsilon at this delta."""
        return zcdp_epsilon(self.rho, delta)

    def analytic_epsilon(self, delta: float) -> float:
        """The continuous Gaussian's epsilon at this delta."""
        return gaussian_epsilon(math.sqrt(2 * self.rho), delta)


def calibrated_std(epsilon: float, delta: float, sensitivity: float, visits: int) -> float:
    """The smallest deviation whose analytic epsilon is at most `epsilon`."""
    from scipy.optimize import brentq

    if not epsilon > 0 or not 0 < delta < 1:
        raise PrivacyError(f"expected epsilon above 0 and delta between 0 and 1, got {epsilon} and {delta}")
    shift = sensitivity * math.sqrt(visits)

    def excess(log_std: float) -> float:
        return gaussian_delta(shift / math.exp(log_std), epsilon) - delta

    return math.exp(float(brentq(excess, math.log(shift) - 12, math.log(shift) + 40, xtol=1e-12)))


# A plan asks for the same figure thousands of times while it is checked.
@lru_cache(maxsize=64)
def proved_std(epsilon: float, delta: float, sensitivity: float, visits: int) -> float:
    """The smallest deviation whose proved epsilon is at most `epsilon`: what `sound` promises."""
    from scipy.optimize import brentq

    if not epsilon > 0 or not 0 < delta < 1:
        raise PrivacyError(f"expected epsilon above 0 and delta between 0 and 1, got {epsilon} and {delta}")
    shift = sensitivity * math.sqrt(visits)

    def excess(log_std: float) -> float:
        return zcdp_epsilon(shift**2 / (2 * math.exp(2 * log_std)), delta) - epsilon

    found = math.exp(float(brentq(excess, math.log(shift) - 12, math.log(shift) + 40, xtol=1e-12)))
    # Above the root by more than the search's own error: a promise is not rounded down.
    return found * (1 + 1e-9)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon that rho-zCDP gives at this delta (Canonne, Kamath, Steinke 2020, Proposition 12)."""
    from scipy.optimize import minimize_scalar

    if rho == 0:
        return 0.0

    def bound(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return rho * order + (math.log1p(-1 / order) - math.log(delta * order) / (order - 1))

    best = minimize_scalar(bound, bounds=(-10, 20), method="bounded", options={"xatol": 1e-10})
    return max(0.0, float(best.fun))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta of one Gaussian release whose mean moves by mu standard deviations (Balle and Wang 2018, Theorem 8)."""
    from scipy.special import log_ndtr

    left = float(log_ndtr(mu / 2 - epsilon / mu))
    if left < SMALLEST_LOGARITHM:
        return 0.0  # Two numbers too small to tell apart, of which the second is the smaller one.
    right = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(left) * -math.expm1(right - left)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon at this delta."""
    from scipy.optimize import brentq

    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-12))
