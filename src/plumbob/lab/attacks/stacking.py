"""The equations of many steps in one system: labels' parts, drifts that grow, and an intercept that all rows share.

`label-stacked` solves it, and `label-rare` takes the whitening from here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsqr

from plumbob.arrays import Matrix, Vector
from plumbob.caller import Progress

DAMPING = 0.3
DRIFT = 0.25
"""How far other parties' scores are expected to move, relative to a label's part."""
LSQR_STEPS, BOX_STEPS, POWER_STEPS = 300, 300, 12
STILL = 2e-4
"""The mean move per step, as a share of the labels' limit, below which the box is done."""


@dataclass(frozen=True, repr=False, eq=False)
class Stack:
    """All equations, one block of rows per step: labels' parts @ matrix + growth * (drifts @ matrix) = right side."""

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


def stack_of(
    X: Matrix,
    batches: Sequence[NDArray[np.intp]],
    sums: Matrix,
    growth: Vector,
    damping: float,
    *,
    has_intercept: bool,
) -> Stack:
    """The equations from whitened columns, each step's rows and sums without own scores, and how far scores grew."""
    rows, columns = X.shape
    lengths = np.repeat([len(batch) for batch in batches], columns)
    matrix = sparse.csr_matrix(
        (
            np.concatenate([X[batch].T.ravel() for batch in batches]),
            np.concatenate([np.tile(batch, columns) for batch in batches]).astype(np.int32),
            np.concatenate([[0], np.cumsum(lengths)]),
        ),
        shape=(len(batches) * columns, rows),
    )
    repeated = np.repeat(growth, columns)
    stack = Stack(matrix, repeated, np.zeros(len(repeated)), sums.ravel(), damping)
    if has_intercept:
        # Its scale is that of one row's unknowns, or it alone would set the length of every step.
        return replace(stack, intercept=repeated * (matrix @ np.ones(rows)) / math.sqrt(rows))
    return stack


def growth_after(share: float, steps: int) -> float:
    """How far towards their end scores have come: each step takes them a fixed share of the way."""
    return 1.0 - (1.0 - min(1.0, share)) ** steps


def solved(stack: Stack, steps: int = LSQR_STEPS) -> Vector:
    """All unknowns by damped least squares, the labels' parts first."""
    solution: Vector = lsqr(stack.operator, stack.right_side, damp=stack.damping, iter_lim=steps, atol=1e-9, btol=1e-9)[
        0
    ]
    return solution


def whitened(X: Matrix) -> Matrix:
    """The matrix that makes own columns uncorrelated, of size 1 and independent."""
    sizes, directions = np.linalg.eigh(X.T @ X / len(X))
    is_there = sizes > 1e-9 * max(float(sizes.max()), 1e-300)
    whitening: Matrix = directions[:, is_there] / np.sqrt(sizes[is_there])
    return whitening


def boxed(
    stack: Stack, start: Vector, limit: float, progress: Progress | None = None, steps: int = BOX_STEPS
) -> Vector:
    """Accelerated projected gradient, restarted when it overshoots: a label's part stays within -limit and limit."""
    step = 1.0 / (1.05 * largest_curvature(stack))
    bounds = np.full(len(start), np.inf)
    bounds[: stack.rows] = limit
    current = ahead = np.clip(start, -bounds, bounds)
    momentum = 1.0
    for done in range(steps):
        following = np.clip(ahead - step * stack.gradient(ahead), -bounds, bounds)
        if (ahead - following) @ (following - current) > 0:
            momentum = 1.0
        next_momentum = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = following + (momentum - 1.0) / next_momentum * (following - current)
        moved = float(np.mean(np.abs(following - current)[: stack.rows]))
        current, momentum = following, next_momentum
        if progress is not None:
            progress(done + 1, steps)
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
