"""The parties of `shares`, seen from one of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from plumbob.crypto import lattice
from plumbob.crypto.lattice import local
from plumbob.errors import EngineError, PlumbobError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Participant
from plumbob.protocol.widths import columns_of


@dataclass(frozen=True)
class ColumnHolders:
    """All parties with columns, seen from one of them; the order is the plan's."""

    plan: Plan
    name: str
    channels: Mapping[str, Channel]

    @classmethod
    def at(cls, participant: Participant) -> "ColumnHolders":
        names = [party.name for party in participant.plan.learners if party.name != participant.name]
        return cls(participant.plan, participant.name, {name: participant.channels[name] for name in names})

    @property
    def names(self) -> list[str]:
        return [party.name for party in self.plan.learners]

    @property
    def peers(self) -> list[str]:
        return list(self.channels)

    @property
    def place(self) -> int:
        """This party's place, from 0."""
        return self.names.index(self.name)

    @property
    def label(self) -> str:
        return self.plan.label_party.name

    @property
    def is_first(self) -> bool:
        """Whether this is the label party: of two, it rounds down and the other one up."""
        return self.name == self.label

    @property
    def is_pair(self) -> bool:
        return len(self.channels) == 1

    def columns(self, name: str) -> int:
        return columns_of(self.plan, name)

    @property
    def shares(self) -> local.AnyShares:
        """The kind of shares of weights and gradients."""
        return local.WrappedShares(self.is_first) if self.is_pair else local.WholeShares()


def lattice_engine(participant: Participant) -> lattice.LatticeEngine:
    """The lattice engine: readable or cluster where the other engine is that, otherwise the kernel if it was built."""
    name = participant.engine.name
    return lattice.choose(name if name in ("python", "ray") else "auto", getattr(participant.engine, "threads", None))


@contextmanager
def said_by(peer: str) -> Iterator[None]:
    """Name the peer whose bytes are refused; a failing engine of our own names nobody."""
    try:
        yield
    except EngineError:
        raise
    except PlumbobError as error:
        raise RemoteProtocolError(f"{peer}: {error}") from None
