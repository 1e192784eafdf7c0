"""Where sessions of the suite run: alignments, trainings and predictions of `shares`, as organisations hold them.

A session is a purpose, a plan and tables; a world plays it with fixed roots, so that the same session says the same
bytes each time. What a test adds is a hook: on the frames that pass between two parties, or on the events of a party's
journal. A hook may raise `Killed`, where a party dies, or `no_room()`, where its disk is full;
such a party is started again, until all have ended. A hook on frames may raise `Cut`, where the connection breaks.

    World(SESSIONS["training of two"], folder).run()                        over links and journals, in this process
    World(session, folder, on_event=Strike("label", 11)).run()              with a death at the label party's event 11
    World(session, folder, on_frame=changes).run()                          with other frames than were sent
    World(session, folder, over_tls=True).run()                             over connections as between organisations
    World(session, folder).start("label", dies_after=1, patience=2.0)       one party alone, otherwise than agreed
    in_memory(session)                                                      the simulation: no links and no journals
"""

import hashlib
import queue
import socket
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pytest

from plumbob.arrays import Vector
from plumbob.crypto import Draws
from plumbob.data import Batch, Table
from plumbob.data.ids import PackedIds
from plumbob.errors import DeadlineError, JournalError, TransportError
from plumbob.lab.simulate import Run
from plumbob.lab.simulate import train as simulate
from plumbob.net import Connection, Data
from plumbob.net.connector import Connector, Peer
from plumbob.net.frames import FRAME, MESSAGE
from plumbob.net.identity import Identity
from plumbob.net.wire import Timeouts
from plumbob.party import prediction, replay
from plumbob.party import session as sessions
from plumbob.party.evidence import FOLDER as EVIDENCE
from plumbob.party.evidence import EvidenceKeeper
from plumbob.party.ledger import RowBudget, SpendingLedger
from plumbob.party.row_count import AnsweredRows
from plumbob.party.sealing import AuditorKeys
from plumbob.party.session import ConnectorFor, peers_of, topic_of
from plumbob.party.signature import PlanSignature
from plumbob.party.verbs import train as training
from plumbob.party.verbs.align import intersect
from plumbob.plan import Plan
from plumbob.protocol.alignment import Alignment
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.limits import RowLimit
from plumbob.protocol.messages import HEADER, Message, decode
from plumbob.protocol.openings import OPENED_SCORES
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import AfterStep, TrainingParty
from plumbob.protocol.shares.training import SharesParty
from plumbob.run_folder import JOURNAL, RunFolder
from tests.frozen.messages import ALIGNMENTS, SHARES, TRAININGS, rows_of
from tests.protocol.support import Tables, made_up, signers_of, tables_for

PATIENCE = 60.0  # Seconds: a session that waits longer than this hangs.
LINGERING = 0.2
ANSWERED = Path("answered") / "count.json"  # In a party's folder: how many rows it has scored for others.
QUERIES = (5, 3)  # Rows of each query of a prediction.
SCORE_BIT = 2.0**-OPENED_SCORES.fraction_bits
Purpose = Literal["align", "train", "predict"]
Result = TypeVar("Result")
OnConnection = Callable[[Connection], None]
OnFrame = Callable[[str, str, bytes], Iterable[bytes]]
"""What becomes of a frame from this sender to this receiver: other frames, or none."""
OnEvent = Callable[[str, str], None]
"""Hears of each event of a party's journal: the party, and the statement that it is about to write, or `NOTED`."""
NOTED = "a message was noted as sent"


# The sessions.


@dataclass(frozen=True)
class Session:
    """What is played."""

    title: str
    purpose: Purpose
    plan: Plan
    tables: Mapping[str, Table]
    """Aligned rows; for an alignment, rows of which not all are common."""
    at_least: int | None = None
    """Alignment: the size comes first, and fewer common rows than this end it."""
    keeps_evidence: bool = False
    brought: Mapping[str, AuditorKeys] | None = None
    """Auditors of a plan that names them; without them, each party's own of the suite."""
    parts: Mapping[str, ModelPart] | None = None
    """Prediction: the parts that parties bring; without them, those of the simulation."""

    @property
    def names(self) -> list[str]:
        return [party.name for party in self.plan.parties]

    @property
    def auditors(self) -> Mapping[str, AuditorKeys]:
        return self.brought or auditors_of(tuple(self.names))

    @property
    def agreed(self) -> Plan:
        """The plan that is signed; where evidence is kept, with an auditor for each party."""
        if not self.keeps_evidence or self.brought:
            return self.plan
        fingerprints = {name: keys.public.fingerprint for name, keys in self.auditors.items()}
        return self.plan.replace(evidence="keep", days=30, auditors=fingerprints)


def root_of(name: str) -> bytes:
    """What a party draws from."""
    return hashlib.sha256(name.encode()).digest()


def roots_of(plan: Plan) -> dict[str, bytes]:
    """Everybody's."""
    return {party.name: root_of(party.name) for party in plan.parties}


TWO, THREE = (2, 3), (2, 2, 1)
PLANS: dict[str, Plan] = {
    **{
        name.removeprefix("shares "): Plan.for_columns(split, **keys)
        for name, (split, keys) in TRAININGS.items()
        if name.startswith("shares")
    },
    "of two, row weights": Plan.for_columns(TWO, **SHARES | {"row_weights": True}),
    "of two, few rows to score": Plan.for_columns(TWO, **SHARES | {"most_rows": 12}),
    "of three, class weights": Plan.for_columns(
        THREE, protocol="shares", epochs=1, test_share=0.2, class_weight="balanced", l2=0.01
    ),
}
KEPT = ("of two", "of two, noise", "of two, row weights", "of three", "of three, noise")
"""Plans whose parties keep evidence, too."""
PREDICTED = ("of two", "of two, opened", "of three", "of three, opened, penalty", "of five")


CASTING = threading.Lock()
MAKING_AUDITORS = threading.Lock()


def auditors_of(names: tuple[str, ...]) -> dict[str, AuditorKeys]:
    """An auditor for each party, the same for all who ask."""
    with MAKING_AUDITORS:
        return _made_auditors(names)


@cache
def _made_auditors(names: tuple[str, ...]) -> dict[str, AuditorKeys]:
    with tempfile.TemporaryDirectory() as folder:
        return {name: AuditorKeys.create(Path(folder) / name, f"auditor-{name}") for name in names}


def frozen_tables(plan: Plan) -> Tables:
    """Rows that no processor rounds in another way."""
    return tables_for(plan, *rows_of(plan))


def own_tables(plan: Plan) -> Tables:
    """Rows whose every cell, id and class nobody else would write by chance."""
    tables = tables_for(plan, *made_up(40, plan.columns))
    named = {
        name: replace(
            table,
            ids=tuple(f"person-{row:04}-at-home" for row in range(len(table))),
            columns=tuple(
                replace(column, name=f"{name}-peculiarity-{place}") for place, column in enumerate(table.columns)
            ),
        )
        for name, table in tables.items()
    }
    label = plan.label_party.name
    return {**named, label: replace(named[label], classes=("zebra-healthy", "zebra-ill"))}


def ids_only(plan: Plan) -> Tables:
    """Twelve ids and more, of which each party lacks some and has some alone."""
    return {
        party.name: Table(
            tuple(f"person-{row:04}-at-home" for row in range(3 * place, 14))
            + tuple(f"only-{party.name}-knows-{row}" for row in range(3)),
            (),
        )
        for place, party in enumerate(plan.parties)
    }


def training_of(name: str, *, evidence: bool = False) -> Session:
    """The training by this plan."""
    title = f"training {name}{', evidence' if evidence else ''}"
    return Session(title, "train", PLANS[name], frozen_tables(PLANS[name]), keeps_evidence=evidence)


def prediction_of(name: str, *, evidence: bool = False) -> Session:
    """Rows scored by the model of this plan."""
    title = f"prediction {name}{', evidence' if evidence else ''}"
    return Session(title, "predict", PLANS[name], frozen_tables(PLANS[name]), keeps_evidence=evidence)


def alignment_of(name: str, *, size_first: bool) -> Session:
    """The alignment of so many parties."""
    plan, title = Plan.for_columns(ALIGNMENTS[name]), f"alignment {name}{', size first' if size_first else ''}"
    return Session(title, "align", plan, ids_only(plan), at_least=3 if size_first else None)


def by_title(*sessions: Session) -> dict[str, Session]:
    """All of them."""
    return {session.title: session for session in sessions}


TRAINED = by_title(*map(training_of, PLANS), *(training_of(name, evidence=True) for name in KEPT))
PREDICTIONS = by_title(*map(prediction_of, PREDICTED), prediction_of("of two", evidence=True))
ALIGNED = by_title(*(alignment_of(name, size_first=way) for name in ALIGNMENTS for way in (False, True)))
SESSIONS = {**TRAINED, **PREDICTIONS, **ALIGNED}


@cache
def _model_of(plan: Plan) -> Run:
    return simulate(plan, frozen_tables(plan), roots=roots_of(plan), jobs=1)


def in_memory(session: Session) -> Run:
    """The simulation of a training, or of the training whose model a prediction asks."""
    return _model_of(session.agreed)


def simulated(session: Session) -> dict[str, Any]:
    """What every party of a training ends with in the simulation, as `Ends.outcome` has it."""
    run = in_memory(session)
    # A party's own columns are in its folder, and not in the record that it may send.
    about = {party.name: replace(party, inputs=[]) for party in run.record.parties}
    return {name: (part_numbers(part), about[name]) for name, part in run.model.parts.items()}


def common_ids(session: Session) -> set[str]:
    """The ids of an alignment that all parties have."""
    return set.intersection(*(set(table.ids) for table in session.tables.values()))


def distance_from_scores(session: Session, scores: Vector) -> float:
    """How far these scores of a prediction's first rows are from those of the whole model, at most."""
    tables = frozen_tables(session.plan)
    model = in_memory(session).model
    expected = model.scores({name: table.take(range(len(scores))) for name, table in tables.items()})
    return float(np.abs(scores - expected).max())


# Connections.


class Killed(BaseException):
    """What stands for `kill -9` inside this process: nothing of ours catches it."""


class Cut(Exception):  # No error: it is what a network does.
    """The connection breaks with this frame, and what is under way is lost."""


def as_sent(sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
    """Nothing happens to a frame."""
    return [frame]


class CableEnd:
    """One end of a connection."""

    def __init__(self, own: str, peer: str, on_frame: OnFrame) -> None:
        self.peer = peer
        self.incoming: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.other: CableEnd
        self.is_cut = False
        self._own, self._on_frame = own, on_frame

    def send(self, *parts: Data) -> None:
        if self.is_cut:
            raise TransportError("the wire is cut")
        try:
            for frame in self._on_frame(self._own, self.peer, b"".join(parts)):
                self.other.incoming.put(frame)
        except Cut:
            for end in (self, self.other):
                end.is_cut = True
                end.incoming.put(None)
            raise TransportError("the wire is cut") from None

    def receive(self, seconds: float) -> bytes:
        try:
            data = self.incoming.get(timeout=seconds)
        except queue.Empty:
            raise DeadlineError("nothing came") from None
        if data is None or self.is_cut:
            self.incoming.put(None)
            raise TransportError("the wire is cut")
        return data

    def close(self) -> None:
        """Close this end; the other one still reads what was sent before."""
        self.is_cut = True
        self.other.incoming.put(None)
        self.incoming.put(None)


def cable(first: str, second: str, on_frame: OnFrame = as_sent) -> tuple[CableEnd, CableEnd]:
    """The end of `first`, whose peer is `second`, and the other one."""
    here, there = CableEnd(first, second, on_frame), CableEnd(second, first, on_frame)
    here.other, there.other = there, here
    return here, there


class Switchboard:
    """Connects whoever is open, and connects them again when a wire was cut."""

    def __init__(self, on_frame: OnFrame = as_sent) -> None:
        self._on_frame = on_frame
        self._open: dict[str, OnConnection] = {}
        self._changed = threading.Condition()
        self._connected: set[frozenset[str]] = set()
        self.cables: list[CableEnd] = []

    def connector(self, name: str) -> Callable[[OnConnection], "Place"]:
        return lambda on_connection: Place(self, name, on_connection)

    def add(self, name: str, on_connection: OnConnection) -> None:
        with self._changed:
            self._open[name] = on_connection
            others = [other for other in self._open if other != name]
        for other in others:
            threading.Thread(target=self._keep_connected, args=(name, other), daemon=True).start()

    def remove(self, name: str) -> None:
        with self._changed:
            self._open.pop(name, None)

    def connect(self, handlers: Mapping[str, OnConnection | None], on_frame: OnFrame) -> list[threading.Thread]:
        """Both ends of a new connection, at work."""
        first, second = handlers
        ends = dict(zip(handlers, cable(first, second, on_frame), strict=True))
        self.cables.extend(ends.values())
        threads = [threading.Thread(target=handlers[name], args=(end,), daemon=True) for name, end in ends.items()]
        for thread in threads:
            thread.start()
        return threads

    def _keep_connected(self, name: str, other: str) -> None:
        pair = frozenset((name, other))
        with self._changed:
            handlers = {end: self._open.get(end) for end in pair}
            if pair in self._connected:
                return
            self._connected.add(pair)
        try:
            while all(self._open.get(end) is handler and handler is not None for end, handler in handlers.items()):
                for thread in self.connect(handlers, self._on_frame):
                    thread.join()
        finally:
            with self._changed:
                self._connected.discard(pair)
                # One of the two may have come back meanwhile, and found this pair still taken.
                again = all(end in self._open for end in pair)
        if again:
            self._keep_connected(name, other)


class Place:
    """One party's place at the switchboard."""

    def __init__(self, board: Switchboard, name: str, on_connection: OnConnection) -> None:
        self._board, self._name, self._on_connection = board, name, on_connection

    def open(self) -> None:
        self._board.add(self._name, self._on_connection)

    def close(self) -> None:
        self._board.remove(self._name)

    def why_not(self, peer: str) -> None:
        return None


QUICK = Timeouts(first_retry=0.05, longest_retry=0.2, give_way=0.05)


class Addresses:
    """Real connectors on this machine; of two parties, the one that stands later in the plan dials."""

    def __init__(self, names: Sequence[str], folder: Path) -> None:
        self._names, self._ports = list(names), {name: free_port() for name in names}
        self._identities = {name: Identity.create(folder / f"identity of {name}", name) for name in names}

    def connector(self, name: str, largest: int = 1 << 26) -> ConnectorFor:
        """Connections that take and give no longer message than this."""
        peers = [
            Peer(other, self._identities[other].certificate.der, self._address(name, other))
            for other in self._names
            if other != name
        ]
        return lambda on_connection: Connector(
            self._identities[name],
            peers,
            listen=f"127.0.0.1:{self._ports[name]}",
            proxy=None,
            largest_message=largest,
            on_connection=on_connection,
            timeouts=QUICK,
        )

    def _address(self, name: str, other: str) -> str | None:
        is_later = self._names.index(name) > self._names.index(other)
        return f"127.0.0.1:{self._ports[other]}" if is_later else None


def free_port() -> int:
    """One that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def message_in(frame: bytes) -> Message | None:
    """The protocol's message in a frame; None in a greeting, a goodbye or an abort."""
    is_message = frame[:1] == bytes([MESSAGE]) and len(frame) >= FRAME.size + HEADER.size
    return decode(frame[FRAME.size :]) if is_message else None


def number_in(frame: bytes) -> int:
    """The number of a message on its link."""
    _, number, _ = FRAME.unpack_from(frame)
    return int(number)


def in_frame(frame: bytes, message: Message) -> bytes:
    """The frame with another message in it."""
    return frame[: FRAME.size] + message.encode()


# Journals.


class EventJournal(SqliteJournal):
    """A journal whose draws begin from a root that the world gives, and that tells it of events.

    An event is a write before it is done, or a message that was noted as sent and has not left.
    """

    def __init__(self, path: Path, world: "World", name: str) -> None:
        self._world, self._name, self._is_made = world, name, False
        super().__init__(path)
        self._is_made = True

    def begin(self, step: int) -> None:
        super().begin(step)
        self._world.steps[self._name] = step

    def draws(self, root: bytes | None = None, fix: Any = lambda root: b"") -> Draws:
        given = self._world.roots[self._name] if root is None else root
        self._world.draws[self._name] = draws = super().draws(given, fix)
        return draws

    def log_sent(self, peer: str, message: Message, digest: bytes) -> bool:
        is_fresh = super().log_sent(peer, message, digest)
        self._happen(NOTED)
        return is_fresh

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> Any:
        if self._is_made and not statement.startswith("SELECT"):
            self._happen(statement)
        return super()._execute(statement, values)

    def _happen(self, event: str) -> None:
        try:
            self._world.happen(self._name, event)
        except sqlite3.Error as error:
            raise self._failure(error) from None


def no_room() -> sqlite3.Error:
    """What the database says where a disk is full."""
    return sqlite3.OperationalError("database or disk is full")


@dataclass
class Strike:
    """One party's n-th event is its last, once; or the disk has no room for it."""

    victim: str
    number: int
    why: Literal["death", "full disk"] = "death"
    has_struck: bool = False

    def __call__(self, name: str, statement: str) -> None:
        if name != self.victim or self.has_struck:
            return
        self.number -= 1
        if self.number < 0:
            self.has_struck = True
            raise Killed if self.why == "death" else no_room()


# The world.


@dataclass
class Ends:
    """How a session ended."""

    session: Session
    folder: Path
    results: dict[str, Any] = field(default_factory=dict)
    """What each party has, or the error with which it stopped."""
    stops: list[JournalError] = field(default_factory=list)
    """What parties said whose disk was full, before they were started again."""
    events: dict[str, int] = field(default_factory=dict)
    frames: list[tuple[str, str, bytes]] = field(default_factory=list)

    @property
    def errors(self) -> dict[str, BaseException]:
        return {name: end for name, end in self.results.items() if isinstance(end, BaseException)}

    def honest(self) -> "Ends":
        """These ends, where nobody stopped; else the first error."""
        for error in self.errors.values():
            raise error
        return self

    def outcome(self) -> dict[str, Any]:
        """All that must be the same each time: numbers, hashes over streams, ids."""
        return {name: self._outcome_of(name) for name in self.session.names}

    def _outcome_of(self, name: str) -> Any:
        end = self.results[name]
        if isinstance(end, BaseException):
            return end
        if self.session.purpose == "train":
            return part_numbers(self.part(name)), end.parties[0]
        if isinstance(end, Alignment):
            # Who starts again draws another identity for the session, and so another hash of the same order.
            return end.ids, end.size, end.sizes
        return end.tobytes() if isinstance(end, np.ndarray) else end

    def part(self, name: str) -> ModelPart:
        return ModelPart.load(RunFolder(self.folder / name).part_file(name))

    def replayed(self, name: str) -> dict[str, Any]:
        """What this party's auditor says of its evidence."""
        return replay.replay(self.folder / name, self.session.auditors[name])


def part_numbers(part: ModelPart) -> Any:
    """Weights, or shares of them, to compare exactly."""
    return part.shares if part.weights is None else part.weights.tobytes()


def is_right(ends: Ends) -> bool:
    """Whether everybody has what a session gives: exactly, or a prediction's scores to their last bits."""
    session = ends.session
    if session.purpose == "train":
        return ends.outcome() == simulated(session)
    if session.purpose == "align":
        return {end.ids for end in ends.results.values()} == {tuple(sorted(common_ids(session)))}
    label, *others = session.names
    distance = distance_from_scores(session, ends.results[label])
    return distance <= len(session.names) * SCORE_BIT and all(
        ends.results[name].rows == len(ends.results[label]) for name in others
    )


@dataclass
class World:
    """Plays one session."""

    session: Session
    folder: Path
    on_frame: OnFrame = as_sent
    on_event: OnEvent = lambda name, statement: None
    on_start: Callable[[str], None] = lambda name: None
    """Hears who starts, or starts again."""
    over_tls: bool = False
    board: Callable[[OnFrame], Switchboard] = Switchboard
    patience: float = PATIENCE
    asked: int = sum(QUERIES)
    """Rows that a prediction asks for."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """The most rows that these parties answer in predictions."""
    instead: Mapping[str, type[TrainingParty]] = field(default_factory=dict)
    """Parties of a training that run other software than ours."""
    steps: dict[str, int] = field(default_factory=dict)
    """The step at which each party is now,"""
    draws: dict[str, Draws] = field(default_factory=dict)
    """and what it draws from."""

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.roots = roots_of(self.session.plan)
        self._ends = Ends(self.session, self.folder)
        self._place: Switchboard | Addresses = self.board(self._seen)
        if self.over_tls:
            self._place = Addresses(self.session.names, self.folder)

    def run(self) -> Ends:
        """All parties at once, each in a thread, and each started again when it died or its disk was full."""
        self._ends = Ends(self.session, self.folder)
        with self._cast():
            self._ends.results = together({name: partial(self._live, name) for name in self.session.names})
        return self._ends

    @contextmanager
    def _cast(self) -> Iterator[None]:
        """Let other software play some of the parties; one world at a time can do so."""
        if not self.instead:
            yield
            return

        def cast(participant: Participant, table: Table, progress: AfterStep | None = None) -> Any:
            return self.instead.get(participant.name, SharesParty)(participant, table, progress)

        with CASTING, pytest.MonkeyPatch.context() as patch:
            patch.setattr(training, "SharesParty", cast)
            yield

    def start(
        self, name: str, *, dies_after: int = 0, signature: PlanSignature | None = None, **changes: Any
    ) -> "Future[Any]":
        """One party alone, with these fields of its session; with `dies_after`, it dies once that pass is finished.

        What it returns or raises is there when its journal is closed.
        """
        if "plan" in changes:
            changes["topic"] = topic_of(changes["plan"], self.session.purpose)
        place = replace(self.place(name), **changes)

        def die(batch: Batch, steps: int) -> None:
            if batch.step == dies_after:
                raise Killed

        def work() -> Any:
            with closing(EventJournal(place.folder / JOURNAL, self, name)) as journal:
                return self._play(place, journal, die, signature)

        return later(work)

    def happen(self, name: str, statement: str) -> None:
        """One event of this party."""
        self._ends.events[name] = self._ends.events.get(name, 0) + 1
        self.on_event(name, statement)

    def _seen(self, sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        frames = list(self.on_frame(sender, receiver, frame))
        self._ends.frames.extend((sender, receiver, each) for each in frames)
        return frames

    def _live(self, name: str) -> Any:
        while True:
            self.on_start(name)
            place = self.place(name)
            if self.session.purpose != "train":
                # Nothing resumes it: it begins with a new journal, as `align` and `predict` give it.
                (place.folder / JOURNAL).unlink(missing_ok=True)
            try:
                with closing(EventJournal(place.folder / JOURNAL, self, name)) as journal:
                    return self._play(place, journal)
            except Killed:
                if self.session.purpose != "train":
                    raise
            except JournalError as error:
                if "disk is full" not in str(error):
                    raise
                self._ends.stops.append(error)

    def place(self, name: str) -> sessions.Session:
        """This party's place in the session, in a folder that is there."""
        folder, signers, plan = self.folder / name, signers_of(tuple(self.session.names)), self.session.agreed
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        RunFolder(folder).plan_file.write_text(plan.to_toml())
        return sessions.Session(
            name=name,
            topic=topic_of(plan, self.session.purpose),
            peers=peers_of(plan, name),
            folder=folder,
            connector_for=self._place.connector(name),
            plan=plan,
            table=None if self.session.purpose == "align" else self.session.tables[name],
            patience=self.patience,
            lingering=LINGERING,
            signer=signers[name],
            evidence=self.keeper(name) if self.session.keeps_evidence else None,
            budget=RowBudget(SpendingLedger(folder / "spent.db")) if plan.noise == "rows" else None,
        )

    def keeper(self, name: str) -> EvidenceKeeper:
        """Where and for whom this party keeps evidence."""
        signers, auditor = signers_of(tuple(self.session.names)), self.session.auditors[name].public
        certificates = {other: signer.identity.certificate for other, signer in signers.items()}
        place = self.folder / name / EVIDENCE
        return EvidenceKeeper(place, self.session.purpose, name, self.session.agreed, auditor, certificates)

    def _play(
        self,
        place: sessions.Session,
        journal: SqliteJournal,
        progress: AfterStep | None = None,
        signature: PlanSignature | None = None,
    ) -> Any:
        name, session = place.name, self.session
        if session.purpose == "train":
            return training.take_part(place, journal, progress, signature=signature, root=self.roots[name])
        if session.purpose == "align":
            # Several chunks, so that there is a middle to die in.
            go_on = None if session.at_least is None else lambda size: size >= (session.at_least or 0)
            ids = PackedIds.of(session.tables[name].ids)
            return intersect(place, ids, journal, go_on=go_on, jobs=1, chunk=4)
        part = (session.parts or in_memory(session).model.parts)[name]
        if name == session.plan.label_party.name:
            return prediction.ask(place, journal, part, range(self.asked))
        limit = RowLimit(self.limits[name]) if name in self.limits else None
        return prediction.answer(place, journal, part, AnsweredRows(place.folder / ANSWERED), limit)


def later(work: Callable[[], Result]) -> "Future[Result]":
    """What it returns or raises, in a thread of its own."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def failure(future: "Future[Any]") -> BaseException:
    """The error with which it ended; a TimeoutError here means that it hangs."""
    error = future.exception(PATIENCE)
    assert error is not None
    return error


def together(starts: Mapping[str, Callable[[], Result]]) -> dict[str, Any]:
    """What each returned or raised, each in a thread; whoever still works after all patience hangs."""
    ends: dict[str, Any] = {}

    def work(name: str) -> None:
        try:
            ends[name] = starts[name]()
        except BaseException as error:
            ends[name] = error

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * PATIENCE)
    return {name: ends.get(name, TimeoutError(f"{name} hangs")) for name in starts}


def run_parties(starts: Mapping[str, Callable[[], Result]]) -> dict[str, Result]:
    """What each returned, all of them at once; the first error is raised."""
    ends = together(starts)
    for end in ends.values():
        if isinstance(end, BaseException):
            raise end
    return ends
