"""All columns of a run side by side, and the joint weights before each step: what only an auditor has."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data import Batch
from plumbob.lab.audit.truth import Truth
from plumbob.model.logistic import signs_of
from plumbob.plan.sigmoids import SIGMOIDS


@dataclass(frozen=True, repr=False, eq=False)
class JointRun:
    """Of a run whose parties' views are all here."""

    X: Matrix
    signs: Vector
    weights: Matrix
    """Before each step, one row per step."""
    batches: list[Batch]
    truth: Truth

    @classmethod
    def of(cls, truth: Truth) -> "JointRun":
        """Put together from all parties' views."""
        views = list(truth.views.values())
        return cls(
            np.hstack([view.X for view in views]),
            signs_of(truth.is_positive),
            np.hstack([view.weights_before for view in views]),
            views[0].batches,
            truth,
        )

    @property
    def row_norm(self) -> float:
        return float(np.linalg.norm(self.X, axis=1).max())

    @property
    def largest_scores(self) -> list[float]:
        """Before each step, over all rows."""
        return [float(np.abs(self.X @ before).max()) for before in self.weights]

    def steps_within(self, limit: float) -> int:
        """First steps before which every score is smaller."""
        return next((step for step, score in enumerate(self.largest_scores) if score >= limit), len(self.weights))

    def steps_without_failure(self) -> int:
        """First steps in which -sign(residual) is the label of every row of the batch (Criterion 4.2)."""
        for step, (batch, before) in enumerate(zip(self.batches, self.weights, strict=True)):
            residuals = SIGMOIDS[self.truth.plan.sigmoid].residuals(self.X[batch.rows] @ before, self.signs[batch.rows])
            if (residuals * self.signs[batch.rows] >= 0).any():
                return step
        return len(self.batches)

    def noise_norms(self) -> Vector:
        """The norm of the noise's part in each of Taylor's gradients."""
        views = self.truth.views.values()
        sums = np.hstack([view.sums if view.own_noise is None else view.sums + view.own_noise for view in views])
        norms = []
        for batch, before, noisy in zip(self.batches, self.weights, sums, strict=True):
            own = self.X[batch.rows]
            exact = (own @ before - 2 * self.signs[batch.rows]) @ own
            norms.append(np.linalg.norm(noisy - exact) / (4 * len(batch)))
        return np.array(norms)

    def loss(self, weights: Vector) -> float:
        """Taylor's, up to a constant (section 6)."""
        return float(np.mean((self.X @ weights - 2 * self.signs) ** 2) / 8)

    def ridge_solutions(self, penalties: NDArray[np.float64]) -> Iterator[Vector]:
        """With each of these penalties per row."""
        gram, right = self.X.T @ self.X, self.X.T @ (2 * self.signs)
        for penalty in penalties:
            yield np.linalg.solve(gram + penalty * len(self.X) * np.eye(len(gram)), right)
