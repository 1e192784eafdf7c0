"""`feature-single`: one column of the peer, value by value, up to one sign.

View: `peer_scores`, by the label party, or by a feature party once it has the labels (Remark 4.9; an intercept of the
label party is replayed and subtracted). With one column a score is row value times weight, so scores of one batch give
ratios of rows (Lemma 3.3), batches that share rows join their ratios (Lemma 3.4), and how the weight moves between two
batches gives the scale (Theorem 3.5; E.2 for minimax, F.1 for piecewise, where some rows get a range only).

Condition: one column at all peers together, batches of at least two rows and no larger than the rank of own columns,
`epochs_to_merge` epochs at most, in practice two. Cost: shortest paths and a few sweeps over all visits.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array
from scipy.sparse.linalg import svds

from plumbob.arrays import Flags, Vector
from plumbob.data import steps_per_epoch
from plumbob.lab import bounds
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.label_sign import FOLD
from plumbob.lab.attacks.peer_scores import ScoreHistory, peer_columns, peers_name, score_history, usual_size

SWEEPS = 40
MERGED = 0.5
"""The share of rows that must be in one group before their ratios say more than their scores do."""
# A score this many standard errors from zero is not zero: its ratio to others means something.
CLEARLY = 6.0


def recover_single_feature(view: View) -> Claim | NotApplicable:
    """All values of the peers' only column, as far as rows were merged, up to one sign."""
    if (columns := peer_columns(view)) != 1:
        return NotApplicable(f"the peers have {columns} columns; ratios need exactly one (Theorem 3.6)")
    history = score_history(view)
    return history if isinstance(history, NotApplicable) else single_feature(view, history)


def single_feature(view: View, history: ScoreHistory) -> Claim | NotApplicable:
    """The values of that column from the peer's scores, wherever the scores come from."""
    if view.plan.batches != "full" and view.plan.batch_size == 1:
        return NotApplicable("a batch of one row has no ratios in it; feature-chain works there")
    ratios = _factorise(history)
    if ratios is None:
        return NotApplicable("no score of the peer is clearly different from zero", history.conditions())
    if _merged_share(history, ratios) < MERGED:
        return _over_spread(view, history)
    starts_at_zero = view.plan.start == "zero"
    scale = _squared_scale(history, ratios, starts_at_zero)
    return _claim(view, history, ratios, scale)


@dataclass(frozen=True, repr=False, eq=False)
class VisitFactors:
    """score = row * step for every visit, up to one factor between them; NaN: not joined to the largest group."""

    row: Vector
    step: Vector
    row_error: Vector
    """The standard errors, in the units of `row`."""
    step_error: Vector

    def scaled(self, factor: float) -> "VisitFactors":
        return VisitFactors(self.row * factor, self.step / factor, self.row_error * factor, self.step_error / factor)


@dataclass(frozen=True)
class RatioScale:
    """The square of the factor on the ratios, and its standard error."""

    square: float
    error: float

    @property
    def is_clear(self) -> bool:
        return self.square > CLEARLY * self.error


# Ratios


def _factorise(history: ScoreHistory) -> VisitFactors | None:
    """Ratios from the strongest paths, then least squares over all visits, so that errors do not accumulate."""
    visits = np.flatnonzero(history.is_known & (np.abs(history.score) > CLEARLY * history.error))
    if len(visits) < 2:
        return _from_spectrum(history)
    steps = _along_paths(history, visits)
    # A row whose every score is zero joins no group; here it is read off as zero.
    return _sweep(history, steps)


def _along_paths(history: ScoreHistory, visits: NDArray[np.intp]) -> Vector:
    """The steps' factors in the largest group of rows and steps that visits connect; NaN elsewhere.

    Each is reached on the path with the least relative error.
    """
    network, group = _largest_group(history, visits)
    root = int(np.flatnonzero(group)[0])
    distances, before = csgraph.dijkstra(network, directed=False, indices=root, return_predecessors=True)
    scores = _scores(history, visits)
    factor = np.full(history.rows + history.steps, np.nan)
    factor[root] = 1.0
    order = np.argsort(distances, kind="stable")[1 : np.count_nonzero(np.isfinite(distances))]
    row = np.where(order < history.rows, order, before[order])
    step = np.where(order < history.rows, before[order], order) - history.rows
    for node, parent, score in zip(order, before[order], _entries(scores, row, step), strict=True):
        factor[node] = score / factor[parent]
    return factor[history.rows :]


def _scores(history: ScoreHistory, visits: NDArray[np.intp]) -> csr_array:
    places = history.row[visits], history.step[visits]
    return csr_array((history.score[visits], places), (history.rows, history.steps))


def _entries(matrix: csr_array, row: NDArray[np.intp], column: NDArray[np.intp]) -> Vector:
    entries: Vector = np.asarray(matrix[row, column], dtype=np.float64).ravel()
    return entries


def _largest_group(history: ScoreHistory, visits: NDArray[np.intp]) -> tuple[csr_array, Flags]:
    """Rows, then steps, as one network linked by visits, and which of its nodes are in the largest group."""
    size = history.rows + history.steps
    relative = (history.error[visits] / history.score[visits]) ** 2 + np.finfo(float).tiny
    network = csr_array((relative, (history.row[visits], history.rows + history.step[visits])), (size, size))
    labels = csgraph.connected_components(network, directed=False)[1]
    return network, labels == np.bincount(labels).argmax()


def _from_spectrum(history: ScoreHistory) -> VisitFactors | None:
    """Factors from the first singular vectors of all scores: under noise no single ratio means anything."""
    known = np.flatnonzero(history.is_known)
    if len(known) < 2 or min(history.rows, history.steps) < 2 or not history.score[known].any():
        return None
    scores = _scores(history, known)
    _, size, right = svds(scores, k=1, v0=np.ones(min(scores.shape)))
    return _sweep(history, np.asarray(right[0] * size[0])) if size[0] > 0 else None


def _sweep(history: ScoreHistory, step: Vector) -> VisitFactors:
    """Alternating least squares for rows and steps until nothing moves, from the steps' factors."""
    known = np.flatnonzero(history.is_known)
    row_index, step_index, scores = history.row[known], history.step[known], history.score[known]
    weights = history.error[known] ** -2.0
    row, row_error = _fit_factors(row_index, history.rows, step[step_index], scores, weights)
    for _ in range(SWEEPS):
        previous = row
        step, step_error = _fit_factors(step_index, history.steps, row[row_index], scores, weights)
        row, row_error = _fit_factors(row_index, history.rows, step[step_index], scores, weights)
        if np.nanmax(np.abs(row - previous)) <= 1e-13 * np.nanmax(np.abs(row)):
            break
    return VisitFactors(row, step, row_error, step_error)


def _fit_factors(
    index: NDArray[np.intp], size: int, others: Vector, scores: Vector, weights: Vector
) -> tuple[Vector, Vector]:
    """The least-squares factor of each of `size` unknowns against the others' known ones, and its standard error."""
    use = np.isfinite(others)
    index, others, scores, weights = index[use], others[use], scores[use], weights[use]
    curvature = np.bincount(index, weights=weights * others**2, minlength=size)
    moment = np.bincount(index, weights=weights * others * scores, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors: Vector = np.where(curvature > 0, moment / curvature, np.nan)
        errors: Vector = 1.0 / np.sqrt(curvature)
    return factors, errors


# Scale


def _squared_scale(history: ScoreHistory, factors: VisitFactors, starts_at_zero: bool) -> RatioScale:
    """Theorem 3.5 over all steps at once: step factors = scale^2 * what the updates add up to + where they began.

    Where an update is not known, because a residual or a row is not, a new beginning is fitted.
    """
    moves, is_known = _moves(history, factors)
    precision = np.where(np.isfinite(factors.step), factors.step_error**-2.0, 0.0)
    values = np.where(precision > 0, factors.step, 0.0)
    breaks = np.flatnonzero(~is_known) + 1
    curvature = moment = 0.0
    for first, last in zip([0, *breaks], [*breaks, history.steps], strict=True):
        part = slice(first, last)
        path, start = _path(moves[part], history.decay)
        weights = precision[part]
        if first > 0 or not starts_at_zero:
            path = _without(path, start, weights)
        curvature += float(np.sum(weights * path**2))
        moment += float(np.sum(weights * path * values[part]))
    return RatioScale(moment / curvature, curvature**-0.5) if curvature > 0 else RatioScale(0.0, np.inf)


def _moves(history: ScoreHistory, factors: VisitFactors) -> tuple[Vector, Flags]:
    """What each step's update adds to the weight, in units of the scale, and whether it is known."""
    is_still = np.abs(history.residual) < 1e-9
    parts = np.where(is_still, 0.0, history.residual * factors.row[history.row])
    unknown = np.bincount(history.step, weights=~np.isfinite(parts), minlength=history.steps)
    sums = np.bincount(history.step, weights=np.nan_to_num(parts), minlength=history.steps)
    return -history.rate * sums, unknown == 0


def _path(moves: Vector, decay: float) -> tuple[Vector, Vector]:
    """The moves so far before each step, and what L2 leaves of a starting weight of 1."""
    start: Vector = np.power(decay, np.arange(len(moves), dtype=np.float64))
    path = np.zeros(len(moves))
    for index in range(len(moves) - 1):
        path[index + 1] = decay * path[index] + moves[index]
    return path, start


def _without(values: Vector, direction: Vector, weights: Vector) -> Vector:
    """The values with their weighted part along a direction taken out."""
    size = float(np.sum(weights * direction**2))
    return values - direction * (float(np.sum(weights * direction * values)) / size) if size > 0 else values


# Claim


def _claim(view: View, history: ScoreHistory, ratios: VisitFactors, scale: RatioScale) -> Claim:
    ratios = ratios if noise_on_residuals(view) == 0 else _shrunk(ratios)
    factor = np.sqrt(scale.square) if scale.is_clear else _factor_from_spread(view, ratios)
    factors = ratios.scaled(float(factor))
    # Half of the square's relative error is the factor's.
    relative = 0.5 * scale.error / scale.square if scale.is_clear else np.inf
    is_determined = np.isfinite(factors.row) & scale.is_clear & (noise_on_residuals(view) == 0)
    values = np.where(np.isfinite(factors.row), factors.row, _from_ranges(history, factors))
    conditions = (
        *history.conditions(),
        *_merging(view, history),
        _encoding_bound(factors, float(relative)),
        *(_fold(view, history) if view.plan.sigmoid == "minimax" else ()),
    )
    return Claim("features", peers_name(view), values[:, None], is_determined, "sign", conditions)


def _merged_share(history: ScoreHistory, ratios: VisitFactors) -> float:
    """The share of the rows with a known score that are in the largest group."""
    known = np.unique(history.row[history.is_known])
    return float(np.isfinite(ratios.row[known]).mean()) if len(known) else 0.0


def _over_spread(view: View, history: ScoreHistory) -> Claim:
    """Scores over their spread, where no batches share rows: the weight hardly moves between them (Lemma 3.3)."""
    known = history.is_known
    visits = np.bincount(history.row[known], minlength=history.rows)
    added = np.bincount(history.row[known], weights=history.score[known], minlength=history.rows)
    scores = np.where(visits > 0, added / np.maximum(visits, 1), np.nan)
    spread = float(np.nanstd(scores))
    values = scores * (usual_size(view) / spread if spread > 0 else 1.0)
    conditions = (*history.conditions(), *_merging(view, history))
    nothing = np.zeros(view.rows, dtype=bool)
    return Claim("features", peers_name(view), values[:, None], nothing, "sign", conditions)


def _shrunk(ratios: VisitFactors) -> VisitFactors:
    """Rows shrunk toward zero as far as their error requires under noise: the mean of what each can be."""
    variance = max(float(np.nanmean(ratios.row**2) - np.nanmean(ratios.row_error**2)), 0.0)
    return replace(ratios, row=ratios.row * variance / (variance + ratios.row_error**2))


def _factor_from_spread(view: View, ratios: VisitFactors) -> float:
    """The scale that gives the column its usual size, where no other is clear."""
    spread = float(np.sqrt(np.nanmean(ratios.row**2)))
    return usual_size(view) / spread if spread > 0 else 1.0


def _from_ranges(history: ScoreHistory, factors: VisitFactors) -> Vector:
    """The middle of what each row's bounds (piecewise) leave of the range of known values; NaN without bounds."""
    use = np.flatnonzero(np.isfinite(factors.step[history.step]) & (factors.step[history.step] != 0.0))
    weight = factors.step[history.step[use]]
    ends = np.stack([history.lower[use] / weight, history.upper[use] / weight])
    smallest, largest = float(np.nanmin(factors.row)), float(np.nanmax(factors.row))
    low, high = np.full(history.rows, smallest), np.full(history.rows, largest)
    np.fmax.at(low, history.row[use], np.minimum(ends.min(axis=0), largest))
    np.fmin.at(high, history.row[use], np.maximum(ends.max(axis=0), smallest))
    has_bounds = (low > smallest) | (high < largest)
    return np.where(has_bounds, 0.5 * (low + high), np.nan)


def _merging(view: View, history: ScoreHistory) -> tuple[Condition, ...]:
    """The conditions of Lemma 3.4 and Theorem 3.5 beside the epochs that it took."""
    per_epoch, passes = steps_per_epoch(view.rows, view.plan), view.plan.passes(view.rows)
    promised, needed = bounds.epochs_to_merge(per_epoch), bounds.epochs_to_exact_values(per_epoch)
    share, taken = _epochs_taken(history)
    return (
        Condition("share of rows merged into one group", share, "1", share == 1.0, "Lemma 3.4"),
        Condition("epochs until merged", taken, f"at most {promised}", taken <= promised, "Lemma 3.4"),
        Condition("epochs", passes, f"at least {needed}", passes >= needed, "Theorem 3.5"),
    )


def _epochs_taken(history: ScoreHistory) -> tuple[float, float]:
    """The share of rows with a value other than zero that end in one group, and the epochs until nothing more joins."""
    visits = np.flatnonzero(history.is_known & (np.abs(history.score) > CLEARLY * history.error))
    rows = len(np.unique(history.row[visits]))
    in_group, last = 0, int(history.epoch.max())
    taken = float(last)
    for epoch in range(last, 0, -1):
        early = visits[history.epoch[history.step[visits]] <= epoch]
        joined = int(_largest_group(history, early)[1][: history.rows].sum()) if len(early) else 0
        if epoch == last:
            in_group = joined
        if joined < in_group:
            break
        taken = float(epoch)
    return in_group / max(rows, 1), taken


def _encoding_bound(factors: VisitFactors, relative_scale_error: float) -> Condition:
    """How far a value can be off through rounding, arithmetic or noise, relative to the column's own spread."""
    # Without a scale its error is infinite, and a value of 0 is 0 at every scale.
    by_scale = np.multiply(factors.row, relative_scale_error, out=np.zeros_like(factors.row), where=factors.row != 0)
    errors = np.hypot(factors.row_error, by_scale)[np.isfinite(factors.row)]
    bound = CLEARLY * float(errors.max(initial=0.0)) / float(np.nanstd(factors.row) or 1.0)
    return Condition("bound on a value's error, in standard deviations", bound, "below 1", bound < 1.0, "Theorem 3.5")


def _fold(view: View, history: ScoreHistory) -> tuple[Condition, ...]:
    """The condition of Theorem E.2, with the prior that scores stay where the cubic rises."""
    own = np.einsum("vc,vc->v", view.X[history.row], view.weights_before[history.step])
    largest = float(np.nanmax(np.abs(own + history.score)))
    return (Condition("largest joint score", largest, f"below {FOLD:.2f}", largest < FOLD, "Theorem E.2"),)


FEATURE_SINGLE_BY_LABEL_PARTY = Attack("feature-single", "label", recover_single_feature)
FEATURE_SINGLE_BY_FEATURE_PARTY = Attack("feature-single", "features", recover_single_feature)
ATTACKS = (FEATURE_SINGLE_BY_LABEL_PARTY, FEATURE_SINGLE_BY_FEATURE_PARTY)
