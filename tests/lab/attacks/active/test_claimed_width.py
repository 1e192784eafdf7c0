"""Claimed columns: believed by a peer that takes widths from others, refused by one that agreed on them."""

from functools import cached_property

import pytest

from plumbob.errors import RemoteProtocolError
from plumbob.lab.attacks import NotApplicable
from plumbob.lab.attacks.claimed_width import ClaimedWidth, arm, claimed_columns
from plumbob.lab.exchange.packing import Slots
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.protocol.openings import columns_of
from tests.lab.attacks.active.support import staged
from tests.protocol.support import plan_for


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


def test_not_where_no_helper_hands_sums_back() -> None:
    """`shares` has no replies to claim."""
    assert isinstance(arm(plan_for((5, 6), protocol="shares"), "features"), NotApplicable)
