"""What the label attack reads in the paper's figures: the residual of every person, at every visit, noise included.

The paper's curves take residuals as read, as its packing attack reads them, whatever the batch size ("independent of
the choices of batch size or the splitting ratio"). So they are rebuilt here from a run's views and the noise of
`clear`, which comes from its seed, and checked against the sums that training really used.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data import Batch, stream
from plumbob.errors import DataError
from plumbob.lab.attacks.interface import View
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import Run
from plumbob.model.logistic import signs_of
from plumbob.model.metrics import accuracy
from plumbob.protocol.defences import noise_std


@dataclass(frozen=True, repr=False, eq=False)
class Released:
    """For each epoch and row, the residual that a feature party would read; NaN for a row that was dropped."""

    residuals: Matrix
    own_scores: Matrix
    """The reader's own part in them."""
    own: View
    y: NDArray[np.int8]

    @classmethod
    def of(cls, run: Run) -> "Released":
        """Of a run in the clear between two parties; refuses one whose residuals do not give its own sums."""
        truth = Truth.of(run)
        if truth.plan.kind.is_encrypted or len(truth.views) != 2:
            raise DataError("expected a run in the clear between two parties")
        own = truth.views[truth.plan.feature_parties[0].name]
        y = truth.views[truth.plan.label_party.name].y
        shape = (truth.plan.passes(truth.rows), truth.rows)
        residuals, own_scores = np.full(shape, np.nan), np.full(shape, np.nan)
        for batch, read, ours in _steps(truth, own):
            residuals[batch.epoch - 1, batch.rows] = read
            own_scores[batch.epoch - 1, batch.rows] = ours
        return cls(residuals, own_scores, own, np.asarray(y))

    @property
    def without_own_scores(self) -> Matrix:
        """What is left when the reader takes away what it knows: the other party's score, the label and noise."""
        return self.residuals - self.own_scores


def _steps(truth: Truth, own: View) -> Iterator[tuple[Batch, Vector, Vector]]:
    """For each step: the batch, the residuals as released to the feature party, and its own scores in them."""
    label = truth.views[truth.plan.label_party.name]
    std, generator = noise_std(truth.plan, "label"), stream(own.seed, "noise")
    signs = signs_of(truth.is_positive)
    for step, batch in enumerate(own.batches):
        # As `clear` draws it: one row of noise for each party, the label party's first.
        drawn = std * generator.standard_normal((2, len(batch)))[0]
        # A full batch is the table itself: a copy of it in every step would take longer than the rest.
        is_all = truth.plan.batches == "full"
        X, theirs = (own.X, label.X) if is_all else (own.X[batch.rows], label.X[batch.rows])
        ours = X @ own.weights_before[step]
        scores = ours + theirs @ label.weights_before[step]
        residuals = own.sigmoid.residuals(scores, signs[batch.rows]) + drawn
        if step in (0, len(own.batches) - 1):
            _refuse_others(residuals @ X, own.sums[step])
        yield batch, residuals, ours


def _refuse_others(sums: Vector, used: Vector) -> None:
    if not np.allclose(sums, used, rtol=1e-6, atol=1e-6 * float(np.abs(used).max(initial=1.0))):
        raise DataError("the residuals do not give the sums of the run; was it trained by another version?")


def success(y: NDArray[np.int8], values: Matrix) -> list[float]:
    """For each epoch the share of labels that -sign(value) gives correctly (Criterion 4.2), of the rows in a batch."""
    is_read = np.isfinite(values)
    return [accuracy(y[read], -one[read]) for one, read in zip(values, is_read, strict=True)]
