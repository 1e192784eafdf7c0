"""What the paper's noise costs a label: its own formulas, and the noise for which epsilon is proved.

If the label party updates with the very vector that it released, flipping one label moves one entry of each release
that the row is in, by twice the approximation's label weight: 4 in Taylor's, 1 in the others. One visit costs
rho = sensitivity**2 / (2 std**2), a run as many times that as a row is visited, whatever the peer does in between.

The paper's formulas (Theorem D.5) are heuristic by its own words: party A updates with its exact residuals, so its
weights are not post-processing of what it released, and they need the epochs and the steps, of which the paper fixes
only T = 30.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from plumbob.errors import PrivacyError
from plumbob.privacy.accounting import gaussian_epsilon, zcdp_epsilon


@dataclass(frozen=True)
class LabelCost:
    """A run's cost for one label: noise of this deviation on residuals of this sensitivity, for this many visits."""

    std: float
    sensitivity: float
    visits: int

    @property
    def rho_per_visit(self) -> float:
        return self.sensitivity**2 / (2 * self.std**2)

    @property
    def rho(self) -> float:
        """The zCDP of the whole run."""
        return self.visits * self.rho_per_visit

    def zcdp_epsilon(self, delta: float) -> float:
        """The proved epsilon at this delta."""
        return zcdp_epsilon(self.rho, delta)

    def analytic_epsilon(self, delta: float) -> float:
        """The continuous Gaussian's epsilon at this delta."""
        return gaussian_epsilon(math.sqrt(2 * self.rho), delta)


# A plan asks for the same figure thousands of times while it is checked.
@lru_cache(maxsize=64)
def proved_std(epsilon: float, delta: float, sensitivity: float, visits: int) -> float:
    """The smallest deviation whose proved epsilon is at most `epsilon`, as `sound` promises."""
    from scipy.optimize import brentq

    if not epsilon > 0 or not 0 < delta < 1:
        raise PrivacyError(f"expected epsilon above 0 and delta between 0 and 1, got {epsilon} and {delta}")
    shift = sensitivity * math.sqrt(visits)

    def excess(log_std: float) -> float:
        return zcdp_epsilon(shift**2 / (2 * math.exp(2 * log_std)), delta) - epsilon

    found = math.exp(float(brentq(excess, math.log(shift) - 12, math.log(shift) + 40, xtol=1e-12)))
    # Above the root by more than the search's own error: a promise is not rounded down.
    return found * (1 + 1e-9)


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
