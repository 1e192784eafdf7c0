"""Which messages of a run were signed, by its evidence: checked before any secret is derived.

Every kept message stands in a stream whose hash its sender and its receiver have signed. What comes after the last
signature shows nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plumbob.errors import DataError, IdentityError
from plumbob.net.identity import Certificate
from plumbob.party.evidence import KeptMessage, OpenedEvidence
from plumbob.party.signature import verify_message
from plumbob.plan import Plan
from plumbob.protocol.account import Seal, SessionAccount
from plumbob.protocol.channel import NOTHING, chained
from plumbob.protocol.handshake import Hello, session_identity
from plumbob.protocol.messages import Kind


@dataclass(frozen=True)
class SignedPlaces:
    """What the signatures cover: how many messages of each peer's stream, and in which session."""

    session: bytes
    commitments: Mapping[str, bytes]
    sent: Mapping[str, int]
    received: Mapping[str, bytes]
    """The hash over what came from each peer, as the peer last signed it."""
    spoilt: str = ""
    """The peer in whose name the evidence ends with a seal that does not hold; empty where all of them hold."""


class SpoiltSealError(Exception):
    """Raised where a seal in a peer's name does not hold. Anybody can write such a seal: the peer, or this party."""


def signed_places(evidence: OpenedEvidence, plan: Plan) -> SignedPlaces:
    """Check the signatures; DataError where kept messages are not the signed ones. Derives no secret.

    An honest party's run ends at a peer's seal that does not hold, so such a seal may be the last of the peer's
    messages. What was signed before it counts.
    """
    head = evidence.head
    certificates = head.parsed_certificates()
    session, rounds = _sessions(evidence, plan)
    names = list(rounds[0])
    own_chains = {peer: places_in(evidence.sent[peer]) for peer in evidence.sent}
    covered = dict.fromkeys(evidence.sent, 0)
    known, signed, spoilt = {_all(one) for one in rounds}, dict.fromkeys(evidence.received, NOTHING), ""
    for peer, stream in evidence.received.items():
        chain = NOTHING
        for message in stream:
            if message.kind is not Kind.SEAL:
                chain = chained(chain, message.digest)
                continue
            try:
                seal = _verified(message, peer, names, session, certificates, known)
                received = _received_by_then(seal, head.party, message.step, peer, chain, own_chains[peer])
            except SpoiltSealError as error:
                if message is not stream[-1]:
                    raise DataError(str(error)) from None
                spoilt = spoilt or peer
                continue
            covered[peer], signed[peer] = max(covered[peer], received), chain
    for stream in evidence.sent.values():
        for message in stream:
            if message.kind is Kind.SEAL:
                try:
                    seal = _verified(message, head.party, names, session, certificates, known)
                except SpoiltSealError as error:
                    raise DataError(str(error)) from None
                # Whomever it was for, it is about everybody: a party that died may not have sent it to all.
                for other, (sent, _) in seal.streams.items():
                    if sent not in own_chains[other]:
                        raise DataError(
                            f"evidence: the messages to {other} are not those that {head.party} itself signed"
                        )
                    covered[other] = max(covered[other], own_chains[other][sent])
    if not any(covered.values()):
        raise DataError(
            f"evidence: {head.party} has nothing in it that anybody signed, so a replay would show nothing; it counts "
            "as missing"
        )
    return SignedPlaces(session, rounds[-1], covered, signed, spoilt)


def _received_by_then(
    seal: Seal, party: str, step: int, peer: str, chain: bytes, own_places: Mapping[bytes, int]
) -> int:
    """How many of our messages a peer's seal confirms; SpoiltSealError where it is about other messages than these."""
    sent, received = seal.streams[party]
    if sent != chain:
        raise SpoiltSealError(f"evidence: a message from {peer} before step {step} is not the one {peer} signed")
    if received not in own_places:
        raise SpoiltSealError(f"evidence: the messages to {peer} are not those that {peer} signed to have received")
    return own_places[received]


def _sessions(evidence: OpenedEvidence, plan: Plan) -> tuple[bytes, list[dict[str, bytes]]]:
    """The session's identity, and everybody's commitments after each round of them."""
    head, said = evidence.head, {}
    for peer, stream in evidence.received.items():
        said[peer] = [one for one in stream if one.kind in (Kind.HELLO, Kind.NUMBERS)]
    own = max(evidence.sent.values(), key=len, default=[])
    said[head.party] = [one for one in own if one.kind in (Kind.HELLO, Kind.NUMBERS)]
    if any(not messages for messages in said.values()):
        raise DataError(
            "evidence: the run ended before everybody had said what it commits to; there is nothing to replay"
        )
    hellos = {name: Hello.from_bytes(ones[0].body) for name, ones in said.items()}
    if hellos[head.party].commitment.hex() != head.run:
        raise DataError(f"evidence: {head.party} committed to something else before the run than what its head says")
    nonces = {name: hello.nonce for name, hello in hellos.items()}
    commitments = {name: hello.commitment for name, hello in hellos.items()}
    session = session_identity(head.purpose, plan.hash(), nonces, commitments)
    account = SessionAccount()
    account.greeted(session, [party.name for party in plan.parties if party.name in said], commitments)
    rounds = [dict(account.commitments)]
    for number in range(1, min(map(len, said.values()))):
        for name in account.names:
            account.add(name, said[name][number].body)
        rounds.append(dict(account.commitments))
    return session, rounds


def _all(commitments: Mapping[str, bytes]) -> bytes:
    return SessionAccount(commitments=dict(commitments)).all_commitments()


def places_in(messages: Sequence[KeptMessage]) -> dict[bytes, int]:
    """How many messages each hash over the stream so far covers."""
    chain, places = NOTHING, {NOTHING: 0}
    for message in messages:
        if message.kind is not Kind.SEAL:
            chain = chained(chain, message.digest)
            places[chain] = len(places)
    return places


def _verified(
    message: KeptMessage,
    signer: str,
    names: Sequence[str],
    session: bytes,
    certificates: Mapping[str, Certificate],
    known: set[bytes],
) -> Seal:
    seal = Seal.from_bytes(message.body, [name for name in names if name != signer])
    try:
        verify_message(certificates[signer], seal.to_sign(session, signer, message.step), seal.signature)
    except (KeyError, IdentityError):
        raise SpoiltSealError(f"evidence: a signature of {signer} in step {message.step} does not hold") from None
    if seal.commitments not in known:
        raise SpoiltSealError(f"evidence: {signer} signed other commitments than those that were kept")
    return seal
