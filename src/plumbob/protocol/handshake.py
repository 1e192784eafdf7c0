"""The handshake: who is there and what for, the same plan and rows at all parties, the joint seed, and numbers.

Every step is one message to every peer and one from every peer. Whatever differs ends the run.
"""

import hmac
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from plumbob.data import seed_from_int
from plumbob.errors import RemoteProtocolError
from plumbob.protocol.account import HASH_BYTES, Numbers, digest_of_numbers, hash_fields
from plumbob.protocol.messages import Kind
from plumbob.protocol.participant import Participant

HELLO = struct.Struct("<32sQ")  # A nonce, and how many rows.
WHAT_IDS_SAY = "its ids, their order or its seed"

SessionPurpose = Literal["train", "predict", "align"]
"""The purpose of a session. It is part of the session's identity: a greeting for one serves no other."""


@dataclass(frozen=True)
class Hello:
    """The first message of a party: what is new in this session. Who it is and what for, the connection has said."""

    nonce: bytes
    rows: int
    """How many aligned rows it has; 0 where it cannot know."""
    commitment: bytes
    """The hash of what the party fixed before the session (`account`); an alignment has none."""

    def to_bytes(self) -> bytes:
        return HELLO.pack(self.nonce, self.rows) + self.commitment

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The inverse of `to_bytes`, of a body whose length was checked."""
        nonce, rows = HELLO.unpack_from(body)
        return cls(nonce, rows, body[HELLO.size :])


@dataclass(frozen=True, repr=False)
class JointSession:
    """What all parties agreed on."""

    identity: bytes
    seed: bytes


def agree(
    participant: Participant, ids: Sequence[str], purpose: SessionPurpose = "train", about: str = ""
) -> JointSession:
    """Agree on the plan, the ordered rows, and a seed that nobody could choose alone.

    `about` is something else that all must hold the same of: the run whose model is used.
    """
    identity = greet(participant, len(ids), purpose)
    seed = _draw_seed(participant, identity)
    participant.open_chain(identity, seed)
    what = "its run, its ids, their order or its seed" if about else WHAT_IDS_SAY
    confirm(participant, identity + seed + about.encode(), ids, what)
    return JointSession(identity, seed)


def greet(participant: Participant, rows: int, purpose: SessionPurpose = "train") -> bytes:
    """The session's identity; every peer that holds rows must have as many."""
    identity, rows_of = greet_peers(participant, rows, purpose)
    for peer in participant.data_peers:
        if rows_of[peer] != rows:
            raise RemoteProtocolError(f"{peer}: we have {rows} aligned rows, it has {rows_of[peer]}; align again")
    return identity


def greet_peers(participant: Participant, rows: int, purpose: SessionPurpose) -> tuple[bytes, dict[str, int]]:
    """The session's identity, and the rows that each peer names. Who holds no rows takes part in training only.

    Whoever has another plan, or came for something else, has another identity: what follows does not fit ours. On a
    network the connection's greeting has already said so in words.
    """
    name, commits = participant.name, purpose != "align"
    channels = participant.channels if purpose == "train" else participant.data_peers
    ours = Hello(participant.draws.first_words.nonce, rows, participant.account.commitment if commits else b"")
    names = [party.name for party in participant.plan.parties if party.name == name or party.name in channels]
    for channel in channels.values():
        channel.send(Kind.HELLO, 0, ours.to_bytes())
    size = len(ours.to_bytes())
    theirs = {peer: Hello.from_bytes(channel.receive(Kind.HELLO, 0, size)) for peer, channel in channels.items()}
    hellos = {name: ours, **theirs}
    nonces = {party: hello.nonce for party, hello in hellos.items()}
    commitments = {party: hello.commitment for party, hello in hellos.items()}
    if repeated := [peer for peer in theirs if list(nonces.values()).count(nonces[peer]) > 1]:
        raise RemoteProtocolError(f"{' and '.join(repeated)}: sent a nonce that another party has; each draws its own")
    identity = session_identity(purpose, participant.plan.hash(), nonces, commitments)
    participant.account.note_session(identity, names, commitments)
    if not rows:
        # An alignment has no seed, and who holds no rows does not hear it.
        participant.open_chain(identity, b"")
    return identity, {peer: hello.rows for peer, hello in theirs.items()}


def session_identity(
    purpose: str, plan_hash: str, nonces: Mapping[str, bytes], commitments: Mapping[str, bytes]
) -> bytes:
    """A hash over all that was said in greetings: whoever commits to two things is in two sessions."""
    fields = (f"{name}:{nonces[name].hex()}:{commitments[name].hex()}".encode() for name in sorted(nonces))
    return hash_fields(b"session", purpose.encode(), plan_hash.encode(), *fields)


def _draw_seed(participant: Participant, identity: bytes) -> bytes:
    """Commit, then reveal: whoever sees the others' shares can no longer change its own."""
    if participant.plan.seed:
        return seed_from_int(participant.plan.seed)
    shares = {participant.name: participant.draws.first_words.seed_share}
    participant.send_all(Kind.SEED_COMMITMENT, _commitment(identity, participant.name, shares[participant.name]))
    commitments = participant.receive_all(Kind.SEED_COMMITMENT)
    participant.send_all(Kind.SEED_SHARE, shares[participant.name])
    for peer, share in participant.receive_all(Kind.SEED_SHARE).items():
        if not hmac.compare_digest(_commitment(identity, peer, share), commitments[peer]):
            raise RemoteProtocolError(f"{peer}: its share of the seed is not the one it committed to")
        shares[peer] = share
    return hash_fields(b"seed", identity, *(shares[name] for name in sorted(shares)))


def _commitment(identity: bytes, name: str, share: bytes) -> bytes:
    return hash_fields(b"commitment", identity, name.encode(), share)


def confirm(participant: Participant, key: bytes, ids: Sequence[str], what: str = WHAT_IDS_SAY) -> None:
    """Compare a keyed hash over the ordered ids, under what this session drew; a difference ends the run."""

    def confirmation(name: str) -> bytes:
        # With its sender's name, so that nobody can confirm by sending our own words back.
        return hash_fields(b"confirmation", key, name.encode(), ids=ids)

    participant.send_all(Kind.CONFIRMATION, confirmation(participant.name))
    for peer, theirs in participant.receive_all(Kind.CONFIRMATION).items():
        if not hmac.compare_digest(confirmation(peer), theirs):
            raise RemoteProtocolError(f"{peer}: {what} differ from ours; align again")


def fix_numbers(participant: Participant, calculated: Numbers) -> Numbers:
    """Commit to the numbers to calculate with, and return them once everybody has committed."""
    numbers, salt = participant.journal.settle(calculated), participant.draws.of("salt of the numbers").draw(HASH_BYTES)
    own = hash_fields(b"numbers", salt, digest_of_numbers(numbers))
    peers = participant.account.peers_of(participant.name)
    for peer in peers:
        participant.channels[peer].send(Kind.NUMBERS, 0, own)
    participant.account.add(participant.name, own)
    for peer in peers:
        participant.account.add(peer, participant.channels[peer].receive(Kind.NUMBERS, 0, HASH_BYTES))
    return numbers
