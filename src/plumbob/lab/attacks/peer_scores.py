"""A party's knowledge of its peers' scores, step by step: the basis of every attack on features.

View: own gradients, own rows and, at the label party, the labels. Each batch is solved for its residuals; a residual
minus what the party knows of it is the peers' part of the row's score (section 3). Condition: the row is determined,
which is every row where the batch is no larger than the rank of own columns (Corollary 3.2). Cost: one small singular
value decomposition per step.

By itself this gives the peers' scores away, for any number of their columns: the claim `feature-geometry` on scores. A
feature party that reads the labels first (Remark 4.9) gets the label party's part in the same way.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Flags, Matrix, Places, Vector
from plumbob.data import Batch
from plumbob.lab.attacks.equations import factorise, label_weight, noise_on_residuals, sum_error
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View
from plumbob.lab.attacks.label_sign import HIGHEST, minimax_scores, without_own_scores
from plumbob.model import logistic
from plumbob.plan.sigmoids import CUBIC, LINEAR, Sigmoid
from plumbob.plan.study import label_scale

# A score that is known less exactly than this says nothing about a row of norm about 1.
LARGEST_ERROR = 1e-2
UNSURE = 0.75
"""The share of a label's part beyond which a first score may as well be that of the other label, read wrongly."""


@dataclass(frozen=True, repr=False, eq=False)
class ScoreHistory:
    """Every visit of a row to a batch, in order: what it showed of the peers' part of the row's score.

    Arrays have one entry per visit, or per step where it says so. `residual` and `score` are NaN where nothing is
    determined; a `score` that is not known itself may still have bounds (piecewise). `error` is its standard error.
    """

    rows: int
    row: Places
    step: Places
    residual: Vector
    """The row's factor in the sums, class weight included: what moves the peers' weights."""
    guess: Vector
    """The residual, with the likeliest number where it is not determined."""
    score: Vector
    error: Vector
    lower: Vector
    upper: Vector
    whole: Vector
    """The same as `score` with the label party's intercept in it, which a feature party need not replay for that."""
    rate: Vector
    """The factor on each step's sums in the update of the weights."""
    decay: float
    """The factor that L2 leaves of the weights in a step."""
    epoch: Places
    """The epoch of each step."""

    @property
    def steps(self) -> int:
        return len(self.rate)

    @cached_property
    def is_known(self) -> Flags:
        return np.isfinite(self.score)

    @cached_property
    def is_whole(self) -> Flags:
        """Whether all residuals of each step are determined."""
        open_residuals = np.bincount(self.step, weights=~np.isfinite(self.residual), minlength=self.steps)
        return np.asarray(open_residuals == 0, dtype=np.bool_)

    def conditions(self) -> tuple[Condition, ...]:
        known = float(np.mean(np.isfinite(self.residual)))
        return (Condition("share of residuals determined", known, "1", known == 1.0, "Corollary 3.2"),)


def score_history(view: View) -> ScoreHistory | NotApplicable:
    """The peers' scores as this party can work them out; a feature party first works out the labels (Remark 4.9)."""
    if not view.has_sums:
        return NotApplicable(
            f'{view.party} sees no sums: "shares" reveals none during training'
            if not view.plan.kind.shows_gradients
            else f"{view.party} has no columns, so it gets no sums"
        )
    visits = _SolvedVisits.of(view)
    if not np.isfinite(visits.residual).any():
        return NotApplicable(
            f"no residual is determined: batches of {view.plan.batch_size} rows against {view.X.shape[1]} own columns",
            (Condition("share of residuals determined", 0.0, "above 0", False, "Corollary 3.2"),),
        )
    return _explain(view, visits)


@dataclass(frozen=True, repr=False, eq=False)
class _SolvedVisits:
    """Residuals as solved from the sums, and own scores beside them."""

    row: Places
    step: Places
    residual: Vector
    guess: Vector
    error: Vector
    own_score: Vector

    @classmethod
    def of(cls, view: View) -> "_SolvedVisits":
        columns: list[tuple[NDArray[Any], ...]] = []
        for index, (batch, X, own_scores, sums) in enumerate(view.steps()):
            residual, guess, error = _solve(view, X, sums, _expected_residuals(view, batch, own_scores))
            columns.append((batch.rows, np.full(len(batch), index), residual, guess, error, own_scores))
        return cls(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))


def with_better_guesses(view: View, history: ScoreHistory, scores: Vector) -> ScoreHistory:
    """The same history; undetermined residuals are guessed from these scores of the peers, one per visit."""
    guess = history.guess.copy()
    for index, (batch, X, own_scores, sums) in enumerate(view.steps()):
        if not history.is_whole[index]:
            own = slice(*np.searchsorted(history.step, [index, index + 1]))
            guess[own] = _solve(view, X, sums, _expected_residuals(view, batch, own_scores + scores[own]))[1]
    return replace(history, guess=guess)


def _expected_residuals(view: View, batch: Batch, scores: Vector) -> Vector:
    """The expected residuals at these scores; without the labels' part where labels are not known."""
    if view.y is None or view.signs is None:
        return scores if view.plan.sigmoid == "taylor" else np.zeros(len(batch))
    weights = logistic.class_weights(view.y) if view.plan.class_weight != "none" else np.ones(view.rows)
    signs = view.signs[batch.rows] * label_scale(view.plan.label_flip_epsilon)
    return view.sigmoid.residuals(scores, signs) * weights[batch.rows]


def _solve(view: View, X: Matrix, sums: Vector, expected: Vector) -> tuple[Vector, Vector, Vector]:
    """Residuals with residuals @ X = sums, NaN where another solution exists; the likeliest ones; errors.

    The encoding rounds residuals, not sums, so that a determined one comes out as it was rounded: its error is what
    arithmetic, and in minimax the rounded coefficients, do to the sums.
    """
    factors = factorise(X, sum_error(view, X))
    solution = factors.solve(sums - expected @ X)
    guess = expected + solution.values
    in_sums = float(np.sqrt(max(sum_error(view, X) ** 2 - view.residual_rounding**2, 0.0)))
    sizes = np.maximum(factors.singular_values, np.finfo(float).tiny)
    with np.errstate(
        over="ignore"
    ):  # A column that is 0 all over a batch determines nothing, and its error is endless.
        error: Vector = in_sums * np.linalg.norm(factors.left / sizes, axis=1)
    is_determined = solution.is_determined & (error < LARGEST_ERROR)
    return np.where(is_determined, guess, np.nan), guess, error


def _explain(view: View, visits: _SolvedVisits) -> ScoreHistory:
    """Explain each residual by what this party knows: labels, class weights, own scores, a peer's intercept."""
    plan, sigmoid = view.plan, view.sigmoid
    noise = float(np.hypot(view.residual_rounding, noise_on_residuals(view)))
    rate = np.array([plan.rate * sigmoid.gradient_scale / len(batch) for batch in view.batches])
    labels, row_weights = _labels(view, visits)
    curve = visits.residual / row_weights[visits.row] + label_weight(view) * labels[visits.row]
    error = np.hypot(noise, visits.error) / row_weights[visits.row]
    scores, slopes, lower, upper = _invert(sigmoid, curve, error)
    known = visits.own_score + _peer_intercept(view, visits, rate)[visits.step]
    return ScoreHistory(
        rows=view.rows,
        row=visits.row,
        step=visits.step,
        residual=visits.residual,
        guess=visits.guess,
        score=scores - known,
        error=error / slopes,
        lower=lower - known,
        upper=upper - known,
        whole=scores - visits.own_score,
        rate=rate,
        decay=1.0 - plan.rate * plan.l2,
        epoch=np.array([batch.epoch for batch in view.batches]),
    )


def _labels(view: View, visits: _SolvedVisits) -> tuple[Vector, Vector]:
    """Labels as -1/+1 and the rows' class weights; whoever does not hold the labels reads them from the residuals."""
    labels = view.signs if view.signs is not None else _labels_read(view, visits)
    if view.plan.class_weight == "none" or not np.isfinite(labels).all():
        return labels, np.ones(view.rows)
    return labels, logistic.class_weights(labels > 0)


def _labels_read(view: View, visits: _SolvedVisits) -> Vector:
    """The labels that `label-sign` reads at each row's first visit; with noise, at all visits."""
    beliefs = without_own_scores(view, visits.residual, visits.own_score)
    use = np.flatnonzero(np.isfinite(beliefs))
    if noise_on_residuals(view) == 0:
        use = use[np.unique(visits.row[use], return_index=True)[1]]
    totals = np.bincount(visits.row[use], weights=beliefs[use], minlength=view.rows)
    return np.where(totals == 0.0, np.nan, np.sign(totals))


def _peer_intercept(view: View, visits: _SolvedVisits, rate: Vector) -> Vector:
    """Before each step, the label party's intercept as a feature party replays it.

    It starts at 0 and its gradient is the sum of the residuals; NaN after the first one that is not determined.
    """
    if view.is_label_party or not view.plan.intercept:
        return np.zeros(len(rate))
    moves = rate * np.bincount(visits.step, weights=visits.residual, minlength=len(rate))
    return -np.concatenate([[0.0], np.cumsum(moves)[:-1]])


def _invert(sigmoid: Sigmoid, curve: Vector, error: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """Joint scores from the curve's values, the curve's slope there, and bounds on the scores."""
    free = np.full(len(curve), np.inf)
    match sigmoid.name:
        case "taylor":
            return curve, np.ones(len(curve)), curve, curve
        case "minimax":
            scores = minimax_scores(np.where(np.abs(curve) <= HIGHEST, curve, np.nan))
            return scores, np.maximum(LINEAR + 3.0 * CUBIC * scores**2, 1e-6), scores, scores
        case "piecewise":
            margin = 1e-9 + 4.0 * error
            scores = np.where(np.abs(curve) < 0.5 - margin, curve, np.nan)
            lower = np.where(curve >= 0.5 - margin, 0.5, np.where(np.isnan(scores), -free, scores))
            upper = np.where(curve <= margin - 0.5, -0.5, np.where(np.isnan(scores), free, scores))
            return scores, np.ones(len(curve)), lower, upper
    inside = np.where(np.abs(curve) < 0.5, curve, np.nan)
    scores = 2.0 * np.arctanh(2.0 * inside)
    return scores, np.maximum(0.25 - inside**2, 1e-12), scores, scores


def recover_scores(view: View) -> Claim | NotApplicable:
    """The peers' part of each row's score when the row was last in a batch; with several peers their sum."""
    history = score_history(view)
    if isinstance(history, NotApplicable):
        return history
    # An intercept is a part of its party's score.
    history = replace(history, score=history.whole)
    if not view.is_label_party:
        history = replace(history, score=np.where(_may_be_misread(view, history)[history.row], np.nan, history.score))
    if noise_on_residuals(view):
        values = _averaged(history)
        return Claim("scores", peers_name(view), values[:, None], conditions=history.conditions())
    values = np.full(view.rows, np.nan)
    last = np.zeros(view.rows, dtype=np.intp)
    # Later visits overwrite earlier ones; where the last one is not known, the one before it is near.
    values[history.row[history.is_known]] = history.score[history.is_known]
    last[history.row] = np.arange(len(history.row))
    is_determined = np.isfinite(values) & history.is_known[last] & view.is_label_party
    return Claim("scores", peers_name(view), values[:, None], is_determined, conditions=history.conditions())


def _may_be_misread(view: View, history: ScoreHistory) -> Flags:
    """The rows whose labels a feature party cannot be sure of: read wrongly, every score of theirs is far off."""
    known = np.flatnonzero(history.is_known)
    rows, first = np.unique(history.row[known], return_index=True)
    is_unsure = np.zeros(view.rows, dtype=np.bool_)
    is_unsure[rows] = np.abs(history.score[known[first]]) > UNSURE * label_weight(view)
    return is_unsure


def _averaged(history: ScoreHistory) -> Vector:
    """Each row's mean score over its visits after the first half of the epochs, shrunk as far as noise requires.

    Scores hardly move any more then, and noise is new in every visit.
    """
    is_late = history.is_known & (2 * history.epoch[history.step] > history.epoch[-1])
    row, precision = history.row[is_late], history.error[is_late] ** -2.0
    known = np.bincount(row, weights=precision, minlength=history.rows)
    sums = np.bincount(row, weights=precision * history.score[is_late], minlength=history.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        means, variances = sums / known, 1.0 / known
    if not known.any():
        return means
    middle = float(np.nanmean(means))
    signal = max(float(np.nanmean((means - middle) ** 2 - np.where(known > 0, variances, np.nan))), 0.0)
    shrunk: Vector = middle + (means - middle) * signal / (signal + variances)
    return shrunk


def peers_name(view: View) -> str:
    """The peers' names: several where only their columns together are known."""
    return "+".join(peer.name for peer in view.peers if peer.features)


def peer_columns(view: View) -> int:
    """All peers' columns together; an intercept is not among them."""
    return sum(peer.features for peer in view.peers)


def usual_size(view: View) -> float:
    """About how large a peer's number is: 1 if standardised, and rarely less than its limit if clipped."""
    norm = view.plan.norm_over(view.rows)
    return min(1.0, norm / float(np.sqrt(view.plan.columns))) if norm > 0 else 1.0


PEER_SCORES = Attack("feature-geometry", "label", recover_scores, target="scores")
PEER_SCORES_BY_FEATURE_PARTY = Attack("feature-geometry", "features", recover_scores, target="scores")
