"""Steering: a dishonest helper moves the peer's weights, and reads the peer's columns in the scores that follow.

The sums that a helper opens are bound to nothing. It adds to one of them what moves the peer's weight of one column by
`push`, reads single rows' residuals in the next step through one-hot rows of its own, and takes the push back. The
difference from the first reading of a row is `push` times the row's value in that column, and a little of what training
did in between. A party refuses pushes beyond `protocol.party.steering_limit`; smaller ones look like training.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.crypto import Encoded
from plumbob.data import Batch
from plumbob.protocol.widths import columns_of
from plumbob.workshop.attacks.active.attacking_parties import AttackingExchangeParty
from plumbob.workshop.attacks.interface import Condition


class SteeringParty(AttackingExchangeParty):
    """Two parties, the whole data in every batch: one column of the peer for each step after the first."""

    push = 100.0
    """How far it moves a weight."""

    @cached_property
    def read_residuals(self) -> list[Vector]:
        """Of the first rows, as many as this party has columns, step by step."""
        return []

    def conditions(self) -> tuple[Condition, ...]:
        return ()

    def values(self) -> Matrix:
        """What it believes about the peer's columns, for the rows that it has read."""
        first, *later = self.read_residuals
        return np.array([reading - first for reading in later]).T / self.push

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        """One-hot rows in the place of own features: each sum is one person's residual."""
        one_hot = np.zeros_like(matrix.values)
        count = min(one_hot.shape)
        one_hot[np.arange(count), np.arange(count)] = 1 << self.plan.feature_bits
        return super().ask(batch, Encoded(one_hot, matrix.encoding))

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        order = np.argsort(batch.rows[: self.columns])
        self.read_residuals.append(super().collect(batch, masks)[: len(order)])
        return np.zeros(self.columns)

    def answer(self, batch: Batch) -> None:
        for learner, helper in self._helpers.items():
            opened = helper.open(batch.step)
            helper.hand_back(batch.step, self._moved(batch, learner, opened))

    def _moved(self, batch: Batch, learner: str, opened: Sequence[int]) -> list[int]:
        """Push the next column's weight, and take back what was pushed before."""
        offsets = np.zeros(columns_of(self.plan, learner))
        if batch.step <= len(offsets):
            offsets[batch.step - 1] += self.push
        if 2 <= batch.step <= len(offsets) + 1:
            offsets[batch.step - 2] -= self.push
        sums = -offsets * len(batch) / (self.plan.rate * self.sigmoid.gradient_scale)
        unit = self.widths.coefficients.fraction_bits + self.widths.residuals.fraction_bits
        slots, changed = self._slots[learner], list(opened)
        for column, value in enumerate(sums.tolist()):
            reply, place = divmod(column, slots.per_reply)
            changed[reply] += round(value * 2.0**unit) << (place * slots.slot_bits)
        return changed
