"""Who plays a party in each protocol that parties run with each other, and what an arbiter's part is played by."""

from collections.abc import Mapping

from plumbob.arrays import Vector
from plumbob.data import Table
from plumbob.lab.exchange.arbiter import Arbiter, ArbitratedParty
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.plan.protocols import Protocol
from plumbob.protocol.outcome import run_to_its_quality
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep, TrainingParty
from plumbob.protocol.shares.training import SharesParty

AnyParty = TrainingParty | Arbiter
CLASSES: Mapping[str, type[TrainingParty]] = {
    "exchange": ExchangeParty,
    "arbiter": ArbitratedParty,
    "shares": SharesParty,
}


def party_class(protocol: Protocol) -> type[TrainingParty]:
    """The class of a party with columns."""
    return CLASSES[protocol.name]


def party_at(
    participant: Participant,
    table: Table | None,
    progress: AfterStep | None = None,
    instead: type[TrainingParty] | None = None,
) -> AnyParty:
    """The party at this participant; without a table it is the arbiter. `instead` is a class that overrides a step."""
    if table is None:
        return Arbiter(participant)
    return (instead or party_class(participant.plan.kind))(participant, table, progress)


def play(party: AnyParty) -> Vector | None:
    """A party's whole part; the label party gets the scores of held-out rows."""
    if isinstance(party, TrainingParty):
        return run_to_its_quality(party)
    party.run()
    return None
