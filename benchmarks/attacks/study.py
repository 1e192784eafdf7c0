"""What the studies share: made-up tables, whitening, training in numpy, real runs, figures against chance, and tables.

The maths is short and stands here again, so that a study does not depend on how the package is built inside. Real
runs go through `plumbob.VerticalLogisticRegression`, the public class.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import plumbob

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

CLIP, GAMMA = 5.0, 0.01
MOMENTUM, PASSES = 0.5, 14
SCORE_UNIT = 2.0**-16
"""The last place of an opened score."""
AGREES = 0.02
"""What a score may differ from its row's product where rows and scores are rounded."""
PERIOD = 64.0
"""Scores from shares are opened modulo one period of the sigmoid's series."""

AS_SHARES: dict[str, Any] = {
    "protocol": "clear",
    "scale": "whitened",
    "sigmoid": "fourier",
    "batches": "full",
    "learning_rate": 0.0,
    "momentum": MOMENTUM,
    "epochs": PASSES,
}
"""What makes `clear` train as `shares` does."""


# Tables.


def made_up(rows: int, columns: int, seed: int, shared: float = 0.0) -> Array:
    """Normal columns; `shared` is how much of each one's variance is common to all."""
    generator = np.random.default_rng(seed)
    own = generator.standard_normal((rows, columns))
    common = generator.standard_normal((rows, 1))
    mixed: Array = math.sqrt(1.0 - shared) * own + math.sqrt(shared) * common
    return mixed


def labels_of(X: Array, seed: int, offset: float = 0.0) -> NDArray[np.intp]:
    """Drawn from a logistic model with weights of unit length times two."""
    # A stream of its own: the same one would make the first row the weights.
    generator = np.random.default_rng([seed, 1])
    weights = generator.standard_normal(X.shape[1])
    scores = X @ (2.0 * weights / np.linalg.norm(weights)) + offset
    return (generator.random(len(X)) < 1.0 / (1.0 + np.exp(-scores))).astype(np.intp)


def one_hot(rows: int, chosen: Iterable[int]) -> NDArray[np.intp]:
    """Label 1 for the chosen people, 0 for everybody else."""
    labels = np.zeros(rows, dtype=np.intp)
    labels[list(chosen)] = 1
    return labels


# One party's rows as training sees them.


@dataclass(frozen=True)
class Whitener:
    """Standardised, clipped, centred and multiplied by (C + gamma)^(-1/2)."""

    mean: Array
    deviation: Array
    centre: Array
    matrix: Array

    @classmethod
    def fit(cls, X: Array, gamma: float = GAMMA) -> "Whitener":
        mean, spread = X.mean(axis=0), X.std(axis=0)
        deviation: Array = np.where(spread > 0, spread, 1.0).astype(np.float64)
        inside = np.clip((X - mean) / deviation, -CLIP, CLIP)
        centre = inside.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(inside, rowvar=False, bias=True).reshape(X.shape[1], -1))
        matrix: Array = ((vectors / np.sqrt(np.maximum(values, 0.0) + gamma)) @ vectors.T).astype(np.float64)
        return cls(mean, deviation, centre, matrix)

    def __call__(self, X: Array) -> Array:
        inside = np.clip((X - self.mean) / self.deviation, -CLIP, CLIP) - self.centre
        whitened: Array = inside @ self.matrix
        return whitened

    def weights_from_input_units(self, weights: Array) -> Array:
        """Weights of whitened columns, from those of the columns as they came."""
        found: Array = np.linalg.solve(self.matrix, weights * self.deviation).astype(np.float64)
        return found

    def row_from_whitened(self, row: Array) -> Array:
        """The columns as they came."""
        original: Array = (np.linalg.solve(self.matrix, row) + self.centre) * self.deviation + self.mean
        return original


# Training, in numpy.


def trained(blocks: Sequence[Array], y: NDArray[np.intp], passes: int = PASSES, l2: float = 0.0) -> tuple[Array, float]:
    """(weights of all blocks, intercept) after full passes at the public rate; blocks are whitened already.

    The exact sigmoid stands for the series, which differs by at most .0044.
    """
    X = np.column_stack([*blocks, np.ones(len(y))])
    rate = 4.0 / sum(block.shape[1] > 0 for block in blocks)
    weights, velocity = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    pull = np.append(np.full(X.shape[1] - 1, l2), 0.0)
    for _ in range(passes):
        residuals = 0.5 * np.tanh(0.5 * (X @ weights)) + 0.5 - y
        velocity = MOMENTUM * velocity + residuals @ X / len(y) + pull * weights
        weights = weights - rate * velocity
    return weights[:-1], float(weights[-1])


def expected_growth(rows: int, chosen: int = 1, passes: int = PASSES, parties: int = 2) -> float:
    """By what the chosen people's summed whitened rows are multiplied in the weights, if nobody else tells them apart.

    The intercept moves as if it were alone. The others' residuals then differ by p (1 - p) times their scores, which
    pulls the weights back.
    """
    rate, intercept, speed, growth, drift = 4.0 / parties, 0.0, 0.0, 0.0, 0.0
    for _ in range(passes):
        likely = 1.0 / (1.0 + math.exp(-intercept))
        speed = MOMENTUM * speed + likely - chosen / rows
        drift = MOMENTUM * drift + 1.0 / rows - likely * (1.0 - likely) * growth
        intercept -= rate * speed
        growth += rate * drift
    return growth


# Real runs.


def fitted(X: Array, y: NDArray[np.intp], split: tuple[int, ...], **keys: Any) -> plumbob.VerticalLogisticRegression:
    """A real run of all parties in this process."""
    keys = {"random_state": 1, "n_jobs": 1, "record": False} | keys
    with warnings.catch_warnings():
        # The studies train plans that leak: that is what they are about.
        warnings.simplefilter("ignore", UserWarning)
        return plumbob.VerticalLogisticRegression(split=split, **keys).fit(X, y)


def solved(known: Array, scores: Array) -> tuple[Array, float]:
    """(weights, constant) from scores of rows whose columns are known; the shortest ones where rows are too few."""
    centre = known.mean(axis=0)
    if len(known) <= known.shape[1]:
        # Without enough rows the constant is taken for the mean score.
        weights: Array = np.linalg.lstsq(known - centre, scores - scores.mean(), rcond=None)[0].astype(np.float64)
        return weights, float(scores.mean() - centre @ weights)
    found: Array = np.linalg.lstsq(np.column_stack([known, np.ones(len(known))]), scores, rcond=None)[0].astype(
        np.float64
    )
    return found[:-1], float(found[-1])


def solved_modulo(known: Array, scores: Array, period: float = PERIOD, tries: int = 2000) -> tuple[Array, float]:
    """The same from scores that may have wrapped around, with more known rows than needed.

    Small sets of rows are solved as if none had wrapped; the set is right with which all other rows agree.
    """
    generator, needed = np.random.default_rng(1), min(len(known), known.shape[1] + 4)
    # Scores of short rows rarely wrap.
    order = np.argsort(np.linalg.norm(known, axis=1))[: max(needed, 2 * len(known) // 3)]
    best, agreed = solved(known, scores), 0
    for number in range(tries):
        chosen = generator.choice(order, needed, replace=False) if number else np.arange(len(known))
        weights, constant = solved(known[chosen], scores[chosen])
        missed = (known @ weights + constant - scores + period / 2) % period - period / 2
        is_right = np.abs(missed) < AGREES
        if is_right[chosen].all() and is_right.sum() > agreed:
            unwrapped = known @ weights + constant - missed
            best, agreed = solved(known[is_right], unwrapped[is_right]), int(is_right.sum())
        if agreed == len(known):
            break
    return best


# Figures.


def cosine(left: Array, right: Array) -> float:
    """The correlation of two vectors around 0, where whitened columns lie."""
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0


def against_chance(cosines: Sequence[float], columns: int) -> tuple[float, float]:
    """(mean, how many deviations it lies above 0): a random direction has cosines of variance 1 / columns.

    Where they vary more, because noise has directions that it prefers, by what they vary.
    """
    mean, deviation = float(np.mean(cosines)), max(float(np.std(cosines)), 1.0 / math.sqrt(columns))
    return mean, mean * math.sqrt(len(cosines)) / deviation


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    cells = [list(header), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _shown(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)
