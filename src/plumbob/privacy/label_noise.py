"""Noise on labels and gradients: the paper's formulas, flipped labels, and a run's budget.

The paper's formulas (Theorem D.5) are heuristic by its own words: party A updates with its exact residuals, so its
weights are not post-processing of what it released, and they need the epochs and the steps, of which the paper fixes
only T = 30. A label that is flipped once with probability q = 1 / (1 + e**epsilon) has pure epsilon, whatever is done
with it; y / (1 - 2 q) of it in place of y keeps gradients unbiased.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.errors import BudgetExceededError
from plumbob.plan.study import flip_probability
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
