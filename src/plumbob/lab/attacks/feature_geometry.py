"""`feature-geometry`: all columns of the peers up to a rotation, and with a few known rows the columns themselves.

View: `peer_scores` at the label party. Beyond the paper: Theorem 3.6 shows that a rotation always stays open; this
shows that nothing else does, and that columns with few values close even that. The history of scores
fixes every inner product between two people's rows. Full batches give the matrix of inner products in closed form
(Nystroem); mini-batches are fitted (`trajectory`).

Condition: batches no larger than the rank of own columns, more epochs than the peers have columns, and weights that
move in all directions: the spectrum of their history is printed, and a direction below the encoding's precision stays
open. Cost: seconds to minutes, in proportion to visits times columns.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.errors import DataError
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.peer_scores import (
    PEER_SCORES,
    ScoreHistory,
    peer_columns,
    peers_name,
    score_history,
    usual_size,
    with_better_guesses,
)
from plumbob.lab.attacks.trajectory import Fit, Trajectory, fit

STARTS = 4
REFINEMENTS = 12
# Numbers that one matrix-free step touches, times steps, over all starts: two or three minutes of one core.
WORK = 3.0e10
MOST_INNER_STEPS = 20_000
STARTS_PER_COLUMN = 8  # Of the search for columns with few values: seconds.
# A row is determined while its own visits leave it uncertain by less than this share of a usual row.
UNCERTAIN = 1e-2
# Directions of the residuals' history below this share of the longest carry rounding only.
FAINT = 1e-9
STEPS, ROUNDING = 200, 0.1
"""Steps of one descent, and how far a value may lie from its nearest level, relative to the levels' distance."""
LEVELS = (2, 3, 4)
FEWEST_ROWS = 20
"""Fewest rows per column: with fewer, a direction with few values may be an accident."""


def recover_geometry(view: View) -> Claim | NotApplicable:
    """The peers' rows, turned by an orthogonal matrix that nobody can know from these equations."""
    if (columns := peer_columns(view)) == 0:
        return NotApplicable("the peers have no columns")
    history = score_history(view)
    if isinstance(history, NotApplicable):
        return history
    visits = np.bincount(history.row[history.is_known], minlength=history.rows)
    conditions = (*history.conditions(), _visits_condition(visits, columns))
    if np.median(visits) <= columns:
        return NotApplicable("too few determined visits per row to tell the peers' columns apart", conditions)
    trajectory, best = _fit_best(view, history, columns)
    rows = best.unknowns[: view.rows]
    is_sharp = _spreads(trajectory, best) < UNCERTAIN * float(np.sqrt(np.mean(rows**2)))
    is_determined = is_sharp & best.is_explained & (noise_on_residuals(view) == 0)
    values = np.where((visits > 0)[:, None], rows, np.nan)
    misfit = Condition("misfit in standard errors", best.misfit, "below 2", best.is_explained, "beyond Theorem 3.6")
    conditions = (*conditions, misfit, _without_known_rows(values), *_spectrum(trajectory, best))
    return Claim("features", peers_name(view), values, is_determined, "rotation", conditions)


def with_known_rows(claim: Claim, rows: NDArray[np.intp], values: Matrix) -> Claim:
    """The same claim, turned so that these rows come out as known (orthogonal Procrustes): the rotation is fixed.

    `values` are in training's units, one row for each of `rows`; as many independent ones as there are columns fix all.
    """
    columns = claim.values.shape[1]
    known, claimed = np.asarray(values, dtype=np.float64), claim.values[rows]
    if known.shape != claimed.shape:
        raise DataError(f"expected {len(rows)} known rows of {columns} columns, got {known.shape}")
    if not np.isfinite(claimed).all():
        raise DataError("the claim has no answer for one of the known rows; choose others")
    left, sizes, right = np.linalg.svd(claimed.T @ known)
    rank = int(np.sum(sizes > FAINT * max(float(sizes[0]), np.finfo(float).tiny)))
    condition = Condition("independent known rows", rank, f"{columns}", rank == columns, "Theorem 3.6")
    return replace(
        claim,
        values=claim.values @ (left @ right),
        is_determined=claim.is_determined & (rank == columns),
        left_open="nothing" if rank == columns else "rotation",
        conditions=(*claim.conditions, condition),
    )


def _fit_best(view: View, history: ScoreHistory, columns: int) -> tuple[Trajectory, Fit]:
    """The best of a few fits; the first one starts from the closed form where there is one."""
    trajectory = Trajectory(history, columns, view.plan.start == "zero", usual_size(view))
    steps_left = WORK / (len(trajectory.visits) * columns)
    attempts: list[tuple[Trajectory, Fit]] = []
    while not attempts or (len(attempts) < STARTS and steps_left > 0 and not attempts[-1][1].is_explained):
        start = _closed_form(trajectory) if not attempts and view.plan.batches == "full" else None
        unknowns = _draw_start(trajectory, len(attempts)) if start is None else start
        attempts.append(_refine(view, trajectory, unknowns, int(min(MOST_INNER_STEPS, steps_left))))
        steps_left -= attempts[-1][1].inner_steps
    return min(attempts, key=lambda attempt: attempt[1].misfit)


def _refine(view: View, trajectory: Trajectory, unknowns: Matrix, inner_steps: int) -> tuple[Trajectory, Fit]:
    """A fit and, where residuals had to be guessed, further ones with the guesses that the last one gives."""
    best = fit(trajectory, unknowns, inner_steps)
    for _ in range(REFINEMENTS):
        history = trajectory.history
        if best.is_explained or history.is_whole.all() or best.inner_steps >= inner_steps:
            break
        scores = np.sum(best.unknowns[history.row] * best.weights[history.step], axis=1)
        refined = replace(trajectory, history=with_better_guesses(view, history, scores))
        better = fit(refined, best.unknowns, inner_steps - best.inner_steps)
        better = replace(better, inner_steps=better.inner_steps + best.inner_steps)
        if better.misfit > 0.9 * best.misfit:
            break
        trajectory, best = refined, better
    return trajectory, best


def _draw_start(trajectory: Trajectory, attempt: int) -> Matrix:
    """A random start with rows of about the usual size and small weights; always the same."""
    generator = np.random.default_rng(attempt)
    unknowns = generator.normal(size=trajectory.shape)
    unknowns[trajectory.history.rows :] *= 0.1
    return unknowns


def _closed_form(trajectory: Trajectory) -> Matrix | None:
    """Closed form for full batches: scores = start + residuals' history @ inner products, in that history's directions.

    With V those directions, Y = (inner products) @ V is known, and the whole matrix is Y (V' Y)^-1 Y' (Nystroem).
    """
    history, columns = trajectory.history, trajectory.columns
    if not history.is_known.all() or not history.is_whole.all():
        return None
    scores = np.zeros((history.steps, history.rows))
    scores[history.step, history.row] = history.score
    paths = trajectory.weights(np.eye(trajectory.shape[0]))
    path, start = paths[:, : history.rows], paths[:, history.rows :]
    path, scores_moved = _without(path, start), _without(scores, start)
    left, sizes, right = np.linalg.svd(path, full_matrices=False)
    kept = sizes > max(FAINT, trajectory.usual_error) * sizes[0]
    if kept.sum() < columns:
        return None
    products = scores_moved.T @ left[:, kept] / sizes[kept]
    core = right[kept] @ products
    strengths, directions = np.linalg.eigh(0.5 * (core + core.T))
    strengths, directions = strengths[-columns:], directions[:, -columns:]
    if strengths[0] <= 0:
        return None
    unknowns = np.zeros(trajectory.shape)
    unknowns[: history.rows] = products @ (directions / np.sqrt(strengths))
    if start.shape[1]:
        moved = scores - paths[:, : history.rows] @ unknowns[: history.rows] @ unknowns[: history.rows].T
        begun = np.linalg.lstsq(start, moved, rcond=None)[0]
        unknowns[history.rows :] = np.linalg.lstsq(unknowns[: history.rows], begun.T, rcond=None)[0].T
    return unknowns


def _without(values: Matrix, directions: Matrix) -> Matrix:
    """The values with their part along these columns taken out."""
    if not directions.shape[1]:
        return values
    basis = np.linalg.qr(directions)[0]
    return values - basis @ (basis.T @ values)


def _spreads(trajectory: Trajectory, best: Fit) -> Vector:
    """How uncertain each row's own visits leave it in the worst direction, with weights taken as known."""
    history, visits = trajectory.history, trajectory.visits
    weighted = best.weights[history.step[visits]] / history.error[visits][:, None]
    curvature = np.zeros((history.rows, trajectory.columns, trajectory.columns))
    np.add.at(curvature, history.row[visits], weighted[:, :, None] * weighted[:, None, :])
    smallest = np.linalg.eigvalsh(curvature)[:, 0]
    spreads: Vector = np.where(smallest > 0, np.maximum(smallest, np.finfo(float).tiny) ** -0.5, np.inf)
    return spreads


def _visits_condition(visits: NDArray[np.intp], columns: int) -> Condition:
    usual = float(np.median(visits))
    return Condition("determined visits per row", usual, f"above {columns}", usual > columns, "beyond Theorem 3.6")


def _without_known_rows(values: Matrix) -> Condition:
    """How far columns with few values fix the rotation by themselves."""
    answered = values[np.isfinite(values).all(axis=1)]
    starts = STARTS_PER_COLUMN * values.shape[1]
    read = sum(map(len, columns_with_few_values(answered, starts).values())) if values.shape[1] > 1 else 0
    name = f"of {values.shape[1]} columns, read without a known row because they hold few values"
    return Condition(name, float(read), "1 or more", read > 0, "arXiv 2210.06771")


def _spectrum(trajectory: Trajectory, best: Fit) -> tuple[Condition, ...]:
    """How far the peers' weights moved in each direction, against what the encoding lets through."""
    sizes = np.linalg.svd(best.weights, compute_uv=False) / np.sqrt(len(best.weights))
    floor = trajectory.usual_error
    name, needed = "weights' movement in direction {} of {}", f"above {floor:.1e}"
    return tuple(
        Condition(name.format(place, len(sizes)), float(size), needed, bool(size > floor), "beyond Theorem 3.6")
        for place, size in enumerate(sizes, start=1)
    )


# Columns with few values, found among columns that are known up to a rotation only.
#
# A combination of rotated columns that takes two values only is hardly an accident (the idea of Ye, Jiang, Wang, Li and
# Li, arXiv 2210.06771, there for the first layer of a network), so such columns come out without a known row. The
# search is our own: from random directions it goes to where the fourth moment is least, which for whitened independent
# columns is where values are two, and then rounds and verifies. Columns with three or four values are told in the same
# way, by their distance to a grid. benchmarks/attacks/binary_columns.py of commit ae113e8c measures it.


def columns_with_few_values(rotated: Matrix, starts: int) -> dict[int, list[Vector]]:
    """The different columns that some direction gives, as level numbers, by number of levels."""
    if len(rotated) < FEWEST_ROWS * rotated.shape[1]:
        return {count: [] for count in LEVELS}
    read, generator = _whitened(rotated), np.random.default_rng(1)
    found: dict[int, list[Vector]] = {count: [] for count in LEVELS}
    for _ in range(starts):
        drawn = generator.standard_normal(read.shape[1])
        reached = _descended(read, drawn / np.linalg.norm(drawn))
        for count in LEVELS:
            column = _as_levels(read @ _sharpened(read, reached, count), count)
            if column is None:
                continue
            if not any(is_same(column, other, count) for other in found[count]):
                found[count].append(column)
            break
    return found


def _whitened(rotated: Matrix) -> Matrix:
    """The columns whitened, without directions that hardly vary."""
    left, sizes, _ = np.linalg.svd(rotated - rotated.mean(axis=0), full_matrices=False)
    read: Matrix = left[:, sizes > 1e-6 * sizes[0]] * np.sqrt(len(rotated))
    return read


def _descended(read: Matrix, direction: Vector) -> Vector:
    """Descend to a minimum of the fourth moment over unit directions."""
    for _ in range(STEPS):
        values = read @ direction
        moved = direction - 0.25 * (read.T @ values**3 / len(read) - 3.0 * direction)
        moved /= np.linalg.norm(moved)
        if np.abs(moved - direction).max() < 1e-6:
            break
        direction = moved
    return direction


def _sharpened(read: Matrix, direction: Vector, count: int) -> Vector:
    """Round to levels and fit again: dependent columns move the minimum a little, and this moves it back."""
    for _ in range(20):
        values = read @ direction
        low, high = np.quantile(values, [0.002, 0.998])
        levels = np.clip(np.rint((values - low) / (high - low) * (count - 1)), 0, count - 1)
        fitted = np.linalg.lstsq(read, levels - levels.mean(), rcond=None)[0]
        length = float(np.linalg.norm(fitted))
        # Kept only where the fit comes nearer to its levels.
        if not length or _distance(read @ (fitted / length), count) >= _distance(values, count):
            break
        direction = fitted / length
    return direction


def _distance(values: Vector, count: int) -> float:
    """The largest distance to a level, relative to the distance between levels."""
    low, high = np.quantile(values, [0.002, 0.998])
    if high <= low:
        return 1.0
    units = (values - low) / (high - low) * (count - 1)
    return float(np.abs(units - np.clip(np.rint(units), 0, count - 1)).max())


def _as_levels(values: Vector, count: int) -> Vector | None:
    if _distance(values, count) > ROUNDING:
        return None
    low, high = np.quantile(values, [0.002, 0.998])
    levels: Vector = np.clip(np.rint((values - low) / (high - low) * (count - 1)), 0, count - 1)
    return levels if len(np.unique(levels)) == count else None


def is_same(column: Vector, other: Vector, count: int) -> bool:
    """Whether two columns are the same up to which level is the highest."""
    return bool(np.array_equal(column, other) or np.array_equal(column, count - 1 - other))


FEATURE_GEOMETRY = Attack("feature-geometry", "label", recover_geometry)
ATTACKS = (FEATURE_GEOMETRY, PEER_SCORES)
