"""`label-stacked`: the equations of all steps in one system, solved once. Beyond the paper.

View: a feature party's own columns and sums over several epochs, any number of parties. Cost: a sparse system with
epochs * rows * columns entries, some hundred products with it. Condition: epochs * own columns / batch size near 1 or
more, with reshuffled batches, however far the batch is beyond the paper's batch size <= columns.

Without the attacker's own score, a residual is -2y plus the other parties' score, which grows from its start toward
its end as 1 - (1 - learning_rate / 4)^step. So each row has two unknowns, its label's part and the end of that
growth, and an intercept is one more unknown that all rows share: with it the threshold stays at 0. Own columns are
whitened first, so that nearly dependent ones weigh as much as the others. Damped LSQR gives a start; accelerated
gradient then keeps every label's part within -2 and 2.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsqr

from plumbob.arrays import Matrix, Vector
from plumbob.callbacks import Progress
from plumbob.data import steps_per_epoch
from plumbob.workshop.attacks.equations import label_weight, noise_on_residuals, why_no_sums
from plumbob.workshop.attacks.interface import Attack, Condition, LabelClaim, NotApplicable, View

DAMPING = 0.3
DRIFT = 0.25
"""How far other parties' scores are expected to go, beside a label's part."""
LSQR_STEPS, BOX_STEPS, POWER_STEPS = 300, 300, 12
STILL = 2e-4
"""When the labels' parts move less than this share of their limit in a step, on average, the box is done."""
ENOUGH = 4.0
"""Equations per unknown beyond which another epoch brings only more drift; noise asks for all of them."""
MOST_ENTRIES = 40_000_000
"""Half a gigabyte."""


@dataclass(frozen=True, repr=False, eq=False)
class Stack:
    """All equations, one block of rows a step: labels' parts @ matrix + growth * (drifts @ matrix) = right side."""

    matrix: sparse.csr_matrix
    growth: Vector
    intercept: Vector
    """The shared unknown's column, 0 where there is no intercept."""
    right_side: Vector
    damping: float

    @property
    def rows(self) -> int:
        return int(self.matrix.shape[1])

    def apply(self, unknowns: Vector) -> Vector:
        parts = self.matrix @ unknowns[: 2 * self.rows].reshape(2, -1).T
        applied: Vector = parts[:, 0] + DRIFT * self.growth * parts[:, 1] + unknowns[-1] * self.intercept
        return applied

    def transposed(self, errors: Vector) -> Vector:
        both = self.matrix.T @ np.column_stack([errors, DRIFT * self.growth * errors])
        return np.concatenate([both[:, 0], both[:, 1], [self.intercept @ errors]])

    def gradient(self, unknowns: Vector) -> Vector:
        return self.transposed(self.apply(unknowns) - self.right_side) + self.damping**2 * unknowns

    @property
    def operator(self) -> LinearOperator:
        shape = (len(self.right_side), 2 * self.rows + 1)
        return LinearOperator(shape, matvec=self.apply, rmatvec=self.transposed, dtype=np.float64)


def recover_labels(view: View, progress: Progress | None = None) -> LabelClaim | NotApplicable:
    """Labels of all rows from all steps at once."""
    if reason := why_no_sums(view):
        return NotApplicable(reason)
    whitening = whitened(view.X)
    if whitening.shape[1] == 0:
        return NotApplicable("all own columns are 0")
    epochs = epochs_to_stack(view, whitening.shape[1])
    stack = stacked(view, whitening, epochs)
    solution = lsqr(stack.operator, stack.right_side, damp=stack.damping, iter_lim=LSQR_STEPS, atol=1e-9, btol=1e-9)[0]
    if view.plan.class_weight == "none":
        solution = boxed(stack, solution, label_weight(view), progress)
    beliefs: Vector = -solution[: view.rows] / label_weight(view)
    # A row that no batch held, or that is 0 in all own columns, has no equation.
    beliefs[stack.matrix.getnnz(axis=0) == 0] = np.nan
    found = tuple(conditions(view, whitening.shape[1], epochs))
    return LabelClaim(beliefs, np.zeros(view.rows, dtype=bool), found)


def whitened(X: Matrix) -> Matrix:
    """What own columns are multiplied with to become uncorrelated, of size 1 and independent."""
    sizes, directions = np.linalg.eigh(X.T @ X / len(X))
    is_there = sizes > 1e-9 * max(float(sizes.max()), 1e-300)
    whitening: Matrix = directions[:, is_there] / np.sqrt(sizes[is_there])
    return whitening


def epochs_to_stack(view: View, columns: int) -> int:
    """The first epochs, as many as help and as memory holds."""
    wanted = view.plan.passes
    if view.plan.noise == "none":
        wanted = min(wanted, math.ceil(ENOUGH * len(view.batches[0]) / columns))
    return max(1, min(wanted, MOST_ENTRIES // (view.rows * columns)))


def stacked(view: View, whitening: Matrix, epochs: int) -> Stack:
    """The system of the first epochs, each step's equations whitened."""
    last = epochs * steps_per_epoch(view.rows, view.plan)
    X, columns = view.X @ whitening, whitening.shape[1]
    batches = view.batches[:last]
    own_parts = [
        view.sigmoid.curve(scores) @ own for _, (_, own, scores, _) in zip(range(last), view.steps(), strict=False)
    ]
    right_side = (view.sums[:last] - np.array(own_parts)) @ whitening
    lengths = np.repeat([len(batch) for batch in batches], columns)
    matrix = sparse.csr_matrix(
        (
            np.concatenate([X[batch.rows].T.ravel() for batch in batches]),
            np.concatenate([np.tile(batch.rows, columns) for batch in batches]).astype(np.int32),
            np.concatenate([[0], np.cumsum(lengths)]),
        ),
        shape=(last * columns, view.rows),
    )
    growth = np.repeat([growth_until(view, batch.step) for batch in batches], columns)
    error = math.hypot(noise_on_residuals(view), view.residual_rounding)
    stack = Stack(
        matrix,
        growth,
        np.zeros(len(growth)),
        right_side.ravel(),
        # Noise on a residual is as large in a sum of whitened columns as the square root of its rows.
        math.hypot(DAMPING, error * math.sqrt(len(batches[0])) / label_weight(view)),
    )
    if view.plan.intercept:
        # Its scale is that of one row's unknowns, or it alone would set the length of every step.
        return replace(stack, intercept=growth * (matrix @ np.ones(view.rows)) / math.sqrt(view.rows))
    return stack


def growth_until(view: View, step: int) -> float:
    """How far towards their end scores have come before a step: each takes them a fixed share of the way."""
    slope = float(view.sigmoid.curve(np.array([1e-3]))[0]) / 1e-3
    share = min(1.0, view.plan.rate * view.sigmoid.gradient_scale * slope)
    return 1.0 - (1.0 - share) ** (step - 1)


def boxed(stack: Stack, start: Vector, limit: float, progress: Progress | None) -> Vector:
    """Accelerated projected gradient, restarted when it overshoots: a label's part stays within -limit and limit."""
    step = 1.0 / (1.05 * largest_curvature(stack))
    bounds = np.full(len(start), np.inf)
    bounds[: stack.rows] = limit
    current = ahead = np.clip(start, -bounds, bounds)
    momentum = 1.0
    for done in range(BOX_STEPS):
        following = np.clip(ahead - step * stack.gradient(ahead), -bounds, bounds)
        if (ahead - following) @ (following - current) > 0:
            momentum = 1.0
        next_momentum = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = following + (momentum - 1.0) / next_momentum * (following - current)
        moved = float(np.mean(np.abs(following - current)[: stack.rows]))
        current, momentum = following, next_momentum
        if progress is not None:
            progress(done + 1, BOX_STEPS)
        if moved < STILL * limit:
            break
    return current


def largest_curvature(stack: Stack) -> float:
    """The largest eigenvalue of the normal equations, by power iteration from a fixed start."""
    direction = np.random.default_rng(0).standard_normal(2 * stack.rows + 1)
    size = 1.0
    for _ in range(POWER_STEPS):
        direction = stack.transposed(stack.apply(direction))
        size = float(np.linalg.norm(direction))
        direction /= max(size, 1e-300)
    return size + stack.damping**2


def conditions(view: View, rank: int, epochs: int) -> list[Condition]:
    """Equations against unknowns, and how far beyond the paper's own condition this is."""
    rows = len(view.batches[0])
    # The same batches give the same equations again.
    distinct = epochs if view.plan.batches == "reshuffled" else 1
    ratio = distinct * rank / rows
    beyond = rows / rank
    found = [
        Condition("equations for each unknown", ratio, "near 1 or more", ratio >= 1.0, "beyond the paper"),
        Condition("rows of a batch for each independent column", beyond, "at most 1", beyond <= 1.0, "section 4"),
    ]
    if view.plan.noise != "none":
        noise = noise_on_residuals(view) / math.sqrt(epochs)
        weight = label_weight(view)
        found.append(Condition("noise after all epochs", noise, f"below {weight:g}", noise < weight, "Algorithm 3"))
    return found


LABEL_STACKED = Attack(
    name="label-stacked",
    by="features",
    run=recover_labels,
)
