"""`feature-geometry`: all columns of the peers up to a rotation, and with a few known rows the columns themselves.

View: `peer_scores` at the label party, or at a feature party that reads the labels first. Beyond the paper: Theorem 3.6
shows that a rotation always stays open; this shows that nothing else does; columns with few values close even that (Ye,
Jiang, Wang, Li and Li, arXiv 2210.06771).
The history of scores fixes every inner product between two people's rows. Full batches give the matrix of inner
products in closed form (Nystroem); mini-batches are fitted (`trajectory`).

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
    PEER_SCORES_BY_FEATURE_PARTY,
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
# A row is determined while its own visits leave it uncertain by less than this share of a usual row.
UNCERTAIN = 1e-2
# Directions of the residuals' history below this share of the longest carry rounding only.
FAINT = 1e-9


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
    conditions = (*conditions, misfit, *_spectrum(trajectory, best))
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


def _spectrum(trajectory: Trajectory, best: Fit) -> tuple[Condition, ...]:
    """How far the peers' weights moved in each direction, against what the encoding lets through."""
    sizes = np.linalg.svd(best.weights, compute_uv=False) / np.sqrt(len(best.weights))
    floor = trajectory.usual_error
    name, needed = "weights' movement in direction {} of {}", f"above {floor:.1e}"
    return tuple(
        Condition(name.format(place, len(sizes)), float(size), needed, bool(size > floor), "beyond Theorem 3.6")
        for place, size in enumerate(sizes, start=1)
    )


FEATURE_GEOMETRY = Attack("feature-geometry", "label", recover_geometry)
FEATURE_GEOMETRY_BY_FEATURE_PARTY = Attack("feature-geometry", "features", recover_geometry)
ATTACKS = (FEATURE_GEOMETRY, FEATURE_GEOMETRY_BY_FEATURE_PARTY, PEER_SCORES, PEER_SCORES_BY_FEATURE_PARTY)
