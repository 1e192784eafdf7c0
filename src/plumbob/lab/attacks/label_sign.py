"""`label-sign`: solve own sums for the residuals of each batch; their sign gives the label away (Criterion 4.2).

View: a feature party's own columns and sums, any number of parties. Cost: one singular value decomposition per batch.
Condition: the rank of own columns over a batch is its number of rows, and the joint score stays below the
approximation's threshold (guaranteed for T_eps steps, Corollary 4.5 and Theorems 4.6, 4.10, E.3). Rows of batches with
less rank get the solution of minimum norm and count as inferred.

Beyond the paper: the attacker knows its own part of the score. Of the two joint scores that the two labels would mean,
the one nearer to its own part is believed. For Taylor that is -sign(residual - own score), which needs only the *other*
parties' scores to be below 2. Of several visits to a row the one that determines most is used, of equals the earliest,
because scores grow.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking import study
from plumbob.data import largest_batch
from plumbob.lab import bounds
from plumbob.lab.attacks.equations import Solution, label_weight, noise_on_residuals, solved_steps, why_no_sums
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View
from plumbob.plan.sigmoids import CUBIC, LINEAR

FOLD = math.sqrt(-LINEAR / (3.0 * CUBIC))
"""The score, about 4.05, up to which the cubic of minimax rises: within it each residual has one root."""
HIGHEST = FOLD * LINEAR * 2.0 / 3.0
"""The cubic's value there."""
START_FAILURE = 0.05
"""The chance that the bound on a random start's scores is wrong."""

SignRule = Callable[[View, Vector, Vector], Vector]
"""Turns a view, residuals and own scores into beliefs; NaN where a residual says nothing."""


def recover_labels(view: View) -> Claim | NotApplicable:
    """The labels from the sign of a residual without the attacker's part of the score."""
    return by_rule(view, without_own_scores)


def recover_labels_by_criterion(view: View) -> Claim | NotApplicable:
    """The paper's own rule, -sign(residual), for comparison."""
    return by_rule(view, plain_sign)


def by_rule(view: View, rule: SignRule) -> Claim | NotApplicable:
    """The claim of a rule from the best visit to each row."""
    if reason := why_no_sums(view):
        return NotApplicable(reason)
    visits = best_visits(view, rule)
    is_noisy = view.plan.noise != "none"
    # A residual that is unique and noisy still determines nothing.
    is_determined = visits.is_determined & (not is_noisy) & np.isfinite(visits.beliefs)
    return Claim.of_labels(visits.beliefs, is_determined, tuple(conditions(view, visits)))


def without_own_scores(view: View, residuals: Vector, own_scores: Vector) -> Vector:
    """The label whose joint score would be nearer to own scores, with the difference as certainty."""
    weight = label_weight(view)
    if view.plan.weighs_rows or view.sigmoid.name in ("piecewise", "exact"):
        # Weights scale residuals by an unknown factor. The other two show the sign whatever the score is.
        return plain_sign(view, residuals, own_scores)
    if view.sigmoid.name == "minimax":
        nearness = [np.abs(minimax_scores(residuals + weight * sign) - own_scores) for sign in (-1.0, 1.0)]
        return (nearness[0] - nearness[1]) / 4.0
    return (own_scores - residuals) / weight


def plain_sign(view: View, residuals: Vector, own_scores: Vector) -> Vector:
    """Criterion 4.2. A piecewise residual of 0 means that the model is right and sure, and tells nothing."""
    beliefs: Vector = -residuals / label_weight(view)
    if view.sigmoid.name == "piecewise":
        beliefs[np.abs(residuals) <= 1e-6 + 8.0 * view.residual_rounding] = np.nan
    return beliefs


def minimax_scores(values: Vector) -> Vector:
    """The scores at which the cubic takes these values, between its folds; beyond, further out the further off."""
    inside = np.clip(values, -HIGHEST, HIGHEST)
    # With z = 2 * FOLD * sin(a) the cubic is its largest value times sin(3a).
    scores: Vector = 2.0 * FOLD * np.sin(np.arcsin(inside / HIGHEST) / 3.0)
    return scores + (values - inside) / LINEAR


@dataclass(frozen=True, repr=False, eq=False)
class Visits:
    """For each row the visit that is believed."""

    beliefs: Vector
    scores: Vector
    """The joint score that residual and believed label imply, without its sign for `piecewise` and `exact`."""
    left_open: Vector
    is_determined: NDArray[np.bool_]
    steps: NDArray[np.intp]
    full_rank: float
    """The share of the batches used whose rank is their number of rows."""


def best_visits(view: View, rule: SignRule) -> Visits:
    """Go through the epochs until every row is determined; without reshuffling the first one says all."""
    beliefs, scores = np.full(view.rows, np.nan), np.full(view.rows, np.nan)
    left_open, steps = np.full(view.rows, np.inf), np.zeros(view.rows, dtype=np.intp)
    ranks_met, epoch = [], 1
    for batch, own_scores, solution in solved_steps(view):
        if batch.epoch > epoch:
            says_the_same = view.plan.batches != "reshuffled" and bool(np.isfinite(beliefs).all())
            if says_the_same or not left_open.any():
                break
            epoch = batch.epoch
        ranks_met.append(solution.rank == len(batch))
        answers = rule(view, solution.values, own_scores)
        open_here = openness(solution, answers)
        is_better = open_here < left_open[batch.rows]
        rows = batch.rows[is_better]
        beliefs[rows], left_open[rows], steps[rows] = answers[is_better], open_here[is_better], batch.step
        scores[rows] = believed_scores(view, solution.values, answers)[is_better]
    return Visits(beliefs, scores, left_open, left_open == 0, steps, float(np.mean(ranks_met)))


def openness(solution: Solution, answers: Vector) -> Vector:
    """How much a visit leaves open: 0 where determined, infinite where there is no answer."""
    open_here = np.where(solution.is_determined, 0.0, solution.left_open)
    return np.where(np.isfinite(answers), open_here, np.inf)


def believed_scores(view: View, residuals: Vector, beliefs: Vector) -> Vector:
    """The joint scores that these residuals imply if the beliefs are right."""
    values = residuals + label_weight(view) * np.sign(np.nan_to_num(beliefs))
    if view.sigmoid.name == "minimax":
        return minimax_scores(values)
    return values


def conditions(view: View, visits: Visits) -> list[Condition]:
    """The paper's conditions on this run."""
    found = [
        Condition(
            "batches whose rank is their number of rows",
            visits.full_rank,
            f"1 (own columns {view.X.shape[1]}, largest batch {largest_batch(view.rows, view.plan)})",
            visits.full_rank == 1.0,
            "Corollary 3.2, section 4",
        ),
        safe_steps_condition(view, int(visits.steps.max())),
    ]
    if math.isfinite(view.sigmoid.threshold) and view.sigmoid.name != "piecewise":
        share = float(np.mean(np.abs(visits.scores) < view.sigmoid.threshold))
        needed = f"1: every abs(joint score), as solved for, below {view.sigmoid.threshold:g}"
        found.append(Condition("rows with a small score", share, needed, share == 1.0, "Criterion 4.2"))
    if view.sigmoid.name == "piecewise":
        share = float(np.mean(np.isfinite(visits.beliefs)))
        found.append(Condition("rows with a residual other than 0", share, "1", share == 1.0, "Theorem F.2"))
    if view.plan.noise != "none":
        found.append(Condition("noise on a residual", noise_on_residuals(view), "0", False, "Algorithm 3"))
    return found


def safe_steps_condition(view: View, last_step: int) -> Condition:
    """The condition on steps in which every sign is right, beside the last step that was believed."""
    row_norm, how = joint_row_norm(view)
    needed = f"at least {last_step}, the last step used; joint rows of norm {row_norm:.3g} ({how})"
    steps, reference = safe_steps(view, row_norm)
    return Condition("T_eps", steps, needed, steps >= last_step, reference)


def safe_steps(view: View, row_norm: float) -> tuple[int, str]:
    """T_eps, or all steps where there is no limit, and its place in the paper."""
    plan = view.plan
    largest = bounds.start_score_bound(plan.start, view.rows, plan.columns, row_norm, START_FAILURE)
    if plan.sigmoid == "piecewise":
        return len(view.batches), "Theorem F.2: a sign is never wrong"
    if plan.sigmoid == "exact":
        return len(view.batches), "section 2: S(z) stays within 0 and 1"
    if plan.sigmoid == "minimax":
        return bounds.minimax_safe_steps(plan.rate, largest, row_norm), "Theorem E.3"
    if (noise := max(study.noise_std(plan, party.role) for party in plan.learners)) > 0:
        error = bounds.gradient_error_bound(noise, len(view.batches[0]), len(view.batches), START_FAILURE)
        return bounds.noisy_safe_steps(plan.rate, error, largest, row_norm), "Theorem 6.6 (drift only)"
    many = ", Theorem 4.10" if len(plan.learners) > 2 else ""
    reference = "Theorem 4.6" if plan.start == "zero" else "Corollary 4.5"
    return bounds.safe_steps(plan.rate, largest, row_norm), reference + many


def joint_row_norm(view: View) -> tuple[float, str]:
    """The largest norm of a joint row: from the plan where rows are clipped, else own rows scaled up to all columns."""
    intercept = 1.0 if view.plan.intercept else 0.0
    if view.plan.row_norm > 0:
        return math.hypot(view.plan.row_norm, intercept), "clipped, by the plan"
    own = largest_norm(view.X) * math.sqrt(view.plan.columns / view.X.shape[1])
    return math.hypot(own, intercept), "estimated from own columns"


def largest_norm(X: Matrix) -> float:
    """The largest norm among these rows."""
    return float(np.linalg.norm(X, axis=1).max())


LABEL_SIGN = Attack("label-sign", "features", recover_labels)
ATTACKS = (LABEL_SIGN,)
