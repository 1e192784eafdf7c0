"""`auditor replay`: one party's side of a session repeated by the protocol's own code, from the evidence it kept.

A replay goes through these steps. Evidence that does not pass the first two counts as missing; at any other step, the
first thing that does not follow ends the replay.

1. Open the evidence: of this version, of the plan beside it, for the auditor that the plan names, and unchanged.
2. Check the signatures: they say which messages the peers, or this party itself, have signed.
3. Only now open the root: with rows, ids, settings and what was brought, it is what the party committed to.
4. Check the table: a reader can have made it, and it is the auditor's own, if there is one.
5. Run the session again. What was received comes from the evidence, and what would be sent is compared with the digests
   of what was. The numbers that the party calculated with follow from its columns.
6. Compare the model part: the one that training kept, or that a prediction used, is the one that training made.
7. Nothing is left that the party signed and that this did not lead to.
"""

import hashlib
import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec
import numpy as np

from plumbob.counting import counted
from plumbob.crypto import Draws
from plumbob.data import Table, read_table
from plumbob.errors import BudgetExceededError, DataError, EngineError, PlumbobError
from plumbob.net import Data
from plumbob.net.identity import Certificate
from plumbob.party.evidence import FOLDER, HEAD, read_head
from plumbob.party.opened_evidence import OpenedEvidence, SignedPlaces, signed_places
from plumbob.party.prediction import PredictionStart, replay_prediction
from plumbob.party.replay_rules import exceeded_limit, follows, impossible_in, is_same_part, shapes
from plumbob.party.sealing import AuditorKeys
from plumbob.party.signature import PlanSignature, swap_signatures, verify_message
from plumbob.party.statements import FORMAT
from plumbob.plan import Plan
from plumbob.protocol.account import SIGNATURE_BYTES, FirstCommitment, Numbers, Seal, SessionAccount, digest_of_rows
from plumbob.protocol.channel import Channel
from plumbob.protocol.journal import Journal
from plumbob.protocol.messages import Kind, Message
from plumbob.protocol.outcome import run_to_its_quality
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep
from plumbob.protocol.shares.training import SharesParty
from plumbob.run_folder import RunFolder
from plumbob.version import __version__

NOT_COMPARED = "The rows were not compared with any source."
NOT_THE_TRAININGS = "The model part was not compared with the one that its training made."
WHAT = {
    "root": "the root of its draws",
    "rows": "its rows as they were read",
    "ids": "its ids",
    "settings": "its settings",
    "brought": "what it brought from earlier sessions",
}
UNREADABLE = (LookupError, TypeError, ValueError, ArithmeticError, struct.error, msgspec.MsgspecError, MemoryError)
"""What our own code may end with where somebody wrote evidence by other means than it."""
Source = Callable[[Table], Table]
"""Reads from the system of record the rows that a party kept; with its place among the parties with rows."""


class EndOfEvidence(Exception):  # No mistake: what comes later nobody has signed.
    """Raised when the replay reaches the last signed place."""


class DeviationError(Exception):
    """Raised where something does not follow from what was fixed before the run; in words, without a value."""


class ReplayJournal(Journal):
    """Feeds in the messages that were kept, compares those that would be sent, and repeats numbers and decisions."""

    def __init__(self, evidence: OpenedEvidence, plan: Plan, places: SignedPlaces) -> None:
        self._plan, self._party, self._names = plan, evidence.head.party, list(places.commitments)
        self.received = {peer: deque(stream) for peer, stream in evidence.received.items()}
        self.sent = {peer: deque(stream) for peer, stream in evidence.sent.items()}
        self.compared = 0
        self.last = ""
        """The last message that was compared, by kind and step."""
        self.seals: list[str] = []
        """The digests of own seals that were compared, each once."""
        self.may_refuse: Callable[[bytes], bool] = lambda verdict: False
        """Whether a refusal names the party's limit: other sessions may have used it up meanwhile."""
        self._left = dict(places.sent)
        self._numbers, self._decisions = deque(evidence.numbers()), deque(evidence.decisions)

    def log_sent(self, peer: str, message: Message, digest: bytes) -> bool:
        kind, step = message.kind, message.step
        if kind is Kind.SEAL:
            self._compare_seal(peer, message)
            return False
        if not self._left.get(peer):
            raise EndOfEvidence
        kept = self.sent[peer].popleft()
        self._left[peer] -= 1
        if (kept.kind, kept.step, kept.digest) != (kind, step, digest):
            raise DeviationError(f"message {_message_name(kept.kind, kept.step)} to {peer} does not follow")
        self.compared, self.last = self.compared + 1, _message_name(kind, step)
        return False

    def _compare_seal(self, peer: str, message: Message) -> None:
        """Compare all of a seal but the signature, which was verified, with what was sent and received by then."""
        if not self.sent[peer]:
            raise EndOfEvidence
        kept = self.sent[peer].popleft()
        if kept.read()[:-SIGNATURE_BYTES] != message.encode()[:-SIGNATURE_BYTES]:
            raise DeviationError(f"what it signed for {peer} in step {message.step} does not follow")
        digest = Seal.from_bytes(message.body, [name for name in self._names if name != self._party]).digest
        self.seals += [digest] if digest not in self.seals else []

    def next_logged(self, peer: str) -> bytes | None:
        if not self.received.get(peer):
            raise EndOfEvidence
        return self.received[peer].popleft().read()

    def settle(self, calculated: Numbers) -> Numbers:
        if not calculated:
            return calculated
        if not self._numbers:
            raise EndOfEvidence
        kept = self._numbers.popleft()
        if shapes(kept) != shapes(calculated):
            raise DeviationError("the numbers that it calculated with have another shape than those of its columns")
        if limit := exceeded_limit(self._plan, self._party, kept):
            raise DeviationError(f"its rows exceed a limit of the plan for every table ({limit}), which cannot follow")
        for name, values in calculated.items():
            if not follows(name, np.asarray(values), kept[name]):
                raise DeviationError(f"the numbers that it calculated with ({name}) do not follow from its columns")
        return kept

    def decide(self, calculated: bytes) -> bytes:
        if not self._decisions:
            raise EndOfEvidence
        kept = self._decisions.popleft()
        if kept == calculated:
            return kept
        if kept[:1] == b"\0":
            raise DeviationError("it answered rows that the plan, or its own limit, did not allow")
        if len(kept) != len(calculated) or not self.may_refuse(kept):
            raise DeviationError("the limit by which it refused to answer does not follow")
        return kept

    def refuse_rest(self) -> None:
        """Refuse signed messages that an honest party would not have sent, or that nothing kept leads to."""
        for peer, left in self._left.items():
            if left:
                kept = next(message for message in self.sent[peer] if message.kind is not Kind.SEAL)
                raise DeviationError(f"message {_message_name(kept.kind, kept.step)} to {peer} does not follow")


def _message_name(kind: Kind, step: int) -> str:
    return f"{kind.name} of step {step}"


@dataclass(frozen=True)
class ReplaySigner:
    """Signs nothing: own signatures are the kept ones, and are verified."""

    certificates: Mapping[str, Certificate]

    def sign(self, data: bytes) -> bytes:
        return bytes(SIGNATURE_BYTES)

    def verify(self, name: str, data: bytes, signature: bytes) -> None:
        verify_message(self.certificates[name], data, signature)


class _NoLink:
    def send(self, *parts: Data) -> None:
        raise EndOfEvidence

    def receive(self, seconds: float) -> NoReturn:
        raise EndOfEvidence

    def close(self) -> None:
        return


def replay(
    folder: Path,
    auditor: AuditorKeys,
    source: Source | None = None,
    progress: AfterStep | None = None,
    trained: str = "",
) -> dict[str, Any]:
    """Make the statement about a run's folder, not signed yet; DataError where the evidence counts as missing.

    `source` reads the same rows from the system of record; `trained` is the digest of the model part that a prediction
    must have used.
    """
    plan, evidence = _open_evidence(folder, auditor)  # 1
    with _readable(folder):
        places = signed_places(evidence, plan)  # 2
        again = _SessionAgain(evidence, plan, places, ReplayJournal(evidence, plan, places), trained)
    head = evidence.head
    try:
        again.follow(source, progress)  # 3 to 7
        is_honest, verdict = again.finding()
    except DeviationError as deviation:
        is_honest, verdict = False, f"{head.party}: {deviation} from what was fixed before the run."
    if is_honest and source is None:
        verdict += f" {NOT_COMPARED}"
    if head.purpose == "predict" and not trained:
        verdict += f" {NOT_THE_TRAININGS}"
    return {
        "format": FORMAT,
        "party": head.party,
        "purpose": head.purpose,
        "plan": head.plan,
        "session": places.session.hex(),
        "commitments": {name: commitment.hex() for name, commitment in places.commitments.items()},
        "sent": {peer: chain.hex() for peer, chain in places.sent_chains.items()},
        "received": {peer: chain.hex() for peer, chain in places.received.items()},
        "rows": head.items.get("rows", ""),
        "part": again.part,
        "seals": again.journal.seals,
        "honest": is_honest,
        "settled": again.is_settled,
        "compared_with_source": source is not None,
        "compared_with_training": bool(trained),
        "verdict": verdict,
        "fingerprints": {name: certificate.fingerprint for name, certificate in head.parsed_certificates().items()},
        "version": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _open_evidence(folder: Path, auditor: AuditorKeys) -> tuple[Plan, OpenedEvidence]:
    """The plan of a run and the messages in its evidence."""
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
    with _readable(folder):
        return plan, OpenedEvidence.open(folder / FOLDER, auditor)


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Treat what cannot be read as missing, whatever is wrong with it."""
    try:
        yield
    except DataError:
        raise
    except (PlumbobError, *UNREADABLE) as error:
        raise _as_missing(folder, error) from error


def _as_missing(folder: Path, error: Exception) -> DataError:
    return DataError(f"{folder}: its evidence cannot be read ({type(error).__name__}), as if it were missing")


class _Start(NamedTuple):
    """What a party fixed before a session, and its commitment to it."""

    root: bytes
    table: Table
    brought: bytes
    commitment: bytes


class _SessionAgain:
    """A session that runs again on its evidence."""

    def __init__(
        self, evidence: OpenedEvidence, plan: Plan, places: SignedPlaces, journal: ReplayJournal, trained: str
    ) -> None:
        self._evidence, self._plan, self._places, self._trained = evidence, plan, places, trained
        self.journal = journal
        self.is_settled = evidence.head.is_settled and places.is_whole and not places.spoilt
        """Whether the evidence goes to the last signatures."""
        self.part = ""
        """The digest of the model part that training made, or that a prediction used: the two must be the same."""

    def follow(self, source: Source | None, progress: AfterStep | None) -> None:
        """Steps 3 to 7; DeviationError at the first thing that does not follow."""
        start = self._start()  # 3
        self._refuse_table(start.table, source)  # 4
        try:
            self._run_again(start, progress)  # 5 and 6
        except EndOfEvidence:
            self.is_settled = False
        # However it ended: whoever signed more than its evidence leads to has left something out.
        self.journal.refuse_rest()  # 7

    def finding(self) -> tuple[bool | None, str]:
        """Whether the party was honest, as far as its evidence goes, and one sentence, where everything follows."""
        head, journal = self._evidence.head, self.journal
        messages = counted(journal.compared, "message")
        if self._places.spoilt:
            until = f" up to {journal.last}" if journal.last else ""
            return None, (
                f"Nothing against {head.party}{until} ({messages} compared); the evidence ends with a seal in "
                f"{self._places.spoilt}'s name that does not hold, which may come from either side."
            )
        sentence = (
            f"Every one of the {messages} that {head.party} sent follows from the signed plan, the rows with digest "
            f"{head.items['rows'][:16]}..., and the draws fixed before the run."
        )
        if not self.is_settled:
            sentence += " The run is not settled: only what was signed before it ended was compared."
        return True, sentence

    def _start(self) -> "_Start":
        """Open what the party committed to, and compare it with the commitment."""
        evidence = self._evidence
        with _readable(evidence.folder):
            root, table, brought = evidence.read("root"), evidence.table(), evidence.read("brought")
        if table is None:
            raise DataError(f"{evidence.folder}: its evidence has no table, as if it were missing")
        commitment = FirstCommitment.to(root, table, brought)
        for name, item in commitment.items.items():
            if item.hex() != evidence.head.items.get(name):
                raise DeviationError(f"{WHAT[name]} that it kept is not what it committed to, and nothing follows")
        return _Start(root, table, brought, commitment.hash())

    def _refuse_table(self, table: Table, source: Source | None) -> None:
        if words := impossible_in(self._plan, self._evidence.head.party, table):
            raise DeviationError(f"its table holds what no file gives ({words}), which cannot follow")
        if source is not None and digest_of_rows(source(table)) != digest_of_rows(table):
            raise DeviationError(
                "the rows that it calculated with are not those of the table given, and nothing follows"
            )

    def _run_again(self, start: "_Start", progress: AfterStep | None) -> None:
        """Run the session again; EndOfEvidence where the party's own ended, too."""
        head, plan, journal = self._evidence.head, self._plan, self.journal
        names = [party.name for party in plan.parties if party.name in self._evidence.received]
        channels = {name: Channel(name, _NoLink(), journal=journal) for name in names}
        account = SessionAccount(start.commitment, ReplaySigner(head.parsed_certificates()))
        participant = Participant(head.party, plan, channels, Draws.begin(start.root), journal=journal, account=account)
        try:
            if head.purpose == "predict":
                self._predict_again(participant, start.table, start.brought)
            else:
                self._swap_again(channels)
                party = SharesParty(participant, start.table, progress)
                run_to_its_quality(party)
                self.part = self._kept_part(party)
        except EngineError:
            # It says nothing about the party.
            raise
        except PlumbobError as error:
            raise EndOfEvidence from error
        except UNREADABLE as error:
            # A table that no reader makes: no run came from it by this program.
            raise _as_missing(self._evidence.folder, error) from error

    def _predict_again(self, participant: Participant, table: Table, brought: bytes) -> None:
        continued = PredictionStart.from_bytes(brought)
        # Known before the first message, so that a session that broke off says it, too.
        self.part = hashlib.sha256(continued.part).hexdigest()
        if self._trained and self.part != self._trained:
            raise DeviationError(
                "the model part that it used is not the one that its training made, and nothing follows"
            )
        self.journal.may_refuse = partial(continued.may_refuse, self._plan)
        with suppress(BudgetExceededError):
            replay_prediction(participant, table, continued)

    def _swap_again(self, channels: Mapping[str, Channel]) -> None:
        """Replay the exchange of signatures of the plan, which came first."""
        sent = self._evidence.sent.values()
        own = next((message for stream in sent for message in stream if message.kind is Kind.SIGNATURE), None)
        if own is not None:
            certificates = self._evidence.head.parsed_certificates()
            swap_signatures(channels, PlanSignature(own.body, certificates), self._plan)

    def _kept_part(self, party: SharesParty) -> str:
        """Its digest, once it is what this training made: shares exactly, floating point as other processors round it.

        None is there where the party died between its last message and keeping its part.
        """
        evidence = self._evidence
        if not evidence.head.is_settled and "encoder" not in evidence.head.files:
            return ""
        with _readable(evidence.folder):
            kept = evidence.read("encoder")
            stored = msgspec.json.decode(kept, type=dict[str, Any])
        if not is_same_part(stored, msgspec.json.decode(party.model_part().to_json())):
            raise DeviationError("the model part that it kept does not follow")
        return hashlib.sha256(kept).hexdigest()


def source_of(file: Path, id_column: str, label_column: str) -> Source:
    """The same rows, read in the same way from a file that the auditor drew."""

    def read(kept: Table) -> Table:
        if kept.labels is not None and not label_column:
            raise DataError(f"{file}: this party has the label; name its column in the file with --label COLUMN")
        table = read_table(file, id_column, label_column if kept.labels is not None else None, choices=kept.choices)
        known = set(table.ids)
        if missing := sum(name not in known for name in kept.ids):
            what = counted(missing, "row")
            raise DeviationError(f"{what} that it calculated with are not in the table given, and nothing follows")
        return table.select(kept.ids)

    return read
