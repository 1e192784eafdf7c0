"""Whitening at home: each party turns its own standardised columns so that their covariance is at most the identity.

Nothing is sent. On its own training rows a party clips standardised columns to +-5, centres them again and multiplies
them by T = (C + gamma I)^(-1/2), where C is their covariance. The joint Gram matrix of p parties then has eigenvalues
of at most p, whatever the data are, so that one public rate suits every data set.

Weights `w` of whitened columns are weights `T w` of standardised ones. A penalty of l2 on the latter has the gradient
`l2 T' T w`. With gamma >= 4 l2 / p its curvature stays below p / 4, and the public rate still holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Matrix, Vector

CLIP = 5.0
LARGEST = 127.0  # Whitened entries are limited to it, so that every row, old or new, fits a lattice's 21 bits.
LEAST_GAMMA = 0.01
PENALTY_BITS = 18  # Fraction bits of the penalty's matrix, whose entries are at most p / 4.


@dataclass(frozen=True, repr=False, eq=False)
class Whitening:
    """`(clipped - centre) @ matrix`."""

    centre: Vector
    matrix: Matrix
    clip: float = CLIP
    norm: float = 0.0
    """The norm that rows are shortened to before they are centred; 0 = off."""

    def apply(self, standardised: Matrix) -> Matrix:
        """Whiten rows, for training and for prediction."""
        inside: Matrix = np.clip(standardised, -self.clip, self.clip)
        if self.norm:
            inside = inside * (self.norm / np.maximum(np.linalg.norm(inside, axis=1, keepdims=True), self.norm))
        inside -= self.centre
        whitened: Matrix = inside @ self.matrix
        np.clip(whitened, -LARGEST, LARGEST, out=whitened)
        return whitened

    def in_standard_units(self, weights: Vector) -> tuple[Vector, float]:
        """(weights, offset) on standardised columns that are clipped already."""
        standard: Vector = self.matrix @ weights
        return standard, -float(self.centre @ standard)

    def penalty(self, l2: float) -> Matrix:
        """The matrix by which weights are multiplied for the gradient of the penalty, rounded as it travels."""
        unit = 2.0**-PENALTY_BITS
        rounded: Matrix = np.rint(l2 * (self.matrix.T @ self.matrix) / unit) * unit
        return rounded


def penalties_of(l2: float, own: int, has_intercept: bool, whitening: Whitening | None) -> Vector | Matrix:
    """What own weights are multiplied by for the penalty's gradient; the intercept, the last one, is not penalised."""
    columns = own + has_intercept
    if whitening is None or not l2:
        return np.where(np.arange(columns) < own, l2, 0.0)
    matrix = np.zeros((columns, columns))
    matrix[:own, :own] = whitening.penalty(l2)
    return matrix


def gamma_for(l2: float, parties: int) -> float:
    """The number added to the covariance: enough that neither it nor the penalty is too steep for the public rate."""
    return max(LEAST_GAMMA, 4.0 * l2 / parties)


def fit_whitening(pieces: Iterable[Matrix], columns: int, gamma: float) -> Whitening:
    """Fit on standardised training rows, piece by piece, so that no copy of all of them is needed."""
    rows, total, products = 0, np.zeros(columns), np.zeros((columns, columns))
    for piece in pieces:
        inside = np.clip(piece, -CLIP, CLIP)
        rows += len(inside)
        total += inside.sum(axis=0)
        products += inside.T @ inside
    centre = total / max(rows, 1)
    covariance = products / max(rows, 1) - np.outer(centre, centre)
    return Whitening(centre, inverse_root(covariance, gamma))


def inverse_root(covariance: Matrix, gamma: float) -> Matrix:
    """(C + gamma I)^(-1/2). Rounding can leave a zero eigenvalue slightly below zero."""
    values, vectors = np.linalg.eigh(covariance)
    scaled: Matrix = vectors / np.sqrt(np.maximum(values, 0.0) + gamma)
    root: Matrix = scaled @ vectors.T
    return (root + root.T) / 2.0
