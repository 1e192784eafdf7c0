"""The common basis of the attacks: a party's sums as linear equations in the residuals of a batch.

For each step a party knows X and `sums = residuals @ X`, one equation per column. Whether they fix a residual is a
matter of the rank of X and not of rows against columns: real columns are constant, repeated or nearly dependent.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking import study
from plumbob.data import Batch
from plumbob.lab.attacks.interface import View
from plumbob.plan.study import label_scale

USUAL_RESIDUAL = 2.0
"""The expected size of a residual, for all approximations together; it sets the strength of the ridge."""
UNDETERMINED = 1e-6
"""A residual counts as determined while less than this share of its variance is left open."""


@dataclass(frozen=True, repr=False, eq=False)
class Solution:
    """The residuals of one batch: the regularised solution of minimum norm, and how much of each the equations fix."""

    values: Vector
    left_open: Vector
    """The share of each residual's variance that the equations leave open: 0 if unique, 1 if they say nothing."""
    rank: int

    @property
    def is_determined(self) -> NDArray[np.bool_]:
        return self.left_open < UNDETERMINED


@dataclass(frozen=True, repr=False, eq=False)
class BatchFactors:
    """A batch's X decomposed once, for any number of right-hand sides."""

    left: Matrix
    singular_values: Vector
    right: Matrix
    sum_error: float
    """The standard deviation of the error in the sums."""

    def solve(self, sums: Vector) -> Solution:
        """Ridge regression with the ridge that rounding requires: what rounding drowns is left open."""
        strengths = self.singular_values**2 / (self.singular_values**2 + self._ridge)
        inverses = np.divide(
            strengths, self.singular_values, out=np.zeros_like(strengths), where=self.singular_values > 0
        )
        values: Vector = self.left @ (inverses * (self.right @ sums))
        left_open: Vector = np.clip(1.0 - self.left**2 @ strengths, 0.0, 1.0)
        return Solution(values, left_open, self.rank)

    @property
    def rank(self) -> int:
        """How many directions stand out from the rounding."""
        strengths = self.singular_values**2 / (self.singular_values**2 + self._ridge)
        return int(np.sum(1.0 - strengths < UNDETERMINED))

    @property
    def _ridge(self) -> float:
        return (self.sum_error / USUAL_RESIDUAL) ** 2


def factorise(X: Matrix, sum_error: float) -> BatchFactors:
    """The singular value decomposition of own columns of a batch's rows."""
    left, singular_values, right = np.linalg.svd(X, full_matrices=False)
    return BatchFactors(left, singular_values, right, sum_error)


def solve(X: Matrix, sums: Vector, sum_error: float) -> Solution:
    """The residuals of a batch from own columns of its rows and the sums received."""
    return factorise(X, sum_error).solve(sums)


def sum_error(view: View, X: Matrix) -> float:
    """The error of a sum over these rows, as a standard deviation.

    In a `clear` run that is floating-point arithmetic alone. Encrypted, residuals are rounded before they are summed.
    """
    size = float(np.linalg.norm(X)) if X.size else 0.0
    arithmetic = 4.0 * np.finfo(np.float64).eps * USUAL_RESIDUAL * max(size, 1.0)
    return math.hypot(arithmetic, view.residual_rounding)


def noise_on_residuals(view: View) -> float:
    """The standard deviation of the noise that the other parties put on each residual; the plan is public."""
    return math.hypot(*(study.noise_std(view.plan, peer.role) for peer in view.peers))


def label_weight(view: View) -> float:
    """The factor on a label in a residual; larger where labels are flipped at random (see `model.sigmoid`)."""
    return view.sigmoid.label_weight * label_scale(view.plan.label_flip_epsilon)


def why_no_sums(view: View) -> str | None:
    """Why a feature party's attack on labels has nothing to work on, or None."""
    if view.is_label_party:
        return "the label party knows the labels"
    if not view.plan.kind.shows_gradients:
        return "in shares nobody sees a gradient"
    if not view.has_sums:
        return "this party has no columns, so it received no sums"
    return None


def solved_steps(view: View) -> Iterator[tuple[Batch, Vector, Solution]]:
    """For each step: the batch, own scores before it, and the residuals as far as own sums give them away."""
    # The same batches in every epoch are taken apart once.
    kept: dict[bytes, BatchFactors] = {}
    for batch, X, scores, sums in view.steps():
        if view.plan.batches == "reshuffled":
            factors = factorise(X, sum_error(view, X))
        else:
            key = batch.rows.tobytes()
            factors = kept[key] if key in kept else kept.setdefault(key, factorise(X, sum_error(view, X)))
        yield batch, scores, factors.solve(sums)
