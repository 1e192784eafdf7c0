"""What a party keeps so that its auditor can compute its messages again: RUN/evidence/.

    head.json       what the files belong to, and their names; anybody can read it
    root            of all draws
    columns         the table as it was read; in prediction only once a row was asked for
    brought         what the session continues from: the model part, the rows asked for, the rows answered before
    messages-N      of the Nth start: every message received, the digest of every message sent, every signature
    rows-N          of the Nth start: the numbers that it calculated with
    encoder         the model part that training made

Everything but the head is sealed for the auditor. docs/auditors.md says what it shows and what it gives away.
"""

import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from plumbob.counting import size
from plumbob.data import ColumnChoices, Table
from plumbob.data.encoder import FittedColumns
from plumbob.data.tables import Column
from plumbob.errors import DataError, SettingsError
from plumbob.net import Data
from plumbob.net.greeting import Purpose
from plumbob.net.identity import Certificate, write_over
from plumbob.party.home import Home
from plumbob.party.sealing import Auditor, SealedFile
from plumbob.plan import Plan
from plumbob.protocol.account import FirstCommitment, Numbers, hash_fields
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.messages import Kind, Message, decode_header
from plumbob.protocol.openings import columns_of
from plumbob.protocol.outcome import account_record
from plumbob.protocol.participant import Participant
from plumbob.protocol.shares.sizes import total_bytes
from plumbob.run_folder import RunFolder
from plumbob.version import __version__

FORMAT = 3
FOLDER, HEAD, COLUMNS = "evidence", "head.json", "columns"
SESSIONS = "predictions"  # The folder of a run that holds the evidence of its model's use.
ROOM = 4 << 20  # Bytes besides messages and rows.
BYTES_OF_A_CELL = 8 + 4 + 4  # As it was read, and as an integer to train with and to be scored.
RECORD = struct.Struct("<cH")  # Before a message: what it is, and the length of the peer's name, which follows.
LENGTH = struct.Struct("<Q")
RECEIVED, SENT, OWN, DECIDED = b"R", b"S", b"O", b"D"
OWN_IN_FULL = (Kind.SIGNATURE, Kind.HELLO, Kind.NUMBERS, Kind.SEAL)
"""Own messages that are kept in full: they show nothing, and signatures are checked with them before any secret."""
KINDS = {"labels": "|i1"}  # Of a table's numbers, besides its columns and weights.
Content = TypeVar("Content")


class Head(msgspec.Struct, forbid_unknown_fields=True):
    """The one file of the evidence that anybody can read."""

    format: int
    version: str
    purpose: str
    party: str
    plan: str
    run: str
    """This party's first commitment, to which everything here belongs."""
    items: dict[str, str]
    auditor: str
    certificates: dict[str, str]
    files: list[str]
    """The names of the sealed files, each in the head before anything is in it."""
    account: dict[str, str | dict[str, str]] = {}
    """Once every last signature is there: session, commitments, and signatures with the hashes of all streams."""

    @property
    def is_settled(self) -> bool:
        return bool(self.account)

    @property
    def starts(self) -> int:
        return sum(name.startswith("messages-") for name in self.files)

    def parsed_certificates(self) -> dict[str, Certificate]:
        return {name: Certificate.parse(bytes.fromhex(der)) for name, der in self.certificates.items()}

    @property
    def run_bytes(self) -> bytes:
        """Bytes bound to every sealed file: a head in another party's name, or of another plan, opens nothing."""
        named = (self.party, self.plan, self.purpose, self.run)
        return hash_fields(b"evidence", *(name.encode() for name in named))


def read_head(file: Path) -> Head:
    """Read a head; DataError where it is not what the party committed to."""
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
class EvidenceKeeper:
    """How a party keeps evidence of one session: where, for whom, and who took part."""

    folder: Path
    purpose: str
    party: str
    plan: Plan
    auditor: Auditor
    certificates: Mapping[str, Certificate]

    def begin(self, root: bytes, commitment: FirstCommitment, table: Table | None, brought: bytes) -> None:
        """Start the evidence before the first message: the root is kept here and nowhere else."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, parents=True)
        items = {name: item.hex() for name, item in commitment.items.items()}
        whose = (FORMAT, __version__, self.purpose, self.party, self.plan.hash(), commitment.hash().hex())
        self._save(Head(*whose, items, self.auditor.fingerprint, self._certificates, files=[]))
        self.seal("root", root)
        self.seal("brought", brought)
        if table is not None and self.purpose == "train":
            self.keep_table(table)

    def keep_table(self, table: Table) -> None:
        """Keep the table as it was read. In prediction this waits for a query: sessions without one cost no disk."""
        self.seal(COLUMNS, *pack_table(table))

    def seal(self, name: str, *pieces: Data) -> None:
        """Seal one whole file for the auditor."""
        file = self.open_file(name)
        file.write(*pieces)
        file.close()

    def open_file(self, name: str) -> SealedFile:
        """A new sealed file, which the head names before anything is in it."""
        head = read_head(self.folder / HEAD)
        file = SealedFile(self.folder / name, self.auditor, head.run_bytes)
        if name not in head.files:
            head.files.append(name)
            self._save(head)
        return file

    def settle(self, participant: Participant) -> None:
        """Write the account into the head, once every last signature is there."""
        head = read_head(self.folder / HEAD)
        head.account = account_record(participant)
        self._save(head)

    @property
    def _certificates(self) -> dict[str, str]:
        return {name: one.der.hex() for name, one in self.certificates.items()}

    def _save(self, head: Head) -> None:
        write_over(self.folder / HEAD, msgspec.json.format(msgspec.json.encode(head), indent=1))

    def witness(self, table: Table | None = None) -> "Witness":
        """The witness of a start that begins now; in prediction the table is kept when the first query passes."""
        head = read_head(self.folder / HEAD)
        # Renewed between two starts, for the same key, they are those that the peers have pinned when the run ends.
        head.certificates = self._certificates
        self._save(head)
        return Witness(self, table if self.purpose == "predict" else None)

    def close(self, journal: SqliteJournal, participant: Participant, encoder: bytes | None = None) -> None:
        """Close the evidence when the session is over; training adds the model part that it made."""
        if not isinstance(journal.witness, Witness):
            return
        if encoder is not None:
            self.seal("encoder", encoder)
        journal.witness.close(participant)
        journal.witness = None


class Witness:
    """Writes down, for one start of a session, what its journal sees."""

    def __init__(self, keeper: EvidenceKeeper, waiting: Table | None = None) -> None:
        self._waiting = waiting
        self._keeper, self._start = keeper, read_head(keeper.folder / HEAD).starts + 1
        self._messages = keeper.open_file(f"messages-{self._start}")
        self._rows: SealedFile | None = None

    def received(self, peer: str, data: Data) -> None:
        self._begin_with(decode_header(data)[0])
        self._add(RECEIVED, peer, data)

    def sent(self, peer: str, message: Message, digest: bytes) -> None:
        self._begin_with(message.kind)
        if message.kind in OWN_IN_FULL:
            self._add(OWN, peer, message.encode())
        else:
            self._add(SENT, peer, message.header, digest)

    def _begin_with(self, kind: int) -> None:
        if kind == Kind.QUERY_ROWS and self._waiting is not None:
            self._keeper.keep_table(self._waiting)
            self._waiting = None

    def decided(self, value: bytes) -> None:
        self._add(DECIDED, "", value)

    def settled(self, numbers: Numbers) -> None:
        if self._rows is None:
            self._rows = self._keeper.open_file(f"rows-{self._start}")
        self._rows.write(*pack_numbers(numbers))
        self._rows.flush()

    def flush(self) -> None:
        self._messages.flush()

    def close(self, participant: Participant) -> None:
        """End this start's files, when the session is over."""
        self._messages.close()
        if self._rows is not None:
            self._rows.close()
        self._keeper.settle(participant)

    def abandon(self) -> None:
        """Leave this start's files unfinished; a later start writes its own."""
        self._messages.abandon()
        if self._rows is not None:
            self._rows.abandon()

    def _add(self, what: bytes, peer: str, *pieces: Data) -> None:
        name = peer.encode()
        self._messages.write(RECORD.pack(what, len(name)), name, *pieces)


# What the files hold.


def pack_numbers(numbers: Numbers) -> Iterator[bytes | memoryview]:
    """Numbers as bytes: a header, then each array as it lies in memory."""
    arrays = {name: np.ascontiguousarray(values) for name, values in numbers.items()}
    yield _frame([(name, values.dtype.str, values.shape) for name, values in arrays.items()])
    for values in arrays.values():
        yield values.reshape(-1).view(np.uint8).data


def unpack_numbers(data: memoryview) -> Numbers:
    """The inverse of `pack_numbers`."""
    listed, data = _unframe(data, list[tuple[str, str, list[int]]])
    numbers = {}
    for name, kind, shape in listed:
        values = np.frombuffer(data, kind, int(np.prod(shape, dtype=np.int64))).reshape(shape)
        numbers[name], data = values, data[values.nbytes :]
    if data:
        raise DataError("evidence: something stands behind the numbers that a party calculated with")
    return numbers


class _StoredColumn(msgspec.Struct):
    name: str
    meaning: str
    texts: list[str | None] | None
    """None for numbers, which stand behind the table."""


class _StoredTable(msgspec.Struct):
    ids: tuple[str, ...]
    columns: list[_StoredColumn]
    classes: tuple[Any, Any] | None
    choices: ColumnChoices
    fitted: FittedColumns | None


def pack_table(table: Table) -> Iterator[bytes | memoryview]:
    """Cells as they were read, gaps included, and how many slots the party's whole file gave their columns."""
    columns = [_StoredColumn(each.name, each.meaning, each.texts if each.is_text else None) for each in table.columns]
    yield _frame(_StoredTable(table.ids, columns, table.classes, table.choices, table.fitted))
    arrays = {str(place): column.values for place, column in enumerate(table.columns) if not column.is_text}
    others = {name: getattr(table, name) for name in ("labels", "weights")}
    yield from pack_numbers(arrays | {name: values for name, values in others.items() if values is not None})


def unpack_table(data: memoryview) -> Table:
    """The inverse of `pack_table`."""
    stored, data = _unframe(data, _StoredTable)
    arrays = unpack_numbers(data)
    for name, values in arrays.items():
        if values.shape != (len(stored.ids),) or values.dtype.str != KINDS.get(name, "<f8"):
            # A table's digest is over bytes: as other numbers they would be another table with the same one.
            raise DataError(f"evidence: column {name} holds other numbers than a table's")
    if any(each.texts is not None and len(each.texts) != len(stored.ids) for each in stored.columns):
        raise DataError("evidence: a column of texts has another length than the table")
    columns = tuple(
        Column(
            each.name,
            arrays[str(place)] if each.texts is None else np.array(each.texts, dtype=object),
            each.meaning,
        )
        for place, each in enumerate(stored.columns)
    )
    return Table(
        stored.ids,
        columns,
        arrays.get("labels"),
        stored.classes,
        stored.fitted,
        stored.choices,
        weights=arrays.get("weights"),
    )


def _frame(content: object) -> bytes:
    data = msgspec.msgpack.encode(content)
    return LENGTH.pack(len(data)) + data


def _unframe(data: memoryview, kind: type[Content]) -> tuple[Content, memoryview]:
    """What was framed, and everything behind it."""
    end = LENGTH.size + LENGTH.unpack_from(data)[0]
    return msgspec.msgpack.decode(data[LENGTH.size : end], type=kind), data[end:]


def evidence_bytes(plan: Plan, name: str, rows: int) -> int:
    """About how many bytes one party keeps of a training: what it receives, its columns, and its numbers."""
    received = total_bytes(plan, rows - plan.held_out(rows), receiver=name)
    return ROOM + received + rows * columns_of(plan, name) * BYTES_OF_A_CELL


def refuse_full_disk(folder: Path, needed: int) -> None:
    """Refuse a run that would fill the disk, before it begins."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SettingsError(
            f"{folder}: evidence of this run needs about {size(needed)}, and the disk has only "
            f'{size(free)} free; make room, or agree on a plan with evidence = "none"'
        )


def auditor_for(home: Home, plan: Plan) -> Auditor:
    """The auditor that this party's evidence is sealed for; SettingsError where the plan names another one."""
    name, auditor = home.identity.name, home.auditor
    if dict(plan.auditors).get(name) != auditor.fingerprint:
        raise SettingsError(
            f"{home.settings.evidence_key}: its fingerprint is {auditor.fingerprint}, and the plan names another "
            f"auditor for {name}; use that auditor's file, or agree on a plan with this one"
        )
    return auditor


def keeper_at(home: Home, plan: Plan, purpose: Purpose, folder: Path, rows: int) -> EvidenceKeeper | None:
    """How a session's evidence is kept, if the plan names this party's auditor; SettingsError where it cannot be."""
    name = home.identity.name
    if not plan.has_evidence_of(name):
        return None
    auditor = auditor_for(home, plan)
    refuse_full_disk(folder, evidence_bytes(plan, name, rows))
    certificates = {party.name: home.pinned[party.name] for party in plan.parties if party.name != name}
    certificates[name] = home.identity.certificate
    return EvidenceKeeper(folder / FOLDER, purpose, name, plan, auditor, certificates)


@contextmanager
def evidence_of_a_prediction(home: Home, plan: Plan, run: RunFolder, rows: int) -> Iterator[EvidenceKeeper | None]:
    """How evidence of a session is kept, beside its model's run; nothing stays if nobody asked for a row."""
    if not plan.has_evidence_of(home.identity.name):
        yield None
        return
    sessions = run.path / SESSIONS
    sessions.mkdir(mode=0o700, exist_ok=True)
    place = RunFolder(sessions / str(1 + len(list(sessions.iterdir()))))
    place.path.mkdir(mode=0o700)
    place.plan_file.write_text(plan.to_toml(), encoding="utf-8")
    try:
        yield keeper_at(home, plan, "predict", place.path, rows)
    finally:
        if not (place.path / FOLDER / COLUMNS).exists():
            shutil.rmtree(place.path, ignore_errors=True)
            with suppress(OSError):
                # The folder of all sessions, if this was the only one.
                sessions.rmdir()
