"""What noise on gradients costs in AUC, from public numbers alone: how much of it ends up in a score, beside the score.

Along each scaled column descent is that of a parabola: the weight approaches its end, and the noise of every step is
carried on by the steps that follow. Scores of two normal classes whose log-odds they are have the variance of their
separation within a class; the noise adds its own. docs/privacy.md compares it with runs.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

USUAL_AUC = 0.8
BEARABLE = 0.03
"""Up to it a forecast is a figure; beyond it all that can be said is that noise costs more than this."""
MOST_STEPS = 10_000
"""Beyond them nothing changes any more."""


@dataclass(frozen=True)
class Slope:
    """Descent along one column: the rate, the momentum, and the loss's curvature there."""

    rate: float
    momentum: float
    curvature: float

    def learned(self, steps: int) -> float:
        """Which share of its way a weight has gone after these steps, without noise."""
        left, step = 1.0, 0.0
        for _ in range(min(steps, MOST_STEPS)):
            step = self.momentum * step - self.rate * self.curvature * left
            left += step
        return 1.0 - left

    def accumulated(self, steps: int) -> float:
        """The variance of a weight at the end, for noise of variance 1 in each step's gradient."""
        weight, step, total = -self.rate, -self.rate, self.rate**2
        for _ in range(min(steps, MOST_STEPS) - 1):
            step = self.momentum * step - self.rate * self.curvature * weight
            weight += step
            total += weight**2
        return total


def auc_loss(variance: float, learned: float = 1.0, auc: float = USUAL_AUC) -> float:
    """How much AUC noise of this variance in a score costs, where the model has learned this share of its way."""
    separation = math.sqrt(2) * NormalDist().inv_cdf(auc)
    beside = variance / max(learned * separation, 1e-12) ** 2
    return auc - NormalDist().cdf(separation / math.sqrt(2 * (1 + beside)))


def residual_noise_loss(
    columns: int, square: float, slope: Slope, batch: int, steps: int, deviation: float, auc: float = USUAL_AUC
) -> float:
    """Of noise of this deviation on each residual of each batch, in units of the gradient.

    `square` is a scaled value's mean square: 1, or less where rows are clipped.
    """
    in_gradient = deviation**2 * square / max(batch, 1)
    variance = columns * square * in_gradient * slope.accumulated(steps)
    return auc_loss(variance, slope.learned(steps), auc)
