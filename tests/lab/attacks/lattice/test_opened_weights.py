"""Opened weights: a share wider than an honest weight is refused, and one that ran away stays at home."""

import pytest

from plumbob.errors import DivergenceError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.openings import WEIGHTS, opened_bits
from plumbob.protocol.shares.training import SharesParty
from tests.protocol.support import Wire, played, shares_plan


def test_a_share_wider_than_a_weight_is_refused() -> None:
    """A peer that hands over more than 27 bits ends the run."""

    def tamper(source: str, _target: str, message: Message) -> bytes | None:
        if (source, message.kind) != ("features", Kind.WEIGHT_SHARE):
            return None
        wide = message.body[:3] + bytes([message.body[3] | 8]) + message.body[4:]
        return Message(message.kind, message.step, message.sequence, wide).encode()

    run = played(shares_plan(epochs=1), wire=Wire(tamper))
    assert isinstance(run.ends["label"], RemoteProtocolError)
    assert "cut to 27 bits, some are wider" in str(run.ends["label"])


def test_an_opened_weight_carries_27_bits() -> None:
    """The label party's intercept counts among its weights; a closed run opens none."""
    plan = shares_plan((2, 1))
    assert WEIGHTS.bits == 27
    assert [opened_bits(plan, name) for name in ("label", "features")] == [3 * 27, 27]
    assert opened_bits(plan.replace(open="never"), "features") == 0


def test_absurd_weights_stay_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A party whose weights ran away finishes on the wire like any other, and only then says so."""
    # One long step: a weight of about 46, above half of what can be opened. Beyond all of it, chance would decide.
    monkeypatch.setattr(Plan, "rate", 160.0)
    run = played(shares_plan(epochs=1))
    assert not any(isinstance(end, Exception) for end in run.ends.values())
    features = run.parties["features"]
    assert isinstance(features, SharesParty)
    with pytest.raises(DivergenceError, match="training diverged"):
        features.refuse_result()
