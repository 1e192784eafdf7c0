"""`claimed-width`: claims more columns than the party has (the end of section 5.2). By either party.

View: the replies to own masked sums, of which there are as many as columns were claimed. The extra columns are random,
the system is then as wide as the batch, and one solve per step gives every residual. Cost: a product with as many
columns as the batch has rows.

Condition: the helper takes the width from the peer. Here it does not: columns are in the plan, both sides hold the
plan's hash, and masked sums of any other number end the run with a RemoteProtocolError. What an agreed width cannot
show is whether the agreed columns are real: a party may put random numbers into those it signed for, so a check of the
plan must count the columns that are claimed.
"""

import numpy as np

from plumbob.crypto import Encoded
from plumbob.data import largest_batch
from plumbob.lab.attacks.hooks import ActiveAttack, Summing, SumsHook, own_generator, solve_exactly
from plumbob.lab.attacks.interface import Condition, NotApplicable
from plumbob.plan import Plan
from plumbob.protocol.openings import columns_of


class ClaimedWidth(SumsHook):
    """Sends sums for as many columns as the longest batch has rows, and reads its own gradient from the first ones."""

    def claimed_columns(self, me: Summing, step: int, own: int) -> int:
        """How many columns to claim so that every batch can be solved."""
        return claimed_columns(me.plan, len(me.shard), own)

    def rows_for_gradients(self, me: Summing, step: int, matrix: Encoded) -> Encoded:
        limit = 1 << matrix.encoding.fraction_bits
        more = (len(matrix.values), me.slots.columns - me.columns)
        random_columns = own_generator(me).integers(-limit, limit, more)
        return super().rows_for_gradients(
            me, step, Encoded(np.hstack([matrix.values, random_columns]), matrix.encoding)
        )

    def opened_sums(self, me: Summing, step: int, sums: list[int]) -> list[int]:
        residuals = solve_exactly(self.matrix.values, sums)
        if residuals is not None:
            self.keep(me, step, range(len(residuals)), residuals)
        return sums[: me.columns]

    def conditions(self, me: Summing) -> tuple[Condition, ...]:
        needed = f"at least the batch, {largest_batch(len(me.shard), me.plan)} rows"
        return (Condition("columns that the helper believed", me.slots.columns, needed, True, "section 5.2"),)


def claimed_columns(plan: Plan, rows: int, own: int) -> int:
    """How many columns to claim so that every batch can be solved."""
    return own + largest_batch(rows, plan)


def arm(plan: Plan, name: str) -> ClaimedWidth | NotApplicable:
    """A hook against any helper that hands sums back; the run shows whether it believes the claim."""
    if not plan.kind.lends_keys:
        return NotApplicable(f'protocol "{plan.protocol}": this attack works against "exchange" only')
    if not columns_of(plan, name):
        return NotApplicable("a party without columns gets no replies")
    return ClaimedWidth()


ATTACKS = (ActiveAttack("claimed-width", "features", arm), ActiveAttack("claimed-width", "label", arm))
