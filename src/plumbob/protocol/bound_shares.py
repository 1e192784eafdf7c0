"""The shares that prediction works on, fixed once when training ended.

Each party encrypts its share of the peer's weights under a key of this one purpose and hands over the ciphertexts. They
are kept with the model: in a session of prediction no share is supplied again, so nobody can choose one for the rows it
asks about. docs/protocol.md, section 10, says what this binds and what it does not.
"""

from dataclasses import dataclass

from plumbob.crypto import PrivateKey, PublicKey, okamoto_uchiyama, paillier
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Desk, Session, admit_key, hash_fields, make_key, offer_key, profile_of
from plumbob.protocol.messages import Kind
from plumbob.protocol.primitive import admit_from


@dataclass(frozen=True, repr=False)
class BoundShares:
    """One party's end: its key, and the ciphertexts that it supplied and got. As secret as the shares themselves."""

    factors: tuple[int, int]
    """Of own key."""
    own_key: bytes
    peers_key: bytes
    supplied: bytes
    received: bytes

    def hash(self) -> str:
        """The same at both parties."""
        ends = sorted([self.own_key + self.supplied, self.peers_key + self.received])
        return hash_fields(b"bound shares", *ends).hex()

    def private_key(self, desk: Desk) -> PrivateKey:
        """Own key again."""
        public = public_key(desk, self.own_key)
        if isinstance(public, okamoto_uchiyama.OkamotoUchiyamaPublicKey):
            return _counted(desk, okamoto_uchiyama.OkamotoUchiyamaPrivateKey(*self.factors, public))
        return _counted(desk, paillier.PaillierPrivateKey(*self.factors, public))

    def peers_public_key(self, desk: Desk) -> PublicKey:
        """The peer's key, which was admitted when the shares were bound; with bases of this session."""
        key = public_key(desk, self.peers_key)
        key.prepare()
        desk.keys.append(key)
        return key


def bind_shares(desk: Desk, session: Session, channel: Channel, peers: list[int], columns: int) -> BoundShares:
    """Supply our share of the peer's weights, and get the peer's share of ours, of this many columns."""
    key = make_key(desk)
    offer_key(desk, session.identity, key)
    known = {one.public.n if isinstance(one, PrivateKey) else one.n for one in desk.keys}
    peers_key = admit_key(desk, session, channel.peer, known)
    supplied = key.encrypt(peers).to_bytes()
    channel.send(Kind.BOUND_SHARE, 0, supplied)
    received = channel.receive(Kind.BOUND_SHARE, 0, columns * peers_key.ciphertext_bytes)
    admit_from(channel, peers_key, received, columns)
    return BoundShares(key.factors, key.public.to_bytes(), peers_key.to_bytes(), supplied, received)


def public_key(desk: Desk, data: bytes) -> paillier.PaillierPublicKey | okamoto_uchiyama.OkamotoUchiyamaPublicKey:
    """A key that was admitted before, from its bytes."""
    profile = profile_of(desk.plan)
    size = profile.key_bits // 8
    n = int.from_bytes(data[:size], "little")
    if desk.plan.scheme == "okamoto-uchiyama":
        g = int.from_bytes(data[size:], "little")
        return okamoto_uchiyama.OkamotoUchiyamaPublicKey(n, g, profile, desk.engine, desk.randomness)
    return paillier.PaillierPublicKey(n, profile, desk.engine, desk.randomness)


def _counted(desk: Desk, key: PrivateKey) -> PrivateKey:
    desk.keys.append(key)
    return key
