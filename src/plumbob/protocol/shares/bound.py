"""The shares that prediction works on, by lattices: encrypted once, when training ended, under keys for this alone.

Each party encrypts its share of every peer's weights and hands the request over. It is kept with the model: in a
session of prediction no share is supplied again, so nobody can choose one for the rows it asks about.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from plumbob.crypto.lattice import KeyContext, LatticeEngine, Owner, OwnerKey, TestedKey, local
from plumbob.errors import RemoteProtocolError
from plumbob.protocol.account import HASH_BYTES, hash_fields
from plumbob.protocol.handshake import Participant, Session
from plumbob.protocol.messages import Kind
from plumbob.protocol.shares.keys import KeyedProduct, agree_keys, known_key
from plumbob.protocol.shares.shape import LatticeShape

KIND = "prediction"


@dataclass(frozen=True, repr=False)
class BoundLattice:
    """One party's end toward one peer: the seed of its key, and the requests sent and received.

    As secret as the shares themselves.
    """

    session: bytes
    """The session of the training, which the keys belong to."""
    lattice_set: int
    """The profile of parameter sets that training worked with."""
    seed: bytes
    """The seed from which the party's own key is derived."""
    own_key: bytes
    peers_key: bytes
    supplied: bytes
    received: bytes

    def hash(self) -> str:
        """A hash that is the same at both parties."""
        ends = sorted([self.own_key + self.supplied, self.peers_key + self.received])
        return hash_fields(b"bound lattice", self.session, *ends).hex()

    def owner_key(self, engine: LatticeEngine, shape: LatticeShape, name: str, peer: str) -> OwnerKey:
        """The key under which this party's share was supplied, made again from its seed."""
        return OwnerKey(engine, shape.profile[0], KeyContext(self.session, name, peer, KIND, 0), self.seed)

    def tested_key(self, engine: LatticeEngine, shape: LatticeShape, name: str, peer: str) -> TestedKey:
        """The peer's key, which passed its test when the shares were bound."""
        return known_key(engine, shape.profile[0], KeyContext(self.session, peer, name, KIND, 0), self.peers_key)


@dataclass(frozen=True, repr=False)
class BoundLattices:
    """The ends of one of three and more parties, by peer."""

    ends: dict[str, BoundLattice]
    joint: str
    """A hash over those of all pairs, the same at all parties."""

    @property
    def lattice_set(self) -> int:
        return next(iter(self.ends.values())).lattice_set

    def hash(self) -> str:
        return self.joint


AnyBound = BoundLattice | BoundLattices


def ends_of(bound: AnyBound, peers: list[str]) -> dict[str, BoundLattice]:
    """The ends by peer, however many there are; a missing one is a KeyError."""
    if isinstance(bound, BoundLattice):
        [peer] = peers
        return {peer: bound}
    return {peer: bound.ends[peer] for peer in peers}


def bind_lattice(
    participant: Participant,
    engine: LatticeEngine,
    session: Session,
    shape: LatticeShape,
    held: Mapping[str, list[int]],
) -> AnyBound:
    """Send our share of each peer's weights, encrypted, and receive the peers' shares of ours."""
    name = participant.name
    channels = {peer: participant.channels[peer] for peer in held if peer != name}
    contexts = [KeyContext(session.identity, *ends, KIND, 0) for peer in channels for ends in _ordered(name, peer)]
    products = [KeyedProduct(context, shape.profile[0], (context.evaluator,)) for context in contexts]
    keys = agree_keys(participant, engine, channels, products)
    supplied = {
        peer: Owner(keys.own[KeyContext(session.identity, name, peer, KIND, 0)], 0, shape.scores(peer, 1)).request(
            local.pairs_of(held[peer])
        )
        for peer in channels
    }
    for peer, channel in channels.items():
        channel.send(Kind.BOUND_SHARE, 0, supplied[peer])
    ends = {}
    for peer, channel in channels.items():
        received = channel.receive(Kind.BOUND_SHARE, 0)
        ours, theirs = (KeyContext(session.identity, *ends, KIND, 0) for ends in ((name, peer), (peer, name)))
        public = keys.own_public[ours], keys.peers_public[theirs]
        ends[peer] = BoundLattice(session.identity, shape.number, keys.seeds[ours], *public, supplied[peer], received)
    if len(ends) == 1:
        return next(iter(ends.values()))
    return BoundLattices(ends, _joint_hash(participant, session, list(held), ends))


def _joint_hash(participant: Participant, session: Session, names: list[str], ends: Mapping[str, BoundLattice]) -> str:
    """Compare what the pairs hash to with everybody; a pair whose two ends differ ends the run."""
    own = [bytes.fromhex(ends[peer].hash()) for peer in names if peer != participant.name]
    for peer in ends:
        participant.channels[peer].send(Kind.BOUND_HASHES, 0, b"".join(own))
    said = {participant.name: own}
    for peer in ends:
        body = participant.channels[peer].receive(Kind.BOUND_HASHES, 0)
        said[peer] = [body[start : start + HASH_BYTES] for start in range(0, len(body), HASH_BYTES)]
    hashes = {
        (name, peer): digest
        for name in names
        for peer, digest in zip((other for other in names if other != name), said[name], strict=True)
    }
    for name, peer in hashes:
        if hashes[name, peer] != hashes[peer, name]:
            raise RemoteProtocolError(
                f"{name} and {peer} bound different shares for prediction, so scores would be wrong; start over with "
                "--new"
            )
    every = (hashes[pair] for pair in combinations(names, 2))
    return hash_fields(b"bound lattices", session.identity, *every).hex()


def _ordered(name: str, peer: str) -> list[tuple[str, str]]:
    first, second = sorted([name, peer])
    return [(first, second), (second, first)]
