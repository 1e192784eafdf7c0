"""Finds the class that plays a party in a plan. Only the program of the run's own protocol is imported."""

from importlib import import_module

from plumbob.data import Table
from plumbob.plan.protocols import Protocol
from plumbob.protocol.handshake import Participant
from plumbob.protocol.party import AfterStep, AnyParty, TrainingParty


def party_class(protocol: Protocol) -> type[TrainingParty]:
    """The class of a party with columns."""
    found: type[TrainingParty] = import_module(protocol.program).PARTY
    return found


def party_at(
    participant: Participant,
    table: Table | None,
    progress: AfterStep | None = None,
    instead: type[TrainingParty] | None = None,
) -> AnyParty:
    """The party at this participant; without a table it is the arbiter. `instead` is a class that overrides a step."""
    if table is None:
        from plumbob.protocol.paillier.arbiter import Arbiter  # Only here: another protocol has none.

        return Arbiter(participant)
    if instead is not None:
        for channel in participant.channels.values():
            channel.break_free()
    return (instead or party_class(participant.plan.kind))(participant, table, progress)
