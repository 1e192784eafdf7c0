"""The handshake: who is there and what for, the same plan and rows at all parties, the joint seed, and keys.

Every step is one message to every peer and one from every peer. Whatever differs ends the run.
"""

import hmac
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from plumbob.crypto.draws import Draws
from plumbob.data import seed_from_int
from plumbob.errors import IdentityError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.account import (
    HASH_BYTES,
    Numbers,
    Seal,
    SessionAccount,
    Signer,
    digest_of_numbers,
    hash_fields,
    seal_bytes,
)
from plumbob.protocol.channel import Channel
from plumbob.protocol.journal import NO_JOURNAL, Journal, Resumed, State
from plumbob.protocol.messages import Kind
from plumbob.protocol.openings import PairMasks

if TYPE_CHECKING:
    from plumbob.privacy.rows import RowSpending

HELLO = struct.Struct("<32sQ")  # A nonce, and how many rows.
X25519_BYTES = 32  # Of a public key.
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
class Participant:
    """What a party works with: its name, the plan, a channel to each peer, and what it draws from."""

    name: str
    plan: Plan
    channels: Mapping[str, Channel]
    draws: Draws
    threads: int | None = None
    """How many threads it may use; None = every core."""
    cluster: str = ""
    """ray://HOST:PORT of this party's own cluster, which makes its large answers."""
    journal: Journal = NO_JOURNAL
    account: SessionAccount = field(default_factory=SessionAccount)
    held_out_key: bytes = b""
    """The key that draws held-out rows by their ids; empty = the session's seed, so that every run draws anew."""
    spend_rows: "Callable[[RowSpending], None]" = lambda spending: None
    """Called with what a run costs for each row before anything that depends on one leaves; it may refuse the run."""
    keep_seal: Callable[[str, int], None] = lambda peer, step: None
    """Called with a party and a step when it has signed everything so far, so that its signature can be shown later."""

    def __post_init__(self) -> None:
        self.draws.heard = self._heard

    def _heard(self) -> bytes:
        """Hashes of what came from every peer so far, in the order of their names."""
        return b"".join(self.channels[peer].received_hash for peer in sorted(self.channels))

    def _carried(self) -> bytes:
        """Hashes of what came from and what was sent to every peer so far."""
        return b"".join(self.channels[peer].sent_hash for peer in sorted(self.channels)) + self._heard()

    @property
    def data_peers(self) -> dict[str, Channel]:
        """Channels to the peers that hold rows: to all of them, but in a study with somebody who has none."""
        return dict(self.channels)

    def send_all(self, kind: Kind, body: bytes) -> None:
        for channel in self.data_peers.values():
            channel.send(kind, 0, body)

    def receive_all(self, kind: Kind, size: int = HASH_BYTES) -> dict[str, bytes]:
        return {peer: channel.receive(kind, 0, size) for peer, channel in self.data_peers.items()}

    def open_chain(self, session: bytes, seed: bytes) -> None:
        """From now on, draw from a chain that nobody could choose alone."""
        if self.draws.open(session, seed):
            self.journal.open_chain(self.draws)

    # What this party answers for.

    def fix_numbers(self, calculated: Numbers) -> Numbers:
        """Commit to the numbers to calculate with, and return them once everybody has committed."""
        numbers, salt = self.journal.settle(calculated), self.draws.of("salt of the numbers").draw(HASH_BYTES)
        own = hash_fields(b"numbers", salt, digest_of_numbers(numbers))
        peers = self.account.peers_of(self.name)
        for peer in peers:
            self.channels[peer].send(Kind.NUMBERS, 0, own)
        self.account.add(self.name, own)
        for peer in peers:
            self.account.add(peer, self.channels[peer].receive(Kind.NUMBERS, 0, HASH_BYTES))
        return numbers

    def mark(self) -> None:
        """Note what we have sent so far: a peer that signs need not have received anything later."""
        self.account.marks = {peer: channel.sent_hash for peer, channel in self.channels.items()}

    def meet(self, step: int, names: Iterable[str] | None = None) -> None:
        """Sign everything so far and check what the others signed; among these peers, or all."""
        peers = self._signing(names)
        self.mark()
        self.seal(step, peers)
        self.check_seals(step, peers)
        if self.account.signer is not None:
            self.account.refuse_other_versions(peers)

    def seal(self, step: int, names: Iterable[str] | None = None) -> None:
        """Sign everything so far, for these peers or for all."""
        account = self.account
        if account.signer is None:
            return
        streams = {
            peer: (self.channels[peer].sent_hash, self.channels[peer].received_hash)
            for peer in account.peers_of(self.name)
        }
        unsigned = Seal(account.all_commitments(), streams)
        signature = account.signer.sign(unsigned.to_sign(account.session, self.name, step))
        account.seals[self.name] = replace(unsigned, signature=signature)
        self.keep_seal(self.name, step)
        for peer in self._signing(names):
            self.channels[peer].send(Kind.SEAL, step, account.seals[self.name].to_bytes())

    def check_seals(self, step: int, names: Iterable[str] | None = None) -> None:
        """Check that these peers, or all, signed what we sent up to the last mark and what we got from them."""
        if self.account.signer is not None:
            for peer in self._signing(names):
                self._check_seal(step, peer, self.account.signer)

    def _check_seal(self, step: int, peer: str, signer: Signer) -> None:
        account, channel = self.account, self.channels[peer]
        seal = Seal.from_bytes(channel.receive(Kind.SEAL, step, seal_bytes(len(account.names))), account.peers_of(peer))
        try:
            signer.verify(peer, seal.to_sign(account.session, peer, step), seal.signature)
        except IdentityError:
            raise RemoteProtocolError(
                f"{peer}: its signature over the messages so far does not hold, so the run ends here; what was opened "
                "before this step stays opened. Start over with --new"
            ) from None
        if seal.commitments != account.all_commitments():
            raise RemoteProtocolError(
                f"{peer}: it was told other commitments than we were, so some party tells two versions and the run "
                "ends here; start over with --new"
            )
        if seal.streams[self.name] != (channel.received_hash, account.marks[peer]):
            raise RemoteProtocolError(
                f"{peer}: the two sides' message logs differ, so their results would too; start over with --new"
            )
        account.seals[peer] = seal
        self.keep_seal(peer, step)

    def _signing(self, names: Iterable[str] | None) -> list[str]:
        return [name for name in self.account.names if name != self.name and (names is None or name in names)]

    # Steps.

    def begin_step(self, step: int) -> None:
        """Start a step: from now on, messages and draws belong to it."""
        self.journal.begin(step)
        self.draws.leave_set_up(self._carried())

    def begin_keys(self) -> None:
        """Start the keys, which are agreed on between the set-up and the first step."""
        self.journal.begin_keys()
        self.draws.leave_set_up(self._carried())

    def hand_on(self, needs: Mapping[int, bytes]) -> None:
        """Hand on, for each later step, what it needs of the keys."""
        self.journal.hand_on({**self.channel_states(), "draws": self.draws.advance(self._carried())}, needs)

    def finish_step(self, step: int, result: State, state: State) -> None:
        """Write into the journal what the step left, and everything that the next one depends on."""
        kept = {**state, **self.channel_states(), "draws": self.draws.advance(self._carried())}
        self.journal.finish(step, result, kept)

    def take_up(self) -> Resumed | None:
        """Restore the channels from the last start; None if no step was finished."""
        resumed = self.journal.resumed()
        if resumed is None:
            return None
        self.restore_channels(resumed.state)
        return resumed

    def channel_states(self) -> dict[str, bytes]:
        """The state of each channel, on which its next message depends."""
        return {f"channel/{peer}": channel.state() for peer, channel in self.channels.items()}

    def restore_channels(self, state: State) -> None:
        """Restore each channel, and the source of draws."""
        for peer, channel in self.channels.items():
            channel.restore(state[f"channel/{peer}"])
        self.draws.restore(state["draws"])


@dataclass(frozen=True, repr=False)
class Session:
    """What all parties agreed on."""

    identity: bytes
    seed: bytes


def agree(participant: Participant, ids: Sequence[str], purpose: SessionPurpose = "train", about: str = "") -> Session:
    """Agree on the plan, the ordered rows, and a seed that nobody could choose alone.

    `about` is something else that all must hold the same of: the run whose model is used.
    """
    identity = greet(participant, len(ids), purpose)
    seed = _draw_seed(participant, identity)
    participant.open_chain(identity, seed)
    what = "its run, its ids, their order or its seed" if about else WHAT_IDS_SAY
    confirm(participant, identity + seed + about.encode(), ids, what)
    return Session(identity, seed)


def greet(participant: Participant, rows: int, purpose: SessionPurpose = "train") -> bytes:
    """The session's identity; every peer that holds rows must have as many."""
    identity, heard = greet_peers(participant, rows, purpose)
    for peer in participant.data_peers:
        if heard[peer] != rows:
            raise RemoteProtocolError(f"{peer}: we have {rows} aligned rows, it has {heard[peer]}; align again")
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
    heard = {peer: Hello.from_bytes(channel.receive(Kind.HELLO, 0, size)) for peer, channel in channels.items()}
    said = {name: ours, **heard}
    nonces = {party: hello.nonce for party, hello in said.items()}
    commitments = {party: hello.commitment for party, hello in said.items()}
    if repeated := [peer for peer in heard if list(nonces.values()).count(nonces[peer]) > 1]:
        raise RemoteProtocolError(f"{' and '.join(repeated)}: sent a nonce that another party has; each draws its own")
    identity = session_identity(purpose, participant.plan.hash(), nonces, commitments)
    participant.account.greeted(identity, names, commitments)
    if not rows:
        # An alignment has no seed, and who holds no rows does not hear it.
        participant.open_chain(identity, b"")
    return identity, {peer: hello.rows for peer, hello in heard.items()}


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


def agree_pair_masks(participant: Participant, session: Session) -> PairMasks:
    """Agree on a secret key with each peer, for the masks that hide one answer among all of them; two need none."""
    keys: dict[str, bytes] = {}
    if len(participant.data_peers) > 1:
        secret = X25519PrivateKey.from_private_bytes(participant.draws.of("pair key").draw(32))
        participant.send_all(Kind.PAIR_KEY, secret.public_key().public_bytes_raw())
        for peer, body in participant.receive_all(Kind.PAIR_KEY, X25519_BYTES).items():
            keys[peer] = _pair_key(secret, body, session, sorted((participant.name, peer)), peer)
    return PairMasks(participant.name, session.identity, keys)


def _pair_key(secret: X25519PrivateKey, body: bytes, session: Session, names: list[str], peer: str) -> bytes:
    try:
        shared = secret.exchange(X25519PublicKey.from_public_bytes(body))
    except ValueError:
        raise RemoteProtocolError(
            f"{peer}: its pair key is a point of small order; everybody could guess ours"
        ) from None
    return hash_fields(b"pair", session.identity, *map(str.encode, names), shared)
