"""The quality of scores against labels in 0/1. A score is a log-odds: above 0 means class 1."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.arrays import Vector

NORMAL_QUANTILE = 1.959963984540054  # Of 97.5 %: how many deviations a 95 % interval reaches each way.
MOST_GROUPS, LEAST_GROUP = 10, 5  # Points on a calibration curve, and rows of a point.


@dataclass(frozen=True)
class Quality:
    """The metrics of one model on one set of rows; `majority` is the accuracy of always saying the larger class.

    With one class only, what needs both (auc, ks, balanced_accuracy) is NaN.
    """

    auc: float
    ks: float
    balanced_accuracy: float
    log_loss: float
    accuracy: float
    majority: float
    brier: float
    auc_low: float
    """The lower end of the AUC's 95 % interval, with `auc_high`; likewise for the log loss."""
    auc_high: float
    log_loss_low: float
    log_loss_high: float


def quality(y: ArrayLike, scores: Vector) -> Quality:
    """All metrics at once."""
    labels = np.asarray(y, dtype=np.int8)
    share = float(np.mean(labels))
    return Quality(
        auc(labels, scores),
        ks(labels, scores),
        balanced_accuracy(labels, scores),
        log_loss(labels, scores),
        accuracy(labels, scores),
        max(share, 1.0 - share),
        brier(labels, scores),
        *auc_interval(scores[labels == 1], scores[labels == 0]),
        *log_loss_interval(labels, scores),
    )


def auc(y: ArrayLike, scores: Vector) -> float:
    """The chance that a positive row scores above a negative one, ties counting half."""
    is_positive = np.asarray(y) == 1
    n_positive, n_negative = int(is_positive.sum()), int((~is_positive).sum())
    if not n_positive or not n_negative:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    above = float(ranks[is_positive].sum()) - n_positive * (n_positive + 1) / 2
    return above / (n_positive * n_negative)


def ks(y: ArrayLike, scores: Vector) -> float:
    """Kolmogorov-Smirnov: the largest distance between the two classes' distributions of scores."""
    is_positive = np.asarray(y) == 1
    positive, negative = np.sort(scores[is_positive]), np.sort(scores[~is_positive])
    if not len(positive) or not len(negative):
        return float("nan")
    positive_share = np.searchsorted(positive, scores, side="right") / len(positive)
    negative_share = np.searchsorted(negative, scores, side="right") / len(negative)
    return float(np.max(np.abs(positive_share - negative_share)))


def balanced_accuracy(y: ArrayLike, scores: Vector) -> float:
    """The mean of the two classes' own accuracies."""
    is_positive = np.asarray(y) == 1
    if is_positive.all() or not is_positive.any():
        return float("nan")
    is_right = (scores > 0) == is_positive
    return float((is_right[is_positive].mean() + is_right[~is_positive].mean()) / 2)


def accuracy(y: ArrayLike, scores: Vector) -> float:
    """The share of rows on the right side of 0."""
    return float(np.mean((scores > 0) == (np.asarray(y) == 1)))


def log_loss(y: ArrayLike, scores: Vector) -> float:
    """Mean of -log S(score of the true class), from the scores themselves, so that no probability is 0."""
    return float(np.mean(_losses(y, scores)))


def _losses(y: ArrayLike, scores: Vector) -> Vector:
    signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
    losses: Vector = np.logaddexp(0.0, -signs * scores)
    return losses


def probabilities(scores: Vector) -> Vector:
    """S(score), as half a hyperbolic tangent, which cannot overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * scores))


def brier(y: ArrayLike, scores: Vector) -> float:
    """The mean square of the difference between probability and label."""
    return float(np.mean((probabilities(scores) - np.asarray(y)) ** 2))


def auc_interval(positive: Vector, negative: Vector) -> tuple[float, float]:
    """The 95 % interval from both classes' scores: the spread of each class's rows against the other (DeLong 1988)."""
    if len(positive) < 2 or len(negative) < 2:
        return float("nan"), float("nan")
    above = _above(positive, negative)
    spreads = (above, _above(negative, positive))
    variance = sum(float(np.var(shares, ddof=1)) / len(shares) for shares in spreads)
    middle, reach = float(above.mean()), NORMAL_QUANTILE * math.sqrt(variance)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _above(own: Vector, others: Vector) -> Vector:
    """For each row the share of the other class's rows below it, ties counting half."""
    ordered = np.sort(others)
    below, not_above = (np.searchsorted(ordered, own, side=side) for side in ("left", "right"))
    shares: Vector = (below + not_above) / (2.0 * len(others))
    return shares


def log_loss_interval(y: ArrayLike, scores: Vector) -> tuple[float, float]:
    """The 95 % interval, from the spread of the rows' own losses."""
    losses = _losses(y, scores)
    if len(losses) < 2:
        return float("nan"), float("nan")
    reach = NORMAL_QUANTILE * float(np.std(losses, ddof=1)) / math.sqrt(len(losses))
    return max(0.0, float(losses.mean()) - reach), float(losses.mean()) + reach


def calibration_curve(y: ArrayLike, scores: Vector) -> list[list[float]]:
    """Calibration in groups of equal size by score, deciles where there are enough rows.

    [mean probability, share of positives, rows, highest probability] of each.
    """
    labels, likely = np.asarray(y, dtype=np.float64), probabilities(scores)
    groups = np.array_split(np.argsort(scores, kind="stable"), min(MOST_GROUPS, max(1, len(labels) // LEAST_GROUP)))
    return [
        [float(likely[rows].mean()), float(labels[rows].mean()), float(len(rows)), float(likely[rows].max())]
        for rows in groups
        if len(rows)
    ]


def as_many_positive(scores: Vector, count: int) -> NDArray[np.bool_]:
    """The highest scores, as near to `count` of them as ties allow, as if the class prior were known."""
    at = np.sort(scores)[-count]
    choices = (scores >= at, scores > at)
    return min(choices, key=lambda chosen: abs(int(chosen.sum()) - count))
