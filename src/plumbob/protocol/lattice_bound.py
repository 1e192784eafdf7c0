"""The shares that prediction works on, by lattices: encrypted once, when training ended, under keys for this alone.

Each party encrypts its share of the peer's weights and hands the request over. It is kept with the model: in a session
of prediction no share is supplied again, so nobody can choose one for the rows it asks about.
"""

from dataclasses import dataclass

from plumbob.crypto.lattice import Context, LatticeEngine, Owner, OwnerKey, TestedKey, local
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.protocol.handshake import Participant, Session, hash_fields
from plumbob.protocol.lattice_keys import Product, agree_keys, known_key
from plumbob.protocol.lattice_sets import LatticeShape
from plumbob.protocol.messages import Kind

KIND = "prediction"


@dataclass(frozen=True, repr=False)
class BoundLattice:
    """One party's end: the seed of its key, and the requests supplied and got. As secret as the shares themselves."""

    session: bytes
    """Of the training, which the keys belong to."""
    lattice_set: int
    """The profile of parameter sets that training worked with."""
    seed: bytes
    """Own key is derived from it."""
    own_key: bytes
    peers_key: bytes
    supplied: bytes
    received: bytes

    def hash(self) -> str:
        """The same at both parties."""
        ends = sorted([self.own_key + self.supplied, self.peers_key + self.received])
        return hash_fields(b"bound lattice", self.session, *ends).hex()

    def owner_key(self, engine: LatticeEngine, shape: LatticeShape, name: str, peer: str) -> OwnerKey:
        """Own key again."""
        return OwnerKey(engine, shape.profile[0], Context(self.session, name, peer, KIND, 0), self.seed)

    def tested_key(self, engine: LatticeEngine, shape: LatticeShape, name: str, peer: str) -> TestedKey:
        """The peer's key, which passed its test when the shares were bound."""
        return known_key(engine, shape.profile[0], Context(self.session, peer, name, KIND, 0), self.peers_key)


def bind_lattice(
    participant: Participant, engine: LatticeEngine, session: Session, shape: LatticeShape, peers: list[int]
) -> BoundLattice:
    """Supply our share of the peer's weights, and get the peer's share of ours."""
    channel = next(iter(participant.channels.values()))
    contexts = [Context(session.identity, *ends, KIND, 0) for ends in _ordered(participant.name, channel.peer)]
    keys = agree_keys(participant, engine, channel, [Product(context, shape.profile[0]) for context in contexts])
    [(context, key)] = keys.own.items()
    [peers_key] = keys.peers_public.values()
    supplied = Owner(key, shape.scores(channel.peer, 1)).request(local.pairs_of(peers))
    channel.send(Kind.BOUND_SHARE, 0, supplied)
    size = SEED_BYTES + shape.scores(participant.name, 1).request_bytes
    received = channel.receive(Kind.BOUND_SHARE, 0, size)
    own_key = keys.own_public[context]
    return BoundLattice(session.identity, shape.number, keys.seeds[context], own_key, peers_key, supplied, received)


def _ordered(name: str, peer: str) -> list[tuple[str, str]]:
    first, second = sorted([name, peer])
    return [(first, second), (second, first)]
