"""The budget of released labels: a release beyond what epsilon was set for stops the run."""

import numpy as np
from numpy.typing import NDArray

from plumbob.errors import BudgetExceededError
from plumbob.privacy.label_noise import LabelCost


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
