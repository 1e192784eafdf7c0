"""The shares that prediction works on, by lattices: encrypted once, when training ended, under keys for this alone.

Each party encrypts its share of every peer's weights and hands the request over. It is kept with the model: in a
session of prediction no share is supplied again, so nobody can choose one for the rows it asks about.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from plumbob.crypto.lattice import OwnerKey, TestedKey, local, make_request
from plumbob.crypto.lattice.kernel import Engine
from plumbob.errors import RemoteProtocolError
from plumbob.protocol.account import HASH_BYTES, hash_fields
from plumbob.protocol.handshake import JointSession
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant
from plumbob.protocol.shares.keys import Keys, agree_keys
from plumbob.protocol.shares.shape import Product, RunShape


@dataclass(frozen=True, repr=False)
class BoundEnd:
    """One party's end toward one peer: the seed of its key, and the requests sent and received.

    As secret as the shares themselves.
    """

    session: bytes
    """The session of the training, which the keys belong to."""
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

    def owner_key(self, engine: Engine, product: Product) -> OwnerKey:
        """The key under which this party's share was supplied, made again from its seed."""
        return OwnerKey(engine, product.parameters, product.context(self.session), self.seed)

    def tested_key(self, engine: Engine, product: Product) -> TestedKey:
        """The peer's key, which passed its test when the shares were bound."""
        return TestedKey.known(engine, product.parameters, product.context(self.session), self.peers_key)


@dataclass(frozen=True, repr=False)
class Bound:
    """A party's ends, by peer."""

    ends: dict[str, BoundEnd]
    joint: str = ""
    """Among three and more parties, a hash over the ends of all pairs, the same at all parties."""

    def hash(self) -> str:
        """A hash that all parties of the model share."""
        return self.joint or "".join(end.hash() for end in self.ends.values())


def bind_shares(
    participant: Participant,
    engine: Engine,
    session: JointSession,
    shape: RunShape,
    held: Mapping[str, list[int]],
) -> Bound:
    """Send our share of each peer's weights, encrypted, and receive the peers' shares of ours."""
    name, keys = participant.name, Keys(engine, session.identity)
    channels = {peer: participant.channels[peer] for peer in held if peer != name}
    agree_keys(participant, keys, channels, shape.bound_products)
    asked = {peer: shape.prediction(name, peer) for peer in channels}
    answered = {peer: shape.prediction(peer, name) for peer in channels}
    supplied = {
        peer: make_request(keys.own[product], 0, product.layout, local.pairs_of(held[peer]))
        for peer, product in asked.items()
    }
    for peer, channel in channels.items():
        channel.send(Kind.BOUND_SHARE, 0, supplied[peer])
    ends = {}
    for peer, channel in channels.items():
        received = channel.receive(Kind.BOUND_SHARE, 0, answered[peer].layout.request_bytes)
        own, theirs = keys.own[asked[peer]], keys.tested[answered[peer]]
        made_of = own.seed, own.public, theirs.public
        ends[peer] = BoundEnd(session.identity, *made_of, supplied[peer], received)
    return Bound(ends, _joint_hash(participant, session, list(held), ends) if len(ends) > 1 else "")


def _joint_hash(participant: Participant, session: JointSession, names: list[str], ends: Mapping[str, BoundEnd]) -> str:
    """Compare what the pairs hash to with everybody; a pair whose two ends differ ends the run."""
    own = [bytes.fromhex(ends[peer].hash()) for peer in names if peer != participant.name]
    for peer in ends:
        participant.channels[peer].send(Kind.BOUND_HASHES, 0, b"".join(own))
    lists = {participant.name: own}
    for peer in ends:
        body = participant.channels[peer].receive(Kind.BOUND_HASHES, 0, HASH_BYTES * len(own))
        lists[peer] = [body[start : start + HASH_BYTES] for start in range(0, len(body), HASH_BYTES)]
    hashes = {
        (name, peer): digest
        for name in names
        for peer, digest in zip((other for other in names if other != name), lists[name], strict=True)
    }
    for name, peer in hashes:
        if hashes[name, peer] != hashes[peer, name]:
            raise RemoteProtocolError(
                f"{name} and {peer} bound different shares for prediction, so scores would be wrong; start over with "
                "--new"
            )
    every = (hashes[pair] for pair in combinations(names, 2))
    return hash_fields(b"bound lattices", session.identity, *every).hex()
