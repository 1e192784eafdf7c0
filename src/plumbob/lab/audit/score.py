"""Scoring: from a claim and the truth to a finding with rates beside baselines, and intervals (docs/check.md).

Baselines are what the attacker could say without the attack: the more frequent class, and what its own part of the
final model predicts; for values, what its own columns explain. They are measured generously, so that a finding is
about the attack and not about what is known anyway.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Flags, Matrix, Vector
from plumbob.checking.rules import rule_of
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import percent
from plumbob.errors import DataError
from plumbob.lab.attacks import (
    Attack,
    Claim,
    Condition,
    NotApplicable,
    View,
)
from plumbob.lab.audit.truth import Truth
from plumbob.model import intervals, metrics
from plumbob.record import Finding

EXACT = 1e-6
"""How far a single weight may be off and still count as read, and the share of values that is no longer worth reading.
"""


def scored(attack: Attack, by: str, claim: Claim | NotApplicable, truth: Truth) -> list[Finding]:
    """The finding of one attack by one party, about one or several others; none where it had nothing to work on."""
    if isinstance(claim, NotApplicable):
        return [_refused(attack, by, claim, truth)] if claim.is_refused else []
    score = {"labels": _labels, "weights": _weights}.get(claim.target, _values)
    return [score(attack, by, claim, truth)]


def _refused(attack: Attack, by: str, reason: NotApplicable, truth: Truth) -> Finding:
    """The finding where an honest peer refused an attack, about everybody whom it could have been about."""
    label_party = truth.plan.label_party.name
    peers = [party.name for party in truth.plan.learners if party.name != by and party.features]
    against = label_party if attack.target == "labels" else "+".join(peers) or label_party
    about = (attack.target, BLOCKED, reason.why, attack.reference, "")
    more = {"n": truth.rows, "conditions": _plain(reason.conditions), **_of_its_rule(attack)}
    return Finding(attack.name, by, against, *about, **more)


# Labels.


@dataclass(frozen=True)
class Answers:
    """Somebody's answer about some rows: a guess for each, and how they are ranked."""

    is_positive: Flags
    guesses: Flags
    ranking: Vector

    def metrics(self) -> dict[str, float]:
        """The metrics that advantage is taken over; without both classes, accuracy alone."""
        signs = np.where(self.guesses, 1.0, -1.0)
        found = {"accuracy": metrics.accuracy(self.is_positive, signs)}
        if self.has_both_classes:
            found["balanced accuracy"] = metrics.balanced_accuracy(self.is_positive, signs)
            found["AUC"] = metrics.auc(self.is_positive, self.ranking)
        return found

    def intervals(self) -> dict[str, intervals.Interval]:
        is_right = self.guesses == self.is_positive
        found = {"accuracy": intervals.wilson(float(is_right.sum()), len(is_right))}
        if self.has_both_classes:
            classes = (is_right[self.is_positive], is_right[~self.is_positive])
            right, sizes = [float(one.sum()) for one in classes], [len(one) for one in classes]
            found["balanced accuracy"] = intervals.balanced_accuracy((right[0], right[1]), (sizes[0], sizes[1]))
            found["AUC"] = intervals.auc(self.is_positive, self.ranking)
        return found

    @property
    def has_both_classes(self) -> bool:
        return bool(self.is_positive.any() and not self.is_positive.all())


def _labels(attack: Attack, by: str, claim: Claim, truth: Truth) -> Finding:
    _refuse_shape(attack, claim.beliefs.shape, (truth.rows,))
    _refuse_shape(attack, claim.is_determined.shape, (truth.rows,))
    rows = np.arange(truth.rows) if claim.targets is None else claim.targets
    is_answered = ~np.isnan(claim.beliefs) & (claim.beliefs != 0)
    answers = _answers_of(claim, is_answered, truth, rows)
    found, ends = answers.metrics(), answers.intervals()
    guesses, *others = [one.metrics() for one in _label_baselines(truth.views[by], truth, rows)]
    baselines = [guesses] if claim.is_beside_guessing else [guesses, *others]
    best = {name: max(one[name] for one in baselines) for name in found}
    advantage = max(advantage_over(ends[name][0], best[name]) for name in found)
    is_determined = is_answered & claim.is_determined
    verdict = _verdict(claim, advantage, truth.plan.tolerance_labels)
    known = _known_labels(claim, is_answered, is_determined, truth, by)
    # Whoever reads labels exactly knows what it could only suppose before, however right it supposed.
    if verdict == BLOCKED and known is not None and (known[0] > known[1] or known[0] == 1.0):
        verdict = DEGRADES
    return Finding(
        attack.name,
        by,
        truth.plan.label_party.name,
        "labels",
        verdict,
        _why_labels(found, ends, best, len(rows), is_answered, is_determined, known),
        attack.reference,
        "",
        rate=found["accuracy"],
        baseline=best["accuracy"],
        auc=found.get("AUC"),
        baseline_auc=best.get("AUC"),
        balanced_accuracy=found.get("balanced accuracy"),
        interval=ends["accuracy"],
        coverage=float(is_answered.mean()),
        determined=float(is_determined.mean()),
        n=len(rows),
        advantage=advantage,
        conditions=_plain(claim.conditions),
        **_of_its_rule(attack),
    )


def _answers_of(claim: Claim, is_answered: Flags, truth: Truth, rows: NDArray[np.intp]) -> Answers:
    """The answers of a claim; a row without one counts as the larger class and is ranked in the middle."""
    guesses = np.where(is_answered, claim.beliefs > 0, _majority(truth))
    ranking = np.where(is_answered, claim.beliefs, 0.0)
    return Answers(truth.is_positive[rows], guesses[rows], ranking[rows])


def _known_labels(
    claim: Claim, is_answered: Flags, is_determined: Flags, truth: Truth, by: str
) -> tuple[float, float] | None:
    """The share of right answers among the rows that it calls determined, and the best baseline's share.

    Few of many rows do not move a rate over all of them, but who is among the few is no better off for that. There is
    no interval here: that their equations have one solution is proved, and not a sample.
    """
    rows = np.flatnonzero(is_determined)
    if not len(rows):
        return None
    baselines = _label_baselines(truth.views[by], truth, rows)
    best = max(one.metrics()["accuracy"] for one in baselines)
    return _answers_of(claim, is_answered, truth, rows).metrics()["accuracy"], best


def _label_baselines(view: View, truth: Truth, rows: NDArray[np.intp]) -> Iterator[Answers]:
    """The class prior, and the attacker's own part of the final model where it has one."""
    is_positive = truth.is_positive[rows]
    yield Answers(is_positive, np.full(len(rows), _majority(truth)), np.zeros(len(rows)))
    if len(view.weights) and view.X.shape[1]:
        scores = view.X @ view.weights
        guesses = metrics.as_many_positive(scores, int(truth.is_positive.sum()))
        yield Answers(is_positive, guesses[rows], scores[rows])


def _majority(truth: Truth) -> bool:
    return bool(truth.is_positive.mean() > 0.5)


def _why_labels(
    found: dict[str, float],
    ends: dict[str, intervals.Interval],
    best: dict[str, float],
    n: int,
    is_answered: Flags,
    is_determined: Flags,
    known: tuple[float, float] | None,
) -> str:
    low, high = ends["accuracy"]
    text = (
        f"{_share(found['accuracy'])} of {n} labels recovered correctly (95 % interval {_share(low)} to "
        f"{_share(high)}) against {_share(best['accuracy'])} by the best baseline"
    )
    if "AUC" in found:
        text += f", AUC {found['AUC']:.3f} against {best['AUC']:.3f}"
    text += f"; {_share(is_answered.mean())} of all rows answered, {_share(is_determined.mean())} determined"
    return f"{text}, of which {_share(known[0])} correct (baseline {_share(known[1])})." if known else f"{text}."


# Scores and features.


def _values(attack: Attack, by: str, claim: Claim, truth: Truth) -> Finding:
    everybody = truth.features(claim.against) if claim.target == "features" else truth.scores(claim.against)
    everybody = everybody if claim.column is None else everybody[:, [claim.column]]
    _refuse_shape(attack, claim.is_determined.shape, (truth.rows,))
    rows = np.arange(truth.rows) if claim.targets is None else claim.targets
    target, values = everybody[rows], _widen(attack, claim, everybody)[rows]
    is_visited = _is_whole(target)
    is_answered = _is_whole(values) & is_visited
    view = truth.views[by]
    # What a party can regress on without any message: its features and, at the label party, the labels.
    own_columns = view.X if view.y is None else np.column_stack([view.X, view.y])
    # Over everybody, because a few targets would be explained by any columns.
    of_everybody = _is_whole(everybody)
    left_over = np.full(everybody.shape, np.nan)
    left_over[of_everybody] = regression_errors(own_columns[of_everybody], everybody[of_everybody])
    left_over = left_over[rows]
    baseline = max(0.0, explained(target[is_visited], left_over[is_visited]) or 0.0)
    # What is left within the rounding of values is nothing.
    baseline = baseline if 1.0 - baseline > EXACT else 1.0
    is_beside_own = claim.left_open == "own columns"
    # What is not answered is taken as the mean, as a label is taken as the larger class.
    errors = left_over.copy() if is_beside_own else target - target[is_visited].mean(axis=0)
    if is_answered.any():
        answers, truth_there = values[is_answered], target[is_answered]
        if is_beside_own:
            answers, truth_there = regression_errors(own_columns[rows][is_answered], answers), left_over[is_answered]
        errors[is_answered] = aligned(answers, truth_there, claim.left_open) - truth_there
    rate = explained(target[is_visited], errors[is_visited])
    ends = (0.0, 0.0) if rate is None else intervals.explained(target[is_visited], errors[is_visited])
    advantage = 0.0 if rate is None else advantage_over(ends[0], baseline)
    verdict = _verdict(claim, advantage, truth.plan.tolerance_features)
    is_determined = is_answered & claim.is_determined[rows]
    if verdict == BLOCKED and _knows_values(*(one[is_determined] for one in (target, errors, left_over))):
        verdict = DEGRADES
    return Finding(
        attack.name,
        by,
        claim.against,
        claim.target,
        verdict,
        _why_values(claim, rate, ends, baseline, _relative(errors, target, is_answered), is_answered, is_determined)
        + claim.remark,
        attack.reference,
        "",
        # Worse than the mean is no rate.
        rate=None if rate is None or rate < 0 else rate,
        baseline=baseline,
        interval=None if rate is None else ends,
        coverage=float(is_answered.mean()),
        determined=float(is_determined.mean()),
        n=len(rows),
        advantage=advantage,
        conditions=_plain(claim.conditions),
        **_of_its_rule(attack),
    )


def _weights(attack: Attack, by: str, claim: Claim, truth: Truth) -> Finding:
    """The finding about weights: they agree as R^2 says; a single one is read or not."""
    actual = truth.weights(claim.against)
    errors = claim.values[:, 0] - actual
    rate = explained(actual[:, None], errors[:, None]) if len(actual) > 1 else float(np.abs(errors).max() < EXACT)
    reached = max(0.0, rate or 0.0)
    verdict = _verdict(claim, reached, truth.plan.tolerance_features)
    return Finding(
        *(attack.name, by, claim.against, "weights", verdict, f"{claim.remark} with R^2 {reached:.3f}."),
        attack.reference,
        "",
        rate=reached,
        baseline=0.0,
        n=None if claim.targets is None else len(claim.targets),
        advantage=reached,
        **_of_its_rule(attack),
    )


def _widen(attack: Attack, claim: Claim, target: Matrix) -> Matrix:
    """The claim widened by zero columns: up to a rotation, fewer columns are the same as more with zeros."""
    values = claim.values
    missing = target.shape[1] - values.shape[1] if values.ndim == 2 else 0
    if claim.left_open == "rotation" and missing > 0:
        values = np.hstack([values, np.zeros((len(values), missing))])
    _refuse_shape(attack, values.shape, target.shape)
    return values


def _is_whole(values: Matrix) -> Flags:
    """Which rows have no NaN."""
    is_whole: Flags = np.logical_not(np.isnan(values).any(axis=1))
    return is_whole


def aligned(values: Matrix, target: Matrix, left_open: str) -> Matrix:
    """The claim turned as near to the truth as the attack leaves open: by a sign, an orthogonal matrix or a factor."""
    if left_open == "sign":
        return values if np.sum(values * target) >= 0 else -values
    if left_open == "rotation":
        left, _, right = np.linalg.svd(values.T @ target)
        turned: Matrix = values @ (left @ right)
        return turned
    if left_open == "own columns":
        size = float(np.sum(values**2))
        return values * (float(np.sum(values * target)) / size) if size else values
    return values


def regression_errors(own: Matrix, target: Matrix) -> Matrix:
    """What is left of the target after regressing it on these columns and a constant, if there are rows enough."""
    design = np.hstack([own, np.ones((len(own), 1))])
    if len(design) <= design.shape[1]:
        design = design[:, -1:]
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return np.asarray(target - fitted, dtype=np.float64)


def explained(target: Matrix, errors: Matrix) -> float | None:
    """R^2 over all columns together; None where the target does not vary."""
    scatter = float(np.sum((target - target.mean(axis=0)) ** 2)) if len(target) else 0.0
    return 1 - float(np.sum(errors**2)) / scatter if scatter else None


def _knows_values(target: Matrix, errors: Matrix, left_over: Matrix) -> bool:
    """Whether it is nearer to the truth than the attacker's own columns, on the rows that it calls determined."""
    by_claim, by_own_columns = explained(target, errors), explained(target, left_over)
    return by_claim is not None and by_own_columns is not None and by_claim > max(0.0, by_own_columns)


def _relative(errors: Matrix, target: Matrix, is_answered: Flags) -> float:
    """The norm of the error over that of the truth, on the answered rows."""
    size = float(np.linalg.norm(target[is_answered]))
    return float(np.linalg.norm(errors[is_answered])) / size if size else math.nan


def _why_values(
    claim: Claim,
    rate: float | None,
    ends: intervals.Interval,
    baseline: float,
    relative_error: float,
    is_answered: Flags,
    is_determined: Flags,
) -> str:
    if rate is None:
        return (
            f"The {claim.target} of {claim.against} do not vary in this run, so there is nothing to learn about them."
        )
    free = {
        "nothing": "",
        "sign": " up to one sign",
        "rotation": " up to a rotation",
        "own columns": " together with its own columns",
    }[claim.left_open]
    whole = "the columns of" if claim.target == "features" else f"the {claim.target} of"
    about = whole if claim.column is None else "one column of"
    about = f"{about} {claim.against}"
    explains = (
        f"The claim explains {rate:.3f} (R^2) of {about}{free}"
        if rate > 0
        else f"The claim{free} is worse than guessing the mean of {about}"
    )
    interval = f", 95 % interval {max(ends[0], -1.0):.3g} to {ends[1]:.3g}" if rate > 0 else ""
    error = "" if math.isnan(relative_error) or rate <= 0 else f", relative error {relative_error:.1e}"
    return (
        f"{explains}{interval}; the attacker's own columns explain "
        f"{baseline:.3f}{error}; {_share(is_answered.mean())} of "
        f"{'all' if claim.targets is None else len(claim.targets)} rows answered, "
        f"{_share(is_determined.mean())} determined."
    )


# Both.


def advantage_over(lower_end: float, baseline: float) -> float:
    """How much of what the baseline leaves unknown is known; 0 if it leaves nothing, or if the claim is worse."""
    return max(0.0, (lower_end - baseline) / (1 - baseline)) if baseline < 1 else 0.0


def verdict_of(advantage: float, tolerance: float) -> str:
    """Anything above the tolerance leaks, anything above nothing degrades."""
    if advantage > tolerance:
        return LEAKS
    return DEGRADES if advantage > 0 else BLOCKED


def _verdict(claim: Claim, advantage: float, tolerance: float) -> str:
    verdict = verdict_of(advantage, tolerance)
    return DEGRADES if claim.is_conditional and verdict == LEAKS else verdict


def _of_its_rule(attack: Attack) -> dict[str, Any]:
    """What the attack's rule says of it: when it is made, and whether by a party that cheats."""
    rule = rule_of(attack.name, attack.target, attack.by)
    return {"stage": rule.stage, "assumes": rule.assumes}


def _refuse_shape(attack: Attack, got: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if got != expected:
        raise DataError(f"{attack.name}: expected a claim of shape {expected}, got {got}")


def _share(value: Any) -> str:
    return percent(float(value))


def _plain(conditions: tuple[Condition, ...]) -> tuple[dict[str, Any], ...]:
    """The conditions as JSON can hold them: numpy's numbers as Python's, and None for what is not finite."""
    return tuple(
        asdict(one) | {"value": float(one.value) if math.isfinite(one.value) else None, "is_met": bool(one.is_met)}
        for one in conditions
    )
