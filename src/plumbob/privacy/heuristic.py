"""The paper's noise formulas (Theorem D.5): heuristic by its own words, not a guarantee.

Party A updates with its exact residuals, so its weights are not post-processing of what it released, and the
sensitivity is argued for a fixed sequence only. The formulas also need the epochs and the steps, of which the paper
fixes only T = 30. Rows have norm at most 1 and learning_rate is at most 1.
"""

import math
from dataclasses import dataclass


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
        """sigma_A, on the label party's residuals."""
        return self._std(self.label_party_sensitivity())

    def feature_party_std(self) -> float:
        """sigma_B, on a feature party's scores."""
        return self._std(self.feature_party_sensitivity())

    def label_party_sensitivity(self) -> float:
        """How far one row may move all residuals that the label party releases (Lemmas D.2 and D.3)."""
        return math.sqrt(self._drift() + 64.0 * self.gradient_norm**2 * self.epochs)

    def feature_party_sensitivity(self) -> float:
        """The same for a feature party's scores, which hold no label."""
        return math.sqrt(self._drift() + (8.0 * self.gradient_norm - 4.0) ** 2 * self.epochs)

    def _drift(self) -> float:
        """What one row does to the others' residuals through the weights."""
        moved = self.gradient_norm * self.epochs * self.learning_rate
        return 8.0 * moved**2 * self.n_steps / self.batch_size

    def _std(self, sensitivity: float) -> float:
        return math.sqrt(2.0 * math.log(1.25 / self.delta)) * sensitivity / self.epsilon
