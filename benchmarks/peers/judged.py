"""What a run of another system is judged by, in numpy alone: its environment has nothing of Plumbob's."""

import numpy as np


def auc(y: np.ndarray, scores: np.ndarray) -> float:
    ranks = scores.argsort().argsort() + 1
    positives = int((y == 1).sum())
    return float((ranks[y == 1].sum() - positives * (positives + 1) / 2) / (positives * (len(y) - positives)))


def log_loss(y: np.ndarray, scores: np.ndarray) -> float:
    return float(np.logaddexp(0, np.where(y == 1, -scores, scores)).mean())
