"""Paillier keys in a session: each party makes its own, and proves it to every peer."""

from collections.abc import Collection

from plumbob.crypto import PrivateKey, ProofContext, PublicKey, admit_paillier, paillier, prove
from plumbob.errors import KeyRefusedError
from plumbob.protocol.handshake import Participant, Session
from plumbob.protocol.messages import Kind
from plumbob.protocol.paillier.widths import profile_of


def make_key(participant: Participant) -> PrivateKey:
    """Make this party's Paillier key."""
    key = paillier.generate(profile_of(participant.plan), participant.engine, participant.draws.of("own key"))
    key.prepare()
    participant.keys.append(key)
    return key


def offer_key(participant: Participant, identity: bytes, own: PrivateKey) -> None:
    """Send our public key to every peer, with a proof made for that peer and this session."""
    for peer, channel in participant.channels.items():
        proof = prove(own, ProofContext(identity, participant.name, peer))
        channel.send(Kind.PUBLIC_KEY, 0, own.public.to_bytes() + proof)


def admit_key(participant: Participant, session: Session, peer: str, known: Collection[int]) -> PublicKey:
    """Admit a peer's key if it passes every check; `known` are moduli that it must not repeat."""
    try:
        key = _admit_paillier(participant, session, peer, known)
    except KeyRefusedError as error:
        raise KeyRefusedError(f"{peer}: {error}") from None
    key.prepare()
    participant.keys.append(key)
    return key


def _admit_paillier(participant: Participant, session: Session, peer: str, known: Collection[int]) -> PublicKey:
    profile = profile_of(participant.plan)
    size = profile.key_bits // 8
    body = participant.channels[peer].receive(Kind.PUBLIC_KEY, 0)
    context = ProofContext(session.identity, peer, participant.name)
    randomness = participant.draws.of("peer's key", peer)
    return admit_paillier(
        body[:size], body[size:], context, profile, participant.engine, known=known, randomness=randomness
    )
