"""The paper's theorems about its countermeasure, beside what a run really did.

Lemma 6.3 and Theorem 6.4 promise utility, Theorem 6.6 limits how fast scores drift. They are for two parties, Taylor's
approximation and no penalty. A promise far above what happened is still kept: these are worst cases.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking.study import noise_std
from plumbob.data import Batch
from plumbob.lab import bounds
from plumbob.lab.audit.truth import Truth
from plumbob.model.logistic import signs_of
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS

FAILURE = 0.01
"""The delta of the theorems: the chance that a promise is broken."""
PENALTIES = np.logspace(-6, 1, 15)
"""Penalties of ridge solutions: Theorem 6.4 allows any reference point, and one of these gives the best promise."""


@dataclass(frozen=True)
class Promise:
    """One theorem of the paper: what it says of a run, and what was measured."""

    theorem: str
    says: str
    promised: float
    measured: float
    is_kept: bool


@dataclass(frozen=True)
class Countermeasure:
    """The numbers that the theorems depend on. `row_norm` is the largest norm of a joint row, intercept included."""

    noise: float
    batch_size: int
    n_steps: int
    learning_rate: float
    row_norm: float
    largest_start: float
    """The largest abs(score) at the start."""

    @property
    def unit_error(self) -> float:
        """The paper's u, for rows of norm 1."""
        return bounds.gradient_error_bound(self.noise, self.batch_size, self.n_steps, FAILURE)

    @property
    def error(self) -> float:
        return self.unit_error * self.row_norm

    @property
    def drift_steps(self) -> int:
        return bounds.noisy_safe_steps(self.learning_rate, self.unit_error, self.largest_start, self.row_norm)

    def gap(self, gradient_norm: float, distance: float) -> float:
        """The gap of Theorem 6.4, at the learning rate of its proof."""
        return bounds.utility_gap(gradient_norm, distance, self.error, self.n_steps, FAILURE)


@dataclass(frozen=True, repr=False, eq=False)
class JointRun:
    """All columns of a run side by side, and the joint weights before each step: what only an auditor has."""

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

    def ridge_solutions(self, penalties: NDArray[np.float64]) -> Iterator[Vector]:
        """The ridge solutions with each of these penalties per row."""
        gram, right = self.X.T @ self.X, self.X.T @ (2 * self.signs)
        for penalty in penalties:
            yield np.linalg.solve(gram + penalty * len(self.X) * np.eye(len(gram)), right)


def why_not(plan: Plan) -> str | None:
    """Why the theorems say nothing of a plan, or None."""
    if not any(noise_std(plan, party.role) > 0 for party in plan.learners):
        return "there is no noise"
    if plan.sigmoid != "taylor" or plan.l2 or plan.weighs_rows or plan.label_flip_epsilon:
        return "they are for Taylor's approximation, without penalty, weights and flipped labels"
    return None if len(plan.learners) == 2 else "they are for two parties"


NOISE_SAYS = "norm of the noise in any gradient, at most"
LOSS_SAYS = "Taylor's loss of the mean weights, at most"
DRIFT_SAYS = "first steps in which every abs(score) stays below 2, at least; it limits drift, not what noise hides"


def measured(truth: Truth) -> list[Promise]:
    """Promises for a run, with its own rows, weights and reference point, beside what it did."""
    plan = truth.plan
    if why_not(plan) is not None or not all(view.has_sums for view in truth.views.values() if view.X.shape[1]):
        return []
    return list(_promises_kept(plan, JointRun.of(truth)))


def _promises_kept(plan: Plan, joint: JointRun) -> Iterator[Promise]:
    n_steps, row_norm = len(joint.weights), joint.row_norm
    start = float(np.abs(joint.X @ joint.weights[0]).max())
    found = Countermeasure(_noise(plan), min(map(len, joint.batches)), n_steps, plan.rate, row_norm, start)
    largest = float(joint.noise_norms().max())
    yield Promise("Lemma 6.3", NOISE_SAYS, found.error, largest, largest <= found.error)
    # Criterion of section 6: a bound on weights bounds every row's gradient.
    most = (float(np.linalg.norm(joint.weights, axis=1).max()) * row_norm + 2) * row_norm / 4
    loss = joint.loss(joint.weights.mean(axis=0))
    reference = min(joint.ridge_solutions(PENALTIES), key=lambda one: _promised_loss(found, joint, most, one))
    promised = _promised_loss(found, joint, most, reference)
    away = float(np.linalg.norm(joint.weights[0] - reference))
    rate = bounds.utility_learning_rate(most, away, found.error, n_steps)
    says = f"{LOSS_SAYS} (proved at a learning rate of {rate:.2g}, the plan's is {plan.rate:g})"
    yield Promise("Theorem 6.4", says, promised, loss, loss <= promised)
    steps = joint.steps_within(2.0)
    # A run may be over before the promise is.
    is_kept = steps >= min(found.drift_steps, n_steps)
    yield Promise("Theorem 6.6", DRIFT_SAYS, float(found.drift_steps), float(steps), is_kept)


def _promised_loss(found: Countermeasure, joint: JointRun, most: float, reference: Vector) -> float:
    distance = float(np.linalg.norm(joint.weights - reference, axis=1).max())
    return joint.loss(reference) + found.gap(most, distance)


def _noise(plan: Plan) -> float:
    return max(noise_std(plan, party.role) for party in plan.learners)
