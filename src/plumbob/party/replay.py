"""`party replay`: this party's side of a session once more, by the protocol's own code, from the evidence that it kept.

What was received comes from the evidence, and what would be sent is compared with the digests of what was. Signatures
are checked first, before the root is opened: they say which messages the peers, or this party itself, have signed.
"""

import hashlib
import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob import __version__
from plumbob.counting import counted
from plumbob.crypto import Draws, engines
from plumbob.data import Table, read_table
from plumbob.errors import BudgetExceededError, CryptoError, DataError, IdentityError, PlumbobError
from plumbob.net.identity import Certificate
from plumbob.party.evidence import FOLDER, HEAD, KeptMessage, OpenedEvidence, read_head
from plumbob.party.prediction import Brought, replay_prediction
from plumbob.party.signature import PlanSignature, swap_signatures, verify_message
from plumbob.plan import Plan
from plumbob.protocol.account import SIGNATURE_BYTES, FirstCommitment, Numbers, Seal, SessionAccount
from plumbob.protocol.channel import NOTHING, Channel, chained
from plumbob.protocol.handshake import Hello, Participant, session_identity
from plumbob.protocol.journal import NoJournal
from plumbob.protocol.messages import HEADER, Kind, decode_header
from plumbob.protocol.party import AfterStep, TrainingParty
from plumbob.protocol.program import party_at
from plumbob.protocol.quality import run_to_its_quality
from plumbob.run_folder import RunFolder

EXACT = ("signs", "shifts", "row weights")
ONE_IN = 100_000
ROUNDING = 2.0**-48  # What floating point may differ by between processors: the last few bits.
NOT_COMPARED = "The rows were not compared with any source."
NOT_THE_TRAININGS = "The model part was not compared with the one that its training made."
WHAT = {
    "root": "the root of its draws",
    "rows": "its rows as they were read",
    "ids": "its ids",
    "settings": "its settings",
    "brought": "what it brought from earlier sessions",
}


class EndOfEvidence(Exception):  # No mistake: what comes later nobody has signed.
    """The replay is at the last signed place."""


class DeviationError(Exception):
    """Something does not follow from what was fixed before the run; in words, without a value."""


@dataclass(frozen=True)
class SignedPlaces:
    """What the signatures cover: of each peer's stream from here, so many messages; and in which session."""

    session: bytes
    commitments: Mapping[str, bytes]
    sent: Mapping[str, int]
    received: Mapping[str, bytes]
    """By peer, the hash over what came from it, as it last signed it."""


# 1. Commitments and signatures.


def signed_places(evidence: OpenedEvidence, plan: Plan) -> SignedPlaces:
    """DataError where the kept messages are not those that were signed. Derives no secret."""
    head = evidence.head
    certificates = {name: Certificate.parse(bytes.fromhex(der)) for name, der in head.certificates.items()}
    session, rounds = _sessions(evidence, plan)
    names = list(rounds[0])
    own_chains = {peer: _chains(evidence.sent[peer].messages()) for peer in evidence.sent}
    covered = dict.fromkeys(evidence.sent, 0)
    known, signed = {_all(one) for one in rounds}, dict.fromkeys(evidence.received, NOTHING)
    for peer, stream in evidence.received.items():
        chain = NOTHING
        for message in stream.messages():
            if message.kind is not Kind.SEAL:
                chain = chained(chain, message.digest)
                continue
            seal = _verified(message, peer, names, session, certificates, known)
            sent, received = seal.streams[head.party]
            if sent != chain:
                raise DataError(
                    f"evidence: a message from {peer} before step {message.step} is not the one {peer} signed"
                )
            if received not in own_chains[peer]:
                raise DataError(f"evidence: the messages to {peer} are not those that {peer} signed to have received")
            covered[peer], signed[peer] = max(covered[peer], own_chains[peer][received]), chain
    for stream in evidence.sent.values():
        for message in stream.messages():
            if message.kind is Kind.SEAL:
                seal = _verified(message, head.party, names, session, certificates, known)
                # Whomever it was for, it is about everybody: a party that died may not have sent it to all.
                for other, (sent, _) in seal.streams.items():
                    if sent not in own_chains[other]:
                        raise DataError(
                            f"evidence: the messages to {other} are not those that {head.party} itself signed"
                        )
                    covered[other] = max(covered[other], own_chains[other][sent])
    return SignedPlaces(session, rounds[-1], covered, signed)


def _sessions(evidence: OpenedEvidence, plan: Plan) -> tuple[bytes, list[dict[str, bytes]]]:
    """The session's identity, and everybody's commitments after each round of them."""
    head, said = evidence.head, {}
    for peer, stream in evidence.received.items():
        said[peer] = [one for one in stream.messages() if one.kind in (Kind.HELLO, Kind.NUMBERS)]
    own = max((stream.messages() for stream in evidence.sent.values()), key=len, default=[])
    said[head.party] = [one for one in own if one.kind in (Kind.HELLO, Kind.NUMBERS)]
    if any(not messages for messages in said.values()):
        raise DataError(
            "evidence: the run ended before everybody had said what it commits to; there is nothing to replay"
        )
    hellos = {name: msgspec.json.decode(ones[0].data[HEADER.size :], type=Hello) for name, ones in said.items()}
    if hellos[head.party].commitment != head.run:
        raise DataError(f"evidence: {head.party} committed to something else before the run than what its head says")
    nonces = {name: hello.nonce for name, hello in hellos.items()}
    commitments = {name: bytes.fromhex(hello.commitment) for name, hello in hellos.items()}
    session = session_identity(head.purpose, plan.hash(), nonces, commitments)
    account = SessionAccount()
    account.greeted(session, [party.name for party in plan.parties if party.name in said], commitments)
    rounds = [dict(account.commitments)]
    for number in range(1, min(map(len, said.values()))):
        for name in account.names:
            account.add(name, said[name][number].data[HEADER.size :])
        rounds.append(dict(account.commitments))
    return session, rounds


def _all(commitments: Mapping[str, bytes]) -> bytes:
    return SessionAccount(commitments=dict(commitments)).all_commitments()


def _chains(messages: Sequence[KeptMessage]) -> dict[bytes, int]:
    """By the hash over the stream so far, how many messages it is over."""
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
    seal = Seal.from_bytes(message.data[HEADER.size :], [name for name in names if name != signer])
    try:
        verify_message(certificates[signer], seal.to_sign(session, signer, message.step), seal.signature)
    except (KeyError, IdentityError):
        raise DataError(f"evidence: a signature of {signer} in step {message.step} does not hold") from None
    if seal.commitments not in known:
        raise DataError(f"evidence: {signer} signed other commitments than those that were kept")
    return seal


# 2. and 3. The party once more.


class ReplayJournal(NoJournal):
    """What arrives was kept; what would be sent is compared; numbers and decisions are those of the run."""

    def __init__(self, evidence: OpenedEvidence, places: SignedPlaces) -> None:
        self.received = {peer: deque(stream.messages()) for peer, stream in evidence.received.items()}
        self.sent = {peer: deque(stream.messages()) for peer, stream in evidence.sent.items()}
        self.compared = 0
        self._left = dict(places.sent)
        self._numbers, self._decisions = deque(evidence.numbers()), deque(evidence.decisions)

    def sending(self, peer: str, data: bytes, digest: bytes) -> bool:
        kind, step, _ = decode_header(data)
        if kind is Kind.SEAL:
            self._compare_seal(peer, step, data)
            return False
        if not self._left.get(peer):
            raise EndOfEvidence
        kept = self.sent[peer].popleft()
        self._left[peer] -= 1
        if (kept.kind, kept.step, kept.digest) != (kind, step, digest):
            raise DeviationError(f"message {_named(kept.kind, kept.step)} to {peer} does not follow")
        self.compared += 1
        return False

    def _compare_seal(self, peer: str, step: int, data: bytes) -> None:
        """All but the signature, which was verified: it signed what it had sent and received by then."""
        if not self.sent[peer]:
            raise EndOfEvidence
        kept = self.sent[peer].popleft()
        if kept.data[:-SIGNATURE_BYTES] != data[:-SIGNATURE_BYTES]:
            raise DeviationError(f"what it signed for {peer} in step {step} does not follow")

    def arrived(self, peer: str) -> bytes | None:
        if not self.received.get(peer):
            raise EndOfEvidence
        return self.received[peer].popleft().data

    def settle(self, calculated: Numbers) -> Numbers:
        if not calculated:
            return calculated
        if not self._numbers:
            raise EndOfEvidence
        kept = self._numbers.popleft()
        if _shapes(kept) != _shapes(calculated):
            raise DeviationError("the numbers that it calculated with have another shape than those of its columns")
        for name, values in calculated.items():
            if not _follows(name, np.asarray(values), kept[name]):
                raise DeviationError(f"the numbers that it calculated with ({name}) do not follow from its columns")
        return kept

    def decide(self, calculated: bytes) -> bytes:
        if not self._decisions:
            raise EndOfEvidence
        kept = self._decisions.popleft()
        if kept != calculated and kept[:1] == b"\0":
            raise DeviationError("it answered rows that the plan, or its own limit, did not allow")
        return kept

    def refuse_rest(self) -> None:
        """Nothing was signed that an honest party would not have sent, or that nothing kept leads to."""
        for peer, left in self._left.items():
            if left:
                kept = next(one for one in self.sent[peer] if one.kind is not Kind.SEAL)
                raise DeviationError(f"message {_named(kept.kind, kept.step)} to {peer} does not follow")


def _shapes(numbers: Numbers) -> dict[str, tuple[str, tuple[int, ...]]]:
    """With their types: a number of another type is another number."""
    return {name: (np.asarray(one).dtype.str, np.shape(one)) for name, one in numbers.items()}


def _follows(name: str, calculated: NDArray[Any], kept: NDArray[Any]) -> bool:
    """Whether kept numbers are the calculated ones, but for what other processors round otherwise."""
    if name in EXACT:
        return bool(np.array_equal(calculated, kept))
    if calculated.dtype.kind == "f":
        return bool(np.allclose(calculated, kept, rtol=ROUNDING, atol=0))
    differences = np.abs(calculated.astype(np.float64) - kept)
    are_few = np.count_nonzero(differences) <= max(1, calculated.size // ONE_IN)
    return bool(are_few and differences.max(initial=0) <= 1)


def _named(kind: Kind, step: int) -> str:
    return f"{kind.name} of step {step}"


class ReplaySigner:
    """Signs nothing: own signatures are those that were kept, and hold or do not."""

    def __init__(self, evidence: OpenedEvidence) -> None:
        head = evidence.head
        self._certificates = {name: Certificate.parse(bytes.fromhex(der)) for name, der in head.certificates.items()}

    def sign(self, data: bytes) -> bytes:
        return bytes(64)

    def verify(self, name: str, data: bytes, signature: bytes) -> None:
        verify_message(self._certificates[name], data, signature)


class _NoLink:
    def send(self, data: bytes) -> None:
        raise EndOfEvidence

    def receive(self, seconds: float) -> NoReturn:
        raise EndOfEvidence

    def close(self) -> None:
        return


@dataclass(frozen=True)
class Replayed:
    """What a replay found."""

    is_honest: bool
    is_settled: bool
    sentence: str
    part: str = ""
    """The digest of the model part that training made, or that a prediction used: they must be the same."""


def replay(
    folder: Path,
    keys: Mapping[str, bytes],
    source: Callable[[Table], Table] | None = None,
    progress: AfterStep | None = None,
    engine: str = "auto",
    trained: str = "",
) -> dict[str, Any]:
    """The statement about a run's folder, not signed yet.

    `source` reads the same rows from the system of record; `trained` is the digest of the model part that a prediction
    must have used.
    """
    head = read_head(folder / FOLDER / HEAD)
    if head.version != __version__:
        raise DataError(
            f"{folder}: the evidence is of version {head.version}; replay it with that version, not {__version__}"
        )
    plan = Plan.load(RunFolder(folder).plan_file)
    if plan.hash() != head.plan:
        raise DataError(f"{folder}: the plan beside the evidence is not the one of this run")
    if dict(plan.auditors).get(head.party) != head.auditor:
        raise DataError(f"{folder}: the evidence is sealed for another auditor than the plan names for {head.party}")
    try:
        evidence = OpenedEvidence.open(folder / FOLDER, keys)
        places = signed_places(evidence, plan)
    except DataError:
        raise
    except (KeyError, ValueError, struct.error, msgspec.DecodeError) as error:
        raise DataError(
            f"{folder}: its evidence cannot be read ({type(error).__name__}), as if it were missing"
        ) from error
    found = _replayed(evidence, plan, places, source, progress, engine)
    if trained and found.is_honest and found.part != trained:
        words = "the model part that it used is not the one that its training made, and nothing follows"
        found = replace(found, is_honest=False, sentence=_deviation(head.party, words))
    elif head.purpose == "predict" and not trained:
        found = replace(found, sentence=f"{found.sentence} {NOT_THE_TRAININGS}")
    rows = head.items.get("rows", "")
    return {
        "format": 1,
        "party": head.party,
        "purpose": head.purpose,
        "plan": head.plan,
        "session": places.session.hex(),
        "commitments": {name: one.hex() for name, one in places.commitments.items()},
        "sent": {peer: _hash_after(evidence, peer, count) for peer, count in places.sent.items()},
        "received": {peer: chain.hex() for peer, chain in places.received.items()},
        "rows": rows,
        "part": found.part,
        "honest": found.is_honest,
        "settled": found.is_settled,
        "compared_with_source": source is not None,
        "compared_with_training": bool(trained),
        "verdict": found.sentence,
        "fingerprints": {
            name: Certificate.parse(bytes.fromhex(der)).fingerprint for name, der in head.certificates.items()
        },
        "version": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _hash_after(evidence: OpenedEvidence, peer: str, count: int) -> str:
    chains = _chains(evidence.sent[peer].messages())
    return next(chain.hex() for chain, place in chains.items() if place == count)


def _replayed(
    evidence: OpenedEvidence,
    plan: Plan,
    places: SignedPlaces,
    source: Callable[[Table], Table] | None,
    progress: AfterStep | None,
    engine: str,
) -> Replayed:
    head, journal = evidence.head, ReplayJournal(evidence, places)
    is_settled = head.is_settled and all(
        places.sent[peer] == sum(one.kind is not Kind.SEAL for one in stream.messages())
        for peer, stream in evidence.sent.items()
    )
    part = ""
    try:
        try:
            part = _run_again(evidence, plan, journal, source, progress, engine)
        except EndOfEvidence:
            is_settled = False
        # However it ended: whoever signed more than its evidence leads to has left something out.
        journal.refuse_rest()
    except DeviationError as deviation:
        return Replayed(False, is_settled, _deviation(head.party, str(deviation)))
    rows = f"the rows with digest {head.items['rows'][:16]}..." if "rows" in head.items else "no rows"
    sentence = (
        f"Every one of the {counted(journal.compared, 'message')} that {head.party} sent follows from the signed plan, "
        f"{rows}, and the draws fixed before the run."
    )
    if not is_settled:
        sentence += " The run is not settled: only what was signed before it ended was compared."
    return Replayed(True, is_settled, sentence if source is not None else f"{sentence} {NOT_COMPARED}", part)


def _deviation(party: str, words: str) -> str:
    return f"{party}: {words} from what was fixed before the run."


def _run_again(
    evidence: OpenedEvidence,
    plan: Plan,
    journal: ReplayJournal,
    source: Callable[[Table], Table] | None,
    progress: AfterStep | None,
    engine: str,
) -> str:
    """The digest of the model part that was made or used."""
    head = evidence.head
    root, table, brought = evidence.read("root"), evidence.table(), evidence.read("brought")
    commitment = FirstCommitment.to(root, table, brought)
    for name, item in commitment.items.items():
        if item.hex() != head.items.get(name):
            raise DeviationError(f"{WHAT[name]} that it kept is not what it committed to, and nothing follows")
    if table is not None and source is not None and source(table).digest() != table.digest():
        raise DeviationError("the rows that it calculated with are not those of the table given, and nothing follows")
    channels = {
        party.name: Channel(party.name, _NoLink(), journal=journal)
        for party in plan.parties
        if party.name in evidence.received
    }
    account = SessionAccount(commitment.hash(), ReplaySigner(evidence))
    participant = Participant(
        head.party, plan, channels, engines.choose(engine), Draws.begin(root), journal=journal, account=account
    )
    try:
        if head.purpose == "predict":
            continued = Brought.from_bytes(brought)
            with suppress(BudgetExceededError):
                replay_prediction(participant, _table_of(table), continued)
            return hashlib.sha256(continued.part).hexdigest()
        _swap_again(evidence, channels, plan)
        party = party_at(participant, table, progress)
        run_to_its_quality(party)
    except PlumbobError as error:
        # An engine that fails, or a cluster that is away, says nothing about the party.
        if type(error) is CryptoError:
            raise
        raise EndOfEvidence from error
    return _kept_part(evidence, party) if isinstance(party, TrainingParty) else ""


def _swap_again(evidence: OpenedEvidence, channels: Mapping[str, Channel], plan: Plan) -> None:
    """Everybody's word for the plan came first."""
    said = (one for stream in evidence.sent.values() for one in stream.messages() if one.kind is Kind.SIGNATURE)
    if (own := next(said, None)) is not None:
        ders = evidence.head.certificates.items()
        certificates = {name: Certificate.parse(bytes.fromhex(der)) for name, der in ders}
        swap_signatures(channels, PlanSignature(own.data[HEADER.size :], certificates), plan)


def _table_of(table: Table | None) -> Table:
    if table is None:
        raise DataError("evidence: the columns are missing")
    return table


def _kept_part(evidence: OpenedEvidence, party: TrainingParty) -> str:
    """Its digest, once it is what this training made: shares exactly, floating point as other processors round it."""
    kept = evidence.read("encoder")
    if not _is_alike(msgspec.json.decode(kept), msgspec.json.decode(party.model_part().brought())):
        raise DeviationError("the model part that it kept does not follow")
    return hashlib.sha256(kept).hexdigest()


def _is_alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_is_alike(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=1e-9, atol=1e-9))
    return bool(one == other)


def source_of(file: Path, id_column: str, label_column: str) -> Callable[[Table], Table]:
    """The same rows, read in the same way from a file that the auditor drew."""

    def read(kept: Table) -> Table:
        if kept.labels is not None and not label_column:
            raise DataError(f"{file}: this party has the label; name its column in the file with --label COLUMN")
        table = read_table(file, id_column, label_column if kept.labels is not None else "", choices=kept.choices)
        if missing := len(set(kept.ids) - set(table.ids)):
            what = counted(missing, "row")
            raise DeviationError(f"{what} that it calculated with are not in the table given, and nothing follows")
        found = table.select(kept.ids, "the file lacks rows that the party calculated with")
        return Table(
            found.ids,
            found.columns,
            found.labels,
            found.classes,
            choices=kept.choices,
            held_out=kept.held_out,
            weights=found.weights,
        )

    return read
