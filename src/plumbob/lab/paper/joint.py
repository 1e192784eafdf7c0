"""A run with all columns side by side, as only an auditor has it, and what the paper's theorems on noise say of it.

Lemma 6.3 and Theorem 6.4 promise utility, Theorem 6.6 limits how fast scores drift. They are for two parties, Taylor's
approximation and no penalty. A promise far above what happened is still kept: these are worst cases.
"""

from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking.study import noise_std
from plumbob.data import Batch
from plumbob.lab import bounds
from plumbob.lab.audit.truth import Truth
from plumbob.model.logistic import signs_of
from plumbob.plan.sigmoids import SIGMOIDS

FAILURE = 0.01
"""The delta of the theorems: the chance that a promise is broken."""
PENALTIES = np.logspace(-6, 1, 15)
"""Penalties of ridge solutions: Theorem 6.4 allows any reference point, and one of these gives the best promise."""


@dataclass(frozen=True, repr=False, eq=False)
class JointRun:
    """All columns of a run side by side, and the joint weights before each step."""

    X: Matrix
    signs: Vector
    weights: Matrix
    """The weights before each step, one row per step."""
    batches: list[Batch]
    truth: Truth

    @classmethod
    def of(cls, truth: Truth) -> "JointRun":
        """The joint run from all parties' views."""
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
        """The largest score before each step, over all rows."""
        return [float(np.abs(self.X @ before).max()) for before in self.weights]

    def steps_within(self, limit: float) -> int:
        """How many first steps have all scores below the limit."""
        return next((step for step, score in enumerate(self.largest_scores) if score >= limit), len(self.weights))

    def steps_without_failure(self) -> int:
        """How many first steps have -sign(residual) as the label of every row of the batch (Criterion 4.2)."""
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
        """Taylor's loss, up to a constant (section 6)."""
        return float(np.mean((self.X @ weights - 2 * self.signs) ** 2) / 8)

    def ridge_solutions(self) -> list[Vector]:
        """The ridge solutions with each of `PENALTIES` per row."""
        gram, right = self.X.T @ self.X, self.X.T @ (2 * self.signs)
        return [np.linalg.solve(gram + penalty * len(self.X) * np.eye(len(gram)), right) for penalty in PENALTIES]


@dataclass(frozen=True)
class Promise:
    """What a theorem says of a run, and what was measured."""

    promised: float
    measured: float
    is_kept: bool


def promises(run: JointRun) -> dict[str, Promise]:
    """The promises of Lemma 6.3 and Theorems 6.4 and 6.6 for a run with noise, by name."""
    plan, n_steps, row_norm = run.truth.plan, len(run.weights), run.row_norm
    noise = max(noise_std(plan, party.role) for party in plan.learners)
    # The paper's u, for rows of norm 1.
    unit_error = bounds.gradient_error_bound(noise, min(map(len, run.batches)), n_steps, FAILURE)
    error, largest = unit_error * row_norm, float(run.noise_norms().max())
    promised, loss = _promised_loss(run, error), run.loss(run.weights.mean(axis=0))
    drift = bounds.noisy_safe_steps(plan.rate, unit_error, run.largest_scores[0], row_norm)
    steps = run.steps_within(2.0)
    return {
        "Lemma 6.3": Promise(error, largest, largest <= error),
        "Theorem 6.4": Promise(promised, loss, loss <= promised),
        # A run may be over before the promise is.
        "Theorem 6.6": Promise(float(drift), float(steps), steps >= min(drift, n_steps)),
    }


def _promised_loss(run: JointRun, error: float) -> float:
    """The best bound of Theorem 6.4 over all reference points."""
    # Criterion of section 6: a bound on weights bounds every row's gradient.
    gradient = (float(np.linalg.norm(run.weights, axis=1).max()) * run.row_norm + 2) * run.row_norm / 4
    return min(
        run.loss(reference)
        + bounds.utility_gap(
            gradient,
            float(np.linalg.norm(run.weights - reference, axis=1).max()),
            error,
            len(run.weights),
            FAILURE,
        )
        for reference in run.ridge_solutions()
    )
