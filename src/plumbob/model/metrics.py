"""How good scores are, against labels in 0/1. A score is a log-odds: above 0 means class 1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Quality:
    """What is shown for one model on one set of rows; `majority` is the accuracy of always saying the larger class.

    With one class only, what needs both (auc, ks, balanced_accuracy) is NaN.
    """

    auc: float
    ks: float
    balanced_accuracy: float
    log_loss: float
    accuracy: float
    majority: float


def quality(y: ArrayLike, scores: Vector) -> Quality:
    """All of them at once."""
    labels = np.asarray(y, dtype=np.int8)
    share = float(np.mean(labels))
    return Quality(
        auc(labels, scores),
        ks(labels, scores),
        balanced_accuracy(labels, scores),
        log_loss(labels, scores),
        accuracy(labels, scores),
        max(share, 1.0 - share),
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
    signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
    return float(np.mean(np.logaddexp(0.0, -signs * scores)))
