"""The peers' rows and weights as one model of all scores that a party worked out, and its least-squares fit.

A score is row . weights, and the weights before a step are where they began plus what the updates so far added: rows
times residuals, which are known. So rows (and beginnings) are the only unknowns, and the scores are quadratic in them.
The fit is Levenberg-Marquardt; its linear steps are matrix-free LSMR in coordinates in which the weights' history is
round. Rows and weights can be turned together without any score changing (Theorem 3.6).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, hstack
from scipy.sparse.linalg import LinearOperator, SuperLU, lsmr, splu

from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks.peer_scores import ScoreHistory

OUTER_STEPS = 120
INNER_STEPS, MOST_INNER_STEPS = 200, 3200
INNER_TOLERANCE = 1e-10
DAMPING = 0.1
RETRIES = 12
FINEST = 1e-11
# Within this many standard errors of the scores there is nothing left to explain.
EXPLAINED = 2.0
# A fit that gains less than this in this many steps has ended.
LEAST_GAIN, PATIENCE = 0.05, 4


@dataclass(frozen=True, repr=False, eq=False)
class Trajectory:
    """All known scores as a function of one matrix of unknowns: the rows and, below them, where the weights start.

    A start from zero is no unknown. Residuals that are not determined are taken as guessed.
    """

    history: ScoreHistory
    columns: int
    starts_at_zero: bool
    row_size: float
    """About how large a number in a row is: under noise, the belief about a row before anything is known."""

    @cached_property
    def shape(self) -> tuple[int, int]:
        return self.history.rows + (0 if self.starts_at_zero else 1), self.columns

    @cached_property
    def visits(self) -> NDArray[np.intp]:
        """The known scores, ordered by row."""
        known = np.flatnonzero(self.history.is_known)
        return known[np.argsort(self.history.row[known], kind="stable")]

    @cached_property
    def trust(self) -> Vector:
        """Each known score's weight: 1 for the better half, less for those from a badly conditioned batch."""
        return self.usual_error / np.maximum(self.history.error[self.visits], self.usual_error)

    @cached_property
    def usual_error(self) -> float:
        """The median standard error of a score; not below what a fit can reach in floating-point arithmetic."""
        size = float(np.sqrt(np.mean(self.history.score[self.visits] ** 2)))
        return max(float(np.median(self.history.error[self.visits])), FINEST * size)

    def weights(self, unknowns: Matrix) -> Matrix:
        """The peers' weights before each step."""
        weights: Matrix = self._updates.solve(np.ascontiguousarray(self.sources @ unknowns))
        return weights

    def misfits(self, unknowns: Matrix, weights: Matrix) -> Vector:
        """Modelled minus known scores, as far as each is trusted; then the rows in units of their usual size."""
        rows, steps = self._row[:, None], self._step[:, None]
        columns = np.arange(self.columns)
        modelled = np.sum(unknowns[rows, columns] * weights[steps, columns], axis=1)
        misfits = (modelled - self.history.score[self.visits]) * self.trust
        return np.concatenate([misfits, (self._belief * unknowns).ravel()])

    def linearised(self, unknowns: Matrix, weights: Matrix, turned: Matrix) -> LinearOperator:
        """An operator: how misfits move with unknowns @ turned (symmetric)."""
        by_row = self._spread(weights @ turned, self._step, self._row, self.shape[0])
        by_step = self._spread(unknowns @ turned, self._row, self._step, self.history.steps)
        by_row_back, by_step_back = by_row.T.tocsr(), by_step.T.tocsr()
        steps = (self.history.steps, self.columns)

        def forth(change: Vector) -> Vector:
            through_weights = by_step @ self.weights(change.reshape(self.shape)).ravel()
            believed = self._belief * (change.reshape(self.shape) @ turned)
            return np.concatenate([by_row @ change + through_weights, believed.ravel()])

        def back(misfits: Vector) -> Vector:
            of_scores, of_rows = np.split(misfits, [len(self.visits)])
            moved = self._updates.solve((by_step_back @ of_scores).reshape(steps), "T")
            believed = self._belief * (of_rows.reshape(self.shape) @ turned)
            return np.asarray(by_row_back @ of_scores + (self._sources_back @ moved + believed).ravel())

        size = self.shape[0] * self.columns
        return LinearOperator((len(self.visits) + size, size), matvec=forth, rmatvec=back, dtype=np.float64)

    def _spread(self, values: Matrix, taken: NDArray[np.intp], placed: NDArray[np.intp], size: int) -> csr_array:
        """A sparse matrix with one row per visit and the values of `taken` in the columns that belong to `placed`."""
        columns = placed[:, None] * self.columns + np.arange(self.columns)
        ends = np.arange(0, columns.size + 1, self.columns)
        entries = values[taken] * self.trust[:, None]
        return csr_array((entries.ravel(), columns.ravel(), ends), (len(placed), size * self.columns))

    @cached_property
    def _row(self) -> NDArray[np.intp]:
        return self.history.row[self.visits]

    @cached_property
    def _step(self) -> NDArray[np.intp]:
        return self.history.step[self.visits]

    @cached_property
    def _belief(self) -> Matrix:
        """The weight of each unknown's own size among the misfits; 0 for where the weights start."""
        belief = np.zeros((self.shape[0], 1))
        belief[: self.history.rows] = self.usual_error / self.row_size
        return belief

    @cached_property
    def _updates(self) -> SuperLU:
        """The factorised system weights[t] - decay * weights[t - 1], to be solved for the weights."""
        steps = self.history.steps
        carried = diags_array([np.full(steps - 1, -self.history.decay)], offsets=[-1], shape=(steps, steps))
        return splu((eye_array(steps) + carried).tocsc())

    @cached_property
    def sources(self) -> csr_array:
        """What each step's weights get from the rows of the step before, and the first ones from the start."""
        history = self.history
        used = np.flatnonzero(history.step < history.steps - 1)
        moves = -history.rate[history.step[used]] * history.guess[used]
        from_rows = csr_array((moves, (history.step[used] + 1, history.row[used])), (history.steps, history.rows))
        if self.starts_at_zero:
            return from_rows
        return hstack([from_rows, csr_array(([1.0], ([0], [0])), (history.steps, 1))]).tocsr()

    @cached_property
    def _sources_back(self) -> csr_array:
        return self.sources.T.tocsr()


@dataclass(frozen=True, repr=False, eq=False)
class Fit:
    """Unknowns that explain the scores, the weights that follow from them, and how well they do."""

    unknowns: Matrix
    weights: Matrix
    misfit: float
    """The root mean square misfit, in standard errors of a score."""
    inner_steps: int
    """How many matrix-free steps it took."""

    @property
    def is_explained(self) -> bool:
        return self.misfit < EXPLAINED


def fit(trajectory: Trajectory, unknowns: Matrix, inner_steps: int) -> Fit:
    """Levenberg-Marquardt from these unknowns, with at most `inner_steps` matrix-free steps in all."""
    weights = trajectory.weights(unknowns)
    misfits = trajectory.misfits(unknowns, weights)
    damping, recent, longest, taken = DAMPING, [np.inf], INNER_STEPS, 0
    for _ in range(OUTER_STEPS):
        turned = _rounding(weights, trajectory.history)
        moves = trajectory.linearised(unknowns, weights, turned)
        for _ in range(RETRIES):
            change, _, used = lsmr(moves, -misfits, damping, INNER_TOLERANCE, INNER_TOLERANCE, maxiter=longest)[:3]
            taken += used
            trial = unknowns + change.reshape(trajectory.shape) @ turned
            trial_weights = trajectory.weights(trial)
            trial_misfits = trajectory.misfits(trial, trial_weights)
            gain = 1.0 - float(trial_misfits @ trial_misfits) / max(float(misfits @ misfits), np.finfo(float).tiny)
            if gain > 0:
                break
            damping *= 4.0
        else:
            break
        damping /= 10.0 if gain > 0.9 else 3.0
        # A step that was cut short and brought little was cut too short.
        longest = min(2 * longest, MOST_INNER_STEPS) if used >= longest and gain < 0.9 else longest
        unknowns, weights, misfits = trial, trial_weights, trial_misfits
        recent.append(_misfit(trajectory, misfits))
        is_stuck = len(recent) > PATIENCE and recent[-1] > (1.0 - LEAST_GAIN) * recent[-1 - PATIENCE]
        if recent[-1] < EXPLAINED / 4.0 or is_stuck or taken >= inner_steps:
            break
    return Fit(unknowns, weights, _misfit(trajectory, misfits), taken)


def _misfit(trajectory: Trajectory, misfits: Vector) -> float:
    return float(np.sqrt(np.mean(misfits[: len(trajectory.visits)] ** 2))) / trajectory.usual_error


def _rounding(weights: Matrix, history: ScoreHistory) -> Matrix:
    """Coordinates in which the weights' history is equally long in all directions, so that LSMR needs few steps."""
    visits_a_row = len(history.row) / history.rows
    sizes, directions = np.linalg.eigh(weights.T @ weights * (visits_a_row / len(weights)))
    longest = max(float(sizes[-1]), np.finfo(float).tiny)
    turned: Matrix = (directions / np.sqrt(np.maximum(sizes, 1e-12 * longest))) @ directions.T
    return turned
