"""Which class plays which party: by the plan's protocol, and by whether there are rows."""

from plumbob.data import Table
from plumbob.protocol.arbiter import Arbiter, ArbitratedParty
from plumbob.protocol.exchange import ExchangeParty
from plumbob.protocol.handshake import Participant
from plumbob.protocol.lattice_shares import LatticeParty
from plumbob.protocol.party import AfterStep, TrainingParty

PROTOCOLS: dict[str, type[TrainingParty]] = {
    "exchange": ExchangeParty,
    "arbiter": ArbitratedParty,
    "shares": LatticeParty,
}


def player(
    participant: Participant,
    table: Table | None,
    progress: AfterStep | None = None,
    instead: type[TrainingParty] | None = None,
) -> TrainingParty | Arbiter:
    """The party at this participant; without a table it is the arbiter. `instead` is a class that overrides a step."""
    if table is None:
        return Arbiter(participant)
    if instead is not None:
        for channel in participant.channels.values():
            channel.break_free()
    return (instead or PROTOCOLS[participant.plan.protocol])(participant, table, progress)
