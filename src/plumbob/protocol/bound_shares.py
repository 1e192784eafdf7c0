"""The shares that prediction works on, fixed once when training ended.

Each party encrypts its share of the peer's weights under a key of this one purpose and hands over the ciphertexts. They
are kept with the model: in a session of prediction no share is supplied again, so nobody can choose one for the rows it
asks about. docs/protocol.md, section 10, says what this binds and what it does not.
"""

from dataclasses import dataclass

from plumbob.crypto import PrivateKey, PublicKey, okamoto_uchiyama, paillier
from plumbob.protocol.channel import Channel
from plumbob.protocol.handshake import Participant, Session, admit_key, hash_fields, make_key, offer_key, profile_of
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

    def private_key(self, participant: Participant) -> PrivateKey:
        """Own key again."""
        public = public_key(participant, self.own_key)
        if isinstance(public, okamoto_uchiyama.OkamotoUchiyamaPublicKey):
            return _with_counter(participant, okamoto_uchiyama.OkamotoUchiyamaPrivateKey(*self.factors, public))
        return _with_counter(participant, paillier.PaillierPrivateKey(*self.factors, public))

    def peers_public_key(self, participant: Participant) -> PublicKey:
        """The peer's key, which was admitted when the shares were bound; with bases of this session."""
        key = public_key(participant, self.peers_key)
        key.prepare()
        participant.keys.append(key)
        return key


def bind_shares(
    participant: Participant, session: Session, channel: Channel, peers: list[int], columns: int
) -> BoundShares:
    """Supply our share of the peer's weights, and get the peer's share of ours, of this many columns."""
    key = make_key(participant)
    offer_key(participant, session.identity, key)
    known = {one.public.n if isinstance(one, PrivateKey) else one.n for one in participant.keys}
    peers_key = admit_key(participant, session, channel.peer, known)
    supplied = key.encrypt(peers).to_bytes()
    channel.send(Kind.BOUND_SHARE, 0, supplied)
    received = channel.receive(Kind.BOUND_SHARE, 0, columns * peers_key.ciphertext_bytes)
    admit_from(channel, peers_key, received, columns)
    return BoundShares(key.factors, key.public.to_bytes(), peers_key.to_bytes(), supplied, received)


def public_key(
    participant: Participant, data: bytes
) -> paillier.PaillierPublicKey | okamoto_uchiyama.OkamotoUchiyamaPublicKey:
    """A key that was admitted before, from its bytes."""
    profile = profile_of(participant.plan)
    size = profile.key_bits // 8
    n = int.from_bytes(data[:size], "little")
    if participant.plan.scheme == "okamoto-uchiyama":
        g = int.from_bytes(data[size:], "little")
        return okamoto_uchiyama.OkamotoUchiyamaPublicKey(
            n, g, profile, participant.engine, participant.draws.of("peer's key")
        )
    return paillier.PaillierPublicKey(n, profile, participant.engine, participant.draws.of("peer's key"))


def _with_counter(participant: Participant, key: PrivateKey) -> PrivateKey:
    participant.keys.append(key)
    return key
