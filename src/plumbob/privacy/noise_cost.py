"""Noise on labels and gradients: the paper's formulas, flipped labels, a run's budget, and what noise costs in AUC.

The paper's formulas (Theorem D.5) are heuristic by its own words: party A updates with its exact residuals, so its
weights are not post-processing of what it released, and they need the epochs and the steps, of which the paper fixes
only T = 30. A label that is flipped once with probability q = 1 / (1 + e**epsilon) has pure epsilon, whatever is done
with it; y / (1 - 2 q) of it in place of y keeps gradients unbiased.

The cost in AUC follows from public numbers alone. Along each scaled column descent is that of a parabola: the weight
approaches its end, and the noise of every step is carried on by the steps that follow. Scores of two normal classes
whose log-odds they are have the variance of their separation within a class; the noise adds its own. docs/privacy.md
compares it with runs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from plumbob.errors import BudgetExceededError
from plumbob.plan.settings import flip_probability
from plumbob.privacy.accounting import LabelCost


@dataclass(frozen=True)
class HeuristicNoise:
    """Everything that the two formulas depend on, under the names of the plan."""

    epsilon: float
    delta: float
    gradient_norm: float  # G: bounds one row's gradient; above 1/2
    epochs: int  # e: how often one row is visited
    n_steps: int  # T
    learning_rate: float
    batch_size: int

    def label_party_std(self) -> float:
        """sigma_A, the deviation on the label party's residuals."""
        return self._std(self.label_party_sensitivity())

    def feature_party_std(self) -> float:
        """sigma_B, the deviation on a feature party's scores."""
        return self._std(self.feature_party_sensitivity())

    def label_party_sensitivity(self) -> float:
        """How far one row may move all residuals that the label party releases (Lemmas D.2 and D.3)."""
        return math.sqrt(self._drift() + 64.0 * self.gradient_norm**2 * self.epochs)

    def feature_party_sensitivity(self) -> float:
        """How far one row may move all scores that a feature party releases, which hold no label."""
        return math.sqrt(self._drift() + (8.0 * self.gradient_norm - 4.0) ** 2 * self.epochs)

    def _drift(self) -> float:
        """How far one row moves the others' residuals through the weights."""
        moved = self.gradient_norm * self.epochs * self.learning_rate
        return 8.0 * moved**2 * self.n_steps / self.batch_size

    def _std(self, sensitivity: float) -> float:
        return math.sqrt(2.0 * math.log(1.25 / self.delta)) * sensitivity / self.epsilon


def flips(count: int, epsilon: float, draw: Callable[[int], bytes]) -> NDArray[np.bool_]:
    """Which labels are flipped, from random bytes; a probability is rounded up to a multiple of 2**-64."""
    threshold = math.ceil(flip_probability(epsilon) * 2.0**64)
    uniform = np.frombuffer(draw(8 * count), dtype="<u8")
    return uniform < np.uint64(min(threshold, 2**64 - 1))


class LabelReleases:
    """Counts how often each label was released; a release beyond the agreed number of visits is refused."""

    def __init__(self, cost: LabelCost, rows: int) -> None:
        self.cost = cost
        self._visits = np.zeros(rows, dtype=np.int64)

    @property
    def spent(self) -> float:
        """The zCDP of the label that was released most often."""
        return int(self._visits.max(initial=0)) * self.cost.rho_per_visit

    def spend(self, rows: NDArray[np.intp]) -> None:
        """Book one release of these rows, or refuse it and book nothing."""
        if (self._visits[rows] >= self.cost.visits).any():
            raise BudgetExceededError(
                f"a label would be released more than {self.cost.visits} times, which is what epsilon was set for; "
                "the run stops before the bytes leave"
            )
        self._visits[rows] += 1


USUAL_AUC = 0.8
BEARABLE = 0.03
"""The largest loss of AUC that is forecast as a figure; beyond it, noise is only said to cost more."""
MOST_STEPS = 10_000
"""Most steps that are followed: after them nothing changes any more."""


@dataclass(frozen=True)
class Slope:
    """Descent along one column: the rate, the momentum, and the loss's curvature there."""

    rate: float
    momentum: float
    curvature: float

    def learned(self, steps: int) -> float:
        """The share of its way that a weight has gone after these steps, without noise."""
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


def auc_loss(variance: float, learned: float = 1.0) -> float:
    """The loss of AUC by noise of this variance in a score, where the model has learned this share of its way."""
    separation = math.sqrt(2) * NormalDist().inv_cdf(USUAL_AUC)
    beside = variance / max(learned * separation, 1e-12) ** 2
    return USUAL_AUC - NormalDist().cdf(separation / math.sqrt(2 * (1 + beside)))


def residual_noise_loss(columns: int, square: float, slope: Slope, batch: int, steps: int, deviation: float) -> float:
    """The loss of AUC by noise of this deviation on each residual of each batch, in units of the gradient.

    `square` is a scaled value's mean square: 1, or less where rows are clipped.
    """
    in_gradient = deviation**2 * square / max(batch, 1)
    variance = columns * square * in_gradient * slope.accumulated(steps)
    return auc_loss(variance, slope.learned(steps))
