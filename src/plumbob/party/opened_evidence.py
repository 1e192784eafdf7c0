"""Evidence that its auditor has opened, and which of its messages were signed: checked before any secret is derived.

Every kept message stands in a stream whose hash its sender and its receiver have signed. What comes after the last
signature shows nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from plumbob.data import Table
from plumbob.errors import DataError, IdentityError
from plumbob.net.identity import Certificate
from plumbob.party.evidence import (
    COLUMNS,
    DECIDED,
    HEAD,
    RECEIVED,
    RECORD,
    SENT,
    Head,
    read_head,
    unpack_numbers,
    unpack_table,
)
from plumbob.party.sealing import AuditorKeys, Place, SealedMessages
from plumbob.party.signature import verify_message
from plumbob.plan import Plan
from plumbob.protocol.account import Numbers, Seal, SessionAccount
from plumbob.protocol.channel import NOTHING, digest_of, next_hash
from plumbob.protocol.handshake import Hello, session_identity
from plumbob.protocol.messages import HEADER, Kind, decode_header


@dataclass(frozen=True, repr=False)
class KeptMessage:
    """One message, sent or received; most of those sent are kept as header and digest only."""

    kind: Kind
    step: int
    digest: bytes
    read: Callable[[], bytes] = bytes
    """All of it, from the disk: what a party received need not fit memory."""

    @property
    def body(self) -> bytes:
        return self.read()[HEADER.size :]


@dataclass(repr=False)
class OpenedEvidence:
    """The evidence after the auditor has opened it."""

    folder: Path
    head: Head
    auditor: AuditorKeys
    received: dict[str, list[KeptMessage]] = field(default_factory=dict)
    """By peer, over all starts, each once and in order; `sent` likewise."""
    sent: dict[str, list[KeptMessage]] = field(default_factory=dict)
    decisions: list[bytes] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, auditor: AuditorKeys) -> "OpenedEvidence":
        """Open the messages alone: nothing from which a secret could be derived."""
        evidence = cls(folder, read_head(folder / HEAD), auditor)
        placed: dict[tuple[bool, str], dict[tuple[int, int, int], KeptMessage]] = {}
        for start in range(1, evidence.head.starts + 1):
            for was_received, peer, place, message in evidence._read_start(start):
                placed.setdefault((was_received, peer), {})[place] = message
        for (was_received, peer), messages in placed.items():
            streams = evidence.received if was_received else evidence.sent
            streams[peer] = [messages[place] for place in sorted(messages)]
        return evidence

    def read(self, name: str) -> bytes:
        """The contents of a file that is one message."""
        return self._messages(name).read_only_one()

    def _messages(self, name: str) -> SealedMessages:
        if name not in self.head.files:
            raise DataError(f"{name}: the head does not name this part of the evidence, as if it were missing")
        return SealedMessages(self.folder / name, self.auditor, self.head.run_bytes)

    def table(self) -> Table | None:
        return unpack_table(memoryview(self.read(COLUMNS))) if COLUMNS in self.head.files else None

    def numbers(self) -> list[Numbers]:
        """Of the start that settled most; a start repeats what those before it did."""
        starts = (self._messages(name) for name in self.head.files if name.startswith("rows-"))
        return max(([unpack_numbers(memoryview(each)) for _, each in start] for start in starts), key=len, default=[])

    def _read_start(self, start: int) -> Iterator[tuple[bool, str, tuple[int, int, int], KeptMessage]]:
        """(whether it was received, the peer, its place, the message)."""
        kept = self._messages(f"messages-{start}")
        seals, decisions = Counter[tuple[bool, str, int]](), []
        for where, record in kept:
            what, peer, data = _split_record(record)
            if what == DECIDED:
                decisions.append(bytes(data))
                continue
            was_received = what == RECEIVED
            kind, step, sequence = decode_header(data)
            seals[was_received, peer, sequence] += kind == Kind.SEAL
            # Seals do not count: several may stand before the same message.
            place = (0, seals[was_received, peer, sequence]) if kind == Kind.SEAL else (1, 0)
            message = (
                KeptMessage(Kind(kind), step, bytes(data[HEADER.size :]))
                if what == SENT
                else KeptMessage(Kind(kind), step, digest_of(data), partial(_read_data, kept, where))
            )
            yield was_received, peer, (sequence, *place), message
        self.decisions = max(self.decisions, decisions, key=len)


def _split_record(record: bytes) -> tuple[bytes, str, memoryview]:
    """(what a record is, the peer, the data)."""
    what, size = RECORD.unpack_from(record)
    start = RECORD.size + size
    return what, record[RECORD.size : start].decode(), memoryview(record)[start:]


def _read_data(kept: SealedMessages, place: Place) -> bytes:
    """The data of a record again."""
    return bytes(_split_record(kept.read(place))[2])


# Which messages were signed.


@dataclass(frozen=True)
class SignedPlaces:
    """What the signatures cover: how many messages of each peer's stream, and in which session."""

    session: bytes
    commitments: Mapping[str, bytes]
    sent: Mapping[str, int]
    """How many of the messages to each peer are signed."""
    sent_chains: Mapping[str, bytes]
    """The hash over them."""
    received: Mapping[str, bytes]
    """The hash over what came from each peer, as the peer last signed it."""
    is_whole: bool
    """Whether everything that was sent is signed."""
    spoilt: str = ""
    """The peer in whose name the evidence ends with a seal that does not hold; empty where all of them hold."""


class SpoiltSealError(DataError):
    """Raised where a seal does not hold. Anybody can write one in a peer's name: the peer, or this party."""


def signed_places(evidence: OpenedEvidence, plan: Plan) -> SignedPlaces:
    """Check the signatures; DataError where kept messages are not the signed ones. Derives no secret.

    An honest party's run ends at a peer's seal that does not hold, so such a seal may be the last of the peer's
    messages. What was signed before it counts.
    """
    head = evidence.head
    session, rounds = _sessions(evidence, plan)
    check = _SealCheck(session, list(rounds[0]), head.parsed_certificates(), {_all(round_) for round_ in rounds})
    own_chains = {peer: _places_in(stream) for peer, stream in evidence.sent.items()}
    covered, received, spoilt = dict.fromkeys(evidence.sent, 0), dict.fromkeys(evidence.received, NOTHING), ""
    for peer, stream in evidence.received.items():
        chain = NOTHING
        for message in stream:
            if message.kind is not Kind.SEAL:
                chain = next_hash(chain, message.digest)
                continue
            try:
                heard = _heard_by_then(check.verify(message, peer), head.party, message.step, peer, chain)
                confirmed = _place(
                    own_chains[peer], heard, f"the messages to {peer}", f"{peer} signed to have received"
                )
            except SpoiltSealError:
                if message is not stream[-1]:
                    raise
                spoilt = spoilt or peer
                continue
            covered[peer], received[peer] = max(covered[peer], confirmed), chain
    for message in (message for stream in evidence.sent.values() for message in stream if message.kind is Kind.SEAL):
        # Whomever it was for, it is about everybody: a party that died may not have sent it to all.
        for other, (sent, _) in check.verify(message, head.party).streams.items():
            place = _place(own_chains[other], sent, f"the messages to {other}", f"{head.party} itself signed")
            covered[other] = max(covered[other], place)
    if not any(covered.values()):
        raise DataError(
            f"evidence: {head.party} has nothing in it that anybody signed, so a replay would show nothing; it counts "
            "as missing"
        )
    chains = {
        peer: next(chain for chain, place in own_chains[peer].items() if place == covered[peer]) for peer in covered
    }
    is_whole = all(covered[peer] == len(places) - 1 for peer, places in own_chains.items())
    return SignedPlaces(session, rounds[-1], covered, chains, received, is_whole, spoilt)


def _heard_by_then(seal: Seal, party: str, step: int, peer: str, chain: bytes) -> bytes:
    """The hash over our messages that a peer's seal confirms, if it is about the messages that were kept."""
    sent, heard = seal.streams[party]
    if sent != chain:
        raise SpoiltSealError(f"evidence: a message from {peer} before step {step} is not the one {peer} signed")
    return heard


def _place(places: Mapping[bytes, int], chain: bytes, what: str, whose: str) -> int:
    """How many messages a signed hash covers."""
    if chain not in places:
        raise SpoiltSealError(f"evidence: {what} are not those that {whose}")
    return places[chain]


def _sessions(evidence: OpenedEvidence, plan: Plan) -> tuple[bytes, list[dict[str, bytes]]]:
    """The session's identity, and everybody's commitments after each round of them."""
    head, by_party = evidence.head, {}
    for peer, stream in evidence.received.items():
        by_party[peer] = [message for message in stream if message.kind in (Kind.HELLO, Kind.NUMBERS)]
    own = max(evidence.sent.values(), key=len, default=[])
    by_party[head.party] = [message for message in own if message.kind in (Kind.HELLO, Kind.NUMBERS)]
    if any(not messages for messages in by_party.values()):
        raise DataError(
            "evidence: the run ended before everybody had said what it commits to; there is nothing to replay"
        )
    hellos = {name: Hello.from_bytes(ones[0].body) for name, ones in by_party.items()}
    if hellos[head.party].commitment.hex() != head.run:
        raise DataError(f"evidence: {head.party} committed to something else before the run than what its head says")
    nonces = {name: hello.nonce for name, hello in hellos.items()}
    commitments = {name: hello.commitment for name, hello in hellos.items()}
    session = session_identity(head.purpose, plan.hash(), nonces, commitments)
    account = SessionAccount()
    account.note_session(session, [party.name for party in plan.parties if party.name in by_party], commitments)
    rounds = [dict(account.commitments)]
    for number in range(1, min(map(len, by_party.values()))):
        for name in account.names:
            account.add(name, by_party[name][number].body)
        rounds.append(dict(account.commitments))
    return session, rounds


def _all(commitments: Mapping[str, bytes]) -> bytes:
    return SessionAccount(commitments=dict(commitments)).all_commitments()


def _places_in(messages: Sequence[KeptMessage]) -> dict[bytes, int]:
    """How many messages each hash over the stream so far covers."""
    chain, places = NOTHING, {NOTHING: 0}
    for message in messages:
        if message.kind is not Kind.SEAL:
            chain = next_hash(chain, message.digest)
            places[chain] = len(places)
    return places


@dataclass(frozen=True)
class _SealCheck:
    """Verifies the seals of one session."""

    session: bytes
    names: Sequence[str]
    certificates: Mapping[str, Certificate]
    commitments: Collection[bytes]
    """Hashes over everybody's commitments, after each round of them."""

    def verify(self, message: KeptMessage, signer: str) -> Seal:
        """The seal in a message, if the signer made it."""
        seal = Seal.from_bytes(message.body, [name for name in self.names if name != signer])
        try:
            data = seal.to_sign(self.session, signer, message.step)
            verify_message(self.certificates[signer], data, seal.signature)
        except (KeyError, IdentityError):
            raise SpoiltSealError(f"evidence: a signature of {signer} in step {message.step} does not hold") from None
        if seal.commitments not in self.commitments:
            raise SpoiltSealError(f"evidence: {signer} signed other commitments than those that were kept")
        return seal
