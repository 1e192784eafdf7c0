"""`claimed-width`: say that one has more columns than one has (the end of section 5.2). By either party.

View: the replies to own masked sums, of which there are as many as columns were claimed. The extra columns are random,
the system is then as wide as the batch, and one solve a step gives every residual. Cost: a product with as many columns
as the batch has rows.

Condition: the helper takes the width from the peer. Here it does not: columns are in the plan, both sides hold the
plan's hash, and masked sums of any other number end the run with a RemoteProtocolError. What an agreed width cannot
show is whether the agreed columns are real: a party may put random numbers into those it signed for, so a check of the
plan must count the columns that are claimed.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Encoded, Slots
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.data import Batch, largest_batch
from plumbob.lab.attacks.active import ActiveAttack
from plumbob.lab.attacks.attacking_parties import AttackingExchangeParty
from plumbob.lab.attacks.integers import solve_exactly
from plumbob.lab.attacks.interface import Condition, NotApplicable
from plumbob.plan import Plan
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.widths import columns_of, slots_for


class ClaimedWidthParty(AttackingExchangeParty):
    """Sends sums for as many columns as the longest batch has rows, and reads its own gradient from the first ones."""

    def ask(self, batch: Batch, matrix: Encoded) -> list[list[int]]:
        random_columns = self._random_columns(len(matrix.values), matrix.encoding.fraction_bits)
        self._wider = np.hstack([matrix.values, random_columns])
        wider = Encoded(self._wider, matrix.encoding)
        return [learner.ask(batch.step, wider) for learner in self.free_learners.values()]

    def collect(self, batch: Batch, masks: Sequence[Sequence[int]]) -> Vector:
        sums = self.slots.unpack(self.joint_replies(batch, masks), [0] * self.slots.replies)
        residuals = solve_exactly(self._wider, sums)
        if residuals is not None:
            self.keep(batch, range(len(residuals)), residuals)
        return self.widths.decode_sums(sums[: self.columns])

    @cached_property
    def slots(self) -> Slots:
        return slots_for(self.plan, self.widths, self.claimed, len(self.shard))

    @property
    def claimed(self) -> int:
        """Columns that this party says it has."""
        return claimed_columns(self.plan, len(self.shard), self.columns)

    def conditions(self) -> tuple[Condition, ...]:
        needed = f"at least the batch, {largest_batch(len(self.shard), self.plan)} rows"
        return (Condition("columns that the helper believed", self.claimed, needed, True, "section 5.2"),)

    def _random_columns(self, rows: int, fraction_bits: int) -> IntegerMatrix:
        generator = np.random.default_rng(int.from_bytes(self.participant.draws.of("attack").draw(16), "little"))
        limit = 1 << fraction_bits
        return generator.integers(-limit, limit, (rows, self.claimed - self.columns))


def claimed_columns(plan: Plan, rows: int, own: int) -> int:
    """Enough for every batch to be solved."""
    return own + largest_batch(rows, plan)


def arm(plan: Plan, name: str) -> type[TrainingParty] | NotApplicable:
    """Against any helper that hands sums back; whether it believes the claim, the run shows."""
    if not plan.kind.lends_keys:
        return NotApplicable(f'protocol "{plan.protocol}": this attack works against "exchange" only')
    if not columns_of(plan, name):
        return NotApplicable("a party without columns gets no replies")
    return ClaimedWidthParty


CLAIMED_WIDTH_BY_FEATURE_PARTY = ActiveAttack("claimed-width", "features", arm)
CLAIMED_WIDTH_BY_LABEL_PARTY = ActiveAttack("claimed-width", "label", arm)
ATTACKS = (CLAIMED_WIDTH_BY_FEATURE_PARTY, CLAIMED_WIDTH_BY_LABEL_PARTY)
