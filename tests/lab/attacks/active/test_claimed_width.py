"""More columns are claimed than a party has (the end of section 5.2): a peer that agreed on widths refuses them.

The extra columns are random, and the system is then as wide as the batch: one solve per step gives every residual.
What an agreed width cannot show is whether agreed columns are real, so `check` counts those that are claimed.
"""

from functools import cached_property

import numpy as np
import pytest

from plumbob.crypto import Encoded
from plumbob.data import largest_batch
from plumbob.errors import RemoteProtocolError
from plumbob.lab.attacks.hooks import Summing, SumsHook, own_generator, solve_exactly
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.plan import Plan
from plumbob.protocol.openings import columns_of
from tests.lab.attacks.active.support import staged
from tests.protocol.support import plan_for


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


def claimed_columns(plan: Plan, rows: int, own: int) -> int:
    """How many columns to claim so that every batch can be solved."""
    return own + largest_batch(rows, plan)


class TrustingParty(ExchangeParty):
    """Weakened on purpose: it believes whatever number of columns its peer claims."""

    @cached_property
    def _peer_slots(self) -> dict[str, Slots]:
        claimed = {
            peer: claimed_columns(self.plan, len(self.shard), columns_of(self.plan, peer)) for peer in self.peer_keys
        }
        return {peer: self._slots_for(columns) for peer, columns in claimed.items()}


@pytest.mark.parametrize("role", ["features", "label"])
@pytest.mark.parametrize("replies", ["packed", "paper"])
def test_agreed_widths_refuse_the_claim(role: str, replies: str) -> None:
    """The honest peer ends the run at the first message that has another size than the plan says."""
    plan = plan_for((5, 6), protocol="exchange", replies=replies, batch_size=32)
    with pytest.raises(RemoteProtocolError, match="expected MASKED_SUMS with"):
        staged(plan, role, ClaimedWidth())


@pytest.mark.parametrize("role", ["features", "label"])
def test_a_believed_claim_reads_everything(role: str) -> None:
    """Without agreed widths, even cut replies give every residual away, and training goes on undisturbed."""
    plan = plan_for((5, 6), protocol="exchange", batch_size=32)
    peer = plan.feature_parties[0].name if role == "label" else plan.label_party.name
    play = staged(plan, role, ClaimedWidth(), others={peer: TrustingParty})
    assert sum(len(reading.rows) for reading in play.spy.readings) == 2 * 64
    assert play.misread() == 0
    assert play.disturbance() == 0
