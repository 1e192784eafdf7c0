"""What a party keeps so that its auditor can compute its messages again: RUN/evidence/.

    head.json       what the files belong to, and the public half of each file's key; anybody can read it
    root            of all draws
    columns         the table as it was read
    brought         what the session continues from: the model part, the rows asked for, the rows answered before
    messages-N      of the Nth start: every message received, the digest of every message sent, every signature
    rows-N          of the Nth start: the numbers that it calculated with
    encoder         the model part that training made

Everything but the head is sealed for the auditor. docs/auditors.md says what it shows and what it gives away.
"""

import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from plumbob import __version__
from plumbob.counting import size
from plumbob.data import ColumnChoices, Table
from plumbob.data.tables import Column
from plumbob.errors import DataError, SettingsError
from plumbob.net import Data
from plumbob.net.greeting import Purpose
from plumbob.net.identity import Certificate, write_over
from plumbob.party.home import Home
from plumbob.party.sealing import Auditor, SealedFile, read_sealed
from plumbob.plan import Plan
from plumbob.protocol.account import FirstCommitment, Numbers, hash_fields
from plumbob.protocol.channel import digest_of
from plumbob.protocol.handshake import Participant
from plumbob.protocol.messages import HEADER, Kind, Message, decode_header
from plumbob.protocol.outcome import account_record
from plumbob.protocol.schedules import training_schedule
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.protocol.widths import columns_of

FORMAT = 1
FOLDER, HEAD = "evidence", "head.json"
SESSIONS = "predictions"  # The folder of a run that holds the evidence of its model's use.
ROOM = 4 << 20  # Bytes besides messages and rows.
BYTES_OF_A_CELL = 8 + 4 + 4  # As it was read, and as an integer to train with and to be scored.
RECORD = struct.Struct("<cHQ")  # What it is, and the lengths of the peer's name and of the data.
RECEIVED, SENT, SAID, DECIDED = b"R", b"S", b"O", b"D"
SAID_IN_FULL = (Kind.SIGNATURE, Kind.HELLO, Kind.NUMBERS, Kind.SEAL)
"""Own messages that show nothing, and that the signatures are checked with before any secret is derived."""


class Head(msgspec.Struct, forbid_unknown_fields=True):
    """The one file that anybody can read."""

    format: int
    version: str
    purpose: str
    party: str
    plan: str
    run: str
    """This party's first commitment: everything here belongs to it."""
    items: dict[str, str]
    auditor: str
    certificates: dict[str, str]
    keys: dict[str, str]
    """By file, the public half of its key."""
    account: dict[str, Any] = {}
    """Once every last signature is there: session, commitments and signatures, and the hashes of all streams."""

    @property
    def is_settled(self) -> bool:
        return bool(self.account)

    @property
    def run_bytes(self) -> bytes:
        """Bound to every sealed file: a head in another party's name, or of another plan, opens nothing."""
        named = (self.party, self.plan, self.purpose, self.run)
        return hash_fields(b"evidence", *(one.encode() for one in named))


def read_head(file: Path) -> Head:
    """DataError where it is not what the party committed to."""
    try:
        head = msgspec.json.decode(file.read_bytes(), type=Head)
        if head.format != FORMAT:
            raise DataError(
                f"{file}: expected evidence of format {FORMAT}, got {head.format}; use version {head.version}"
            )
        items = FirstCommitment({name: bytes.fromhex(item) for name, item in head.items.items()})
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: expected the head of a run's evidence; it is missing or damaged") from error
    if items.hash().hex() != head.run:
        raise DataError(f"{file}: its items are not what {head.party} committed to before the run")
    return head


@dataclass(frozen=True)
class Keeping:
    """How a party keeps evidence of one session: where, for whom, and who took part."""

    folder: Path
    purpose: str
    party: str
    plan: Plan
    auditor: Auditor
    certificates: Mapping[str, Certificate]

    def begin(self, root: bytes, commitment: FirstCommitment, table: Table | None, brought: bytes) -> None:
        """Before the first message: the root is here and nowhere else."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True)
        items = {name: item.hex() for name, item in commitment.items.items()}
        certificates = {name: one.der.hex() for name, one in self.certificates.items()}
        head = Head(
            FORMAT,
            __version__,
            self.purpose,
            self.party,
            self.plan.hash(),
            commitment.hash().hex(),
            items,
            self.auditor.fingerprint,
            certificates,
            {},
        )
        self._save(head)
        self.seal("root", root)
        self.seal("brought", brought)
        if table is not None:
            self.seal("columns", *packed_table(table))

    def seal(self, name: str, *pieces: bytes) -> None:
        """Seals one whole file for the auditor."""
        file = self.open_file(name)
        file.write(*pieces)
        file.close()

    def open_file(self, name: str) -> SealedFile:
        """A new one, which the head names before anything is in it."""
        head = read_head(self.folder / HEAD)
        file = SealedFile(self.folder / name, self.auditor, head.run_bytes)
        head.keys[name] = file.public.hex()
        self._save(head)
        return file

    def settle(self, participant: Participant) -> None:
        """Every last signature is there."""
        head = read_head(self.folder / HEAD)
        streams = {peer: channel.stream_hashes for peer, channel in participant.channels.items()}
        head.account = {
            **account_record(participant),
            "sent": {peer: sent for peer, (sent, _) in streams.items()},
            "received": {peer: received for peer, (_, received) in streams.items()},
        }
        self._save(head)

    def _save(self, head: Head) -> None:
        write_over(self.folder / HEAD, msgspec.json.format(msgspec.json.encode(head), indent=1))

    def witness(self) -> "Witness":
        """Of a start that begins now."""
        return Witness(self)

    def close(self, journal: SqliteJournal, participant: Participant, encoder: bytes | None = None) -> None:
        """The session is over: nothing more is written; a training leaves the model part that it made."""
        if not isinstance(journal.witness, Witness):
            return
        if encoder is not None:
            self.seal("encoder", encoder)
        journal.witness.close(participant)
        journal.witness = None

    @property
    def starts(self) -> int:
        return sum(name.startswith("messages-") for name in read_head(self.folder / HEAD).keys)


class Witness:
    """Writes down, for one start of a session, what its journal sees."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping, self._start = keeping, keeping.starts + 1
        self._messages = keeping.open_file(f"messages-{self._start}")
        self._rows: SealedFile | None = None

    def received(self, peer: str, data: Data) -> None:
        self._add(RECEIVED, peer, data)

    def sent(self, peer: str, message: Message, digest: bytes) -> None:
        if message.kind in SAID_IN_FULL:
            self._add(SAID, peer, message.encode())
        else:
            self._add(SENT, peer, message.header, digest)

    def decided(self, value: bytes) -> None:
        self._add(DECIDED, "", value)

    def settled(self, numbers: Numbers) -> None:
        if self._rows is None:
            self._rows = self._keeping.open_file(f"rows-{self._start}")
        for piece in packed_numbers(numbers):
            self._rows.write(piece)
        self._rows.flush()

    def flush(self) -> None:
        self._messages.flush()

    def close(self, participant: Participant) -> None:
        """Ends the evidence, when the session is over."""
        self._messages.close()
        if self._rows is not None:
            self._rows.close()
        self._keeping.settle(participant)

    def abandon(self) -> None:
        """The session broke off; a later start writes files of its own."""
        self._messages.abandon()
        if self._rows is not None:
            self._rows.abandon()

    def _add(self, what: bytes, peer: str, *pieces: Data) -> None:
        name = peer.encode()
        self._messages.write(RECORD.pack(what, len(name), sum(map(len, pieces))), name, *pieces)


# What the files hold.


def packed_numbers(numbers: Numbers) -> Iterator[bytes | memoryview]:
    """A header, then each array as it lies in memory."""
    arrays = {name: np.ascontiguousarray(values) for name, values in numbers.items()}
    head = msgspec.msgpack.encode([(name, one.dtype.str, one.shape) for name, one in arrays.items()])
    yield struct.pack("<Q", len(head)) + head
    for one in arrays.values():
        yield one.tobytes()


def unpacked_numbers(data: bytes) -> Iterator[Numbers]:
    """All that were settled, in their order."""
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        at += 8
        listed = msgspec.msgpack.decode(data[at : at + size], type=list[tuple[str, str, list[int]]])
        at += size
        numbers = {}
        for name, kind, shape in listed:
            count = int(np.prod(shape, dtype=np.int64))
            numbers[name] = np.frombuffer(data, kind, count, at).reshape(shape)
            at += numbers[name].nbytes
        yield numbers


class _StoredColumn(msgspec.Struct):
    name: str
    texts: list[str | None] | None
    numbers: bytes
    is_stepped: bool
    is_monotone: bool
    stated: tuple[float, ...]
    meaning: str


class _StoredTable(msgspec.Struct):
    ids: tuple[str, ...]
    columns: list[_StoredColumn]
    labels: bytes | None
    classes: tuple[Any, Any] | None
    choices: dict[str, Any]
    held_out: bytes | None
    weights: bytes | None = None


def packed_table(table: Table) -> Iterable[bytes]:
    """Cells as they were read, gaps included."""
    columns = [
        _StoredColumn(
            column.name,
            column.texts if column.is_text else None,
            b"" if column.is_text else np.asarray(column.values, dtype=np.float64).tobytes(),
            column.is_stepped,
            column.is_monotone,
            tuple(column.stated),
            column.meaning,
        )
        for column in table.columns
    ]
    labels = None if table.labels is None else np.asarray(table.labels, dtype=np.int64).tobytes()
    held_out = None if table.held_out is None else np.asarray(table.held_out, dtype=np.uint8).tobytes()
    classes = None if table.classes is None else tuple(table.classes)
    weights = None if table.weights is None else np.asarray(table.weights, dtype=np.float64).tobytes()
    stored = _StoredTable(table.ids, columns, labels, classes, asdict(table.choices), held_out, weights)
    yield msgspec.msgpack.encode([str(table.labels.dtype) if table.labels is not None else "", stored])


def unpacked_table(data: bytes) -> Table:
    """The inverse of `packed_table`."""
    kind, stored = msgspec.msgpack.decode(data, type=tuple[str, _StoredTable])
    columns = tuple(
        Column(
            one.name,
            np.array(one.texts, dtype=object) if one.texts is not None else np.frombuffer(one.numbers),
            one.is_stepped,
            one.is_monotone,
            one.stated,
            one.meaning,
        )
        for one in stored.columns
    )
    labels = None if stored.labels is None else np.frombuffer(stored.labels, dtype=np.int64).astype(kind)
    held_out = None if stored.held_out is None else np.frombuffer(stored.held_out, dtype=np.uint8).astype(bool)
    choices = msgspec.convert(stored.choices, type=ColumnChoices)
    weights = None if stored.weights is None else np.frombuffer(stored.weights)
    return Table(stored.ids, columns, labels, stored.classes, choices=choices, held_out=held_out, weights=weights)


@dataclass(frozen=True, repr=False)
class KeptMessage:
    """One message, sent or received; of most that were sent there is the header and the digest only."""

    kind: Kind
    step: int
    digest: bytes
    data: bytes = b""


@dataclass(repr=False)
class KeptStream:
    """All messages in one direction with one peer, over all starts, each once and in order."""

    by_place: dict[tuple[int, int, int], KeptMessage] = field(default_factory=dict)

    def messages(self) -> list[KeptMessage]:
        return [self.by_place[place] for place in sorted(self.by_place)]


@dataclass(repr=False)
class OpenedEvidence:
    """The evidence after the auditor has opened it."""

    folder: Path
    head: Head
    keys: Mapping[str, bytes]
    received: dict[str, KeptStream] = field(default_factory=dict)
    sent: dict[str, KeptStream] = field(default_factory=dict)
    decisions: list[bytes] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, keys: Mapping[str, bytes]) -> "OpenedEvidence":
        """Messages alone: nothing from which a secret could be derived."""
        evidence = cls(folder, read_head(folder / HEAD), keys)
        for start in range(1, evidence.starts + 1):
            evidence._read_start(start)
        return evidence

    @property
    def starts(self) -> int:
        return sum(name.startswith("messages-") for name in self.head.keys)

    def read(self, name: str, *, may_end_early: bool = False) -> bytes:
        if name not in self.keys:
            raise DataError(f"{name}: the key file has no key for this part of the evidence; open its head.json again")
        return read_sealed(self.folder / name, self.keys[name], self.head.run_bytes, may_end_early=may_end_early)

    def table(self) -> Table | None:
        return unpacked_table(self.read("columns")) if "columns" in self.head.keys else None

    def numbers(self) -> list[Numbers]:
        """As the last start settled them; a start repeats what those before it did."""
        names = [f"rows-{start}" for start in range(1, self.starts + 1) if f"rows-{start}" in self.head.keys]
        found = [list(unpacked_numbers(self.read(name, may_end_early=True))) for name in names]
        return max(found, key=len, default=[])

    def _read_start(self, start: int) -> None:
        is_last = start == self.starts and self.head.is_settled
        data, at = self.read(f"messages-{start}", may_end_early=not is_last), 0
        seals: dict[tuple[str, bool], list[int]] = {}
        decisions = []
        while at + RECORD.size <= len(data):
            what, name_size, size = RECORD.unpack_from(data, at)
            at += RECORD.size
            if at + name_size + size > len(data):
                # The process died while it wrote this one, and never used it: the next start has it again.
                break
            peer, body = data[at : at + name_size].decode(), data[at + name_size : at + name_size + size]
            at += name_size + size
            if what == DECIDED:
                decisions.append(body)
                continue
            streams = self.received if what == RECEIVED else self.sent
            self._place(
                streams.setdefault(peer, KeptStream()), what, body, seals.setdefault((peer, what == RECEIVED), [])
            )
        self.decisions = max(self.decisions, decisions, key=len)

    def _place(self, stream: KeptStream, what: bytes, body: bytes, seals: list[int]) -> None:
        if what == SENT:
            _, _, kind, step, sequence, _ = HEADER.unpack_from(body)
            message = KeptMessage(Kind(kind), step, body[HEADER.size :])
        else:
            kind, step, sequence = decode_header(body)
            message = KeptMessage(kind, step, digest_of(body), body)
        if message.kind is Kind.SEAL:
            # Seals do not count: several may stand before the same message.
            seals.append(sequence)
            stream.by_place[sequence, 0, seals.count(sequence)] = message
        else:
            stream.by_place[sequence, 1, 0] = message


def evidence_bytes(plan: Plan, name: str, rows: int) -> int:
    """About how much one party keeps of a training: what it receives, its columns, and its numbers."""
    schedule = training_schedule(plan, rows)
    received = sum(HEADER.size + due.size for due in schedule.messages() if due.receiver == name)
    columns = columns_of(plan, name) if plan.party(name).role != "arbiter" else 0
    return ROOM + received + rows * columns * BYTES_OF_A_CELL


def refuse_full_disk(folder: Path, needed: int) -> None:
    """Before a run begins, which would otherwise end in its middle."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SettingsError(
            f"{folder}: evidence of this run needs about {size(needed)}, and the disk has only "
            f'{size(free)} free; make room, or agree on a plan with evidence = "none"'
        )


def auditor_for(home: Home, plan: Plan) -> Auditor:
    """Whom this party's evidence is sealed for; SettingsError where the plan names another one."""
    name, auditor = home.identity.name, home.auditor
    if dict(plan.auditors).get(name) != auditor.fingerprint:
        raise SettingsError(
            f"{home.settings.evidence_key}: its fingerprint is {auditor.fingerprint}, and the plan names another "
            f"auditor for {name}; use that auditor's file, or agree on a plan with this one"
        )
    return auditor


def keeping_at(home: Home, plan: Plan, purpose: Purpose, folder: Path, rows: int) -> Keeping | None:
    """How evidence of a session is kept, if the plan says so; SettingsError where it cannot be."""
    if not plan.keeps_evidence:
        return None
    name, auditor = home.identity.name, auditor_for(home, plan)
    refuse_full_disk(folder, evidence_bytes(plan, name, rows))
    certificates = {party.name: home.pinned[party.name] for party in plan.parties if party.name != name}
    certificates[name] = home.identity.certificate
    return Keeping(folder / FOLDER, purpose, name, plan, auditor, certificates)
