"""A journal on disk: one SQLite file for each conversation, and long messages in files beside it."""

import fcntl
import os
import sqlite3
import struct
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from plumbob.crypto.draws import LINK_BYTES, Draws, FirstWords, new_root
from plumbob.errors import ROOM_ADVICE, JournalError, LocalProtocolError
from plumbob.net import Data
from plumbob.net.reliable import Memory
from plumbob.protocol.account import NOTHING_FIXED, Numbers
from plumbob.protocol.bodies import LONG, Bodies, Place
from plumbob.protocol.journal import Journal, Resumed, State
from plumbob.protocol.messages import Message

FORMAT = 4
REMEMBERED = 64  # Digests of messages from each peer, to tell a repeated message from a changed one.
SETUP = 0
KEYS = -1  # The log between the set-up and the first step.
SECRET = ("sent", "received", "results", "handed_on")  # Tables,
SECRET_FACTS = ("state", "keys", "key", "first words", "leaf", "link")  # and facts.
Found = TypeVar("Found")

TABLES = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE sent (
    peer TEXT, number INTEGER, step INTEGER NOT NULL, digest BLOB NOT NULL, data BLOB, place BLOB,
    PRIMARY KEY (peer, number));
CREATE TABLE received (
    peer TEXT, number INTEGER, step INTEGER NOT NULL, digest BLOB NOT NULL, data BLOB, place BLOB,
    PRIMARY KEY (peer, number));
CREATE TABLE results (step INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE handed_on (step INTEGER PRIMARY KEY, data BLOB NOT NULL);
INSERT INTO facts VALUES ('format', CAST('{FORMAT}' AS BLOB));
"""  # noqa: S608  # The number is the one above.


@dataclass(frozen=True, repr=False)
class JournalContents:
    """What a journal still holds, readable while another process has it open."""

    has_secrets: bool
    facts: Mapping[str, bytes]


class JournalWitness(Protocol):
    """Keeps, for an auditor, what passes through a journal."""

    def sent(self, peer: str, message: Message, digest: bytes) -> None: ...

    def received(self, peer: str, data: Data) -> None: ...

    def settled(self, numbers: Numbers) -> None: ...

    def decided(self, value: bytes) -> None: ...

    def flush(self) -> None: ...

    def abandon(self) -> None: ...


class SqliteJournal(Journal):
    """A file of one party and one conversation, open in one process at a time.

    A write that fails, a full disk for example, is a JournalError: nothing has left,
    and the next start resumes from what is on the disk.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._step = SETUP
        # The log of the step, as far as it goes: numbers and digests of the messages sent, and those received.
        self._sent_before: defaultdict[str, deque[tuple[int, bytes]]] = defaultdict(deque)
        self._received_before: defaultdict[str, deque[bytes]] = defaultdict(deque)
        self._sent: dict[str, int] = {}
        self._received: dict[str, int] = {}
        self._stored: dict[str, int] = {}
        self._last_digest: dict[str, tuple[int, bytes]] = {}
        self._confirmed: dict[str, int] = {}
        self._unwritten: dict[str, dict[int, Message]] = {}
        """Messages that were sent in this start, by number: the log can be calculated again, so only what the peer has
        not stored when the log is forgotten is written."""
        self._erasable = False
        self.witness: JournalWitness | None = None
        """Keeps evidence of what passes through here, where the plan says so."""
        self._lock = locked(path)
        try:
            self._database = self._open()
            with self._intact():
                self._bodies = self._on_disk(lambda: Bodies(self.path, self._used_bodies()))
                self._load_counts()
                self.begin(SETUP)
        except JournalError:
            os.close(self._lock)
            raise

    def _open(self) -> sqlite3.Connection:
        is_new = not self.path.exists()
        # Made with these rights, because a file that is closed to others a moment later was open before.
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        try:
            # Only the party's own thread writes; a link's thread asks for counts, which are not read from here.
            database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA journal_mode = WAL")
            # A commit that has returned is on the disk.
            database.execute("PRAGMA synchronous = FULL")
            # What is deleted is overwritten, in the file and, with the checkpoints of `finish`, beside it.
            database.execute("PRAGMA secure_delete = ON")
            # Nothing of it in a folder for everybody's temporary files.
            database.execute("PRAGMA temp_store = MEMORY")
            if is_new or not database.execute("SELECT name FROM sqlite_master").fetchall():
                # All or nothing: a journal without its format could never be opened again.
                database.executescript(f"BEGIN; {TABLES} COMMIT;")
            found = database.execute("SELECT value FROM facts WHERE name = 'format'").fetchone()
        except sqlite3.Error as error:
            raise JournalError(f"{self.path}: the journal cannot be opened ({error}); {ROOM_ADVICE}") from None
        if found != (str(FORMAT).encode(),):
            raise JournalError(
                f"{self.path}: expected a journal of format {FORMAT}; was it written by another version?"
            )
        return database

    def _load_counts(self) -> None:
        rows = self._select("SELECT peer, MAX(number) + 1 FROM received GROUP BY peer")
        self._received = dict(rows)
        self._stored = dict(self._received)
        # Messages that the peer confirmed are gone, so the counts are facts of their own.
        self._sent, self._confirmed = (
            {
                name.removeprefix(kind): int(value)
                for name, value in self._select("SELECT name, value FROM facts WHERE name LIKE ?", f"{kind}%")
            }
            for kind in ("sent/", "confirmed/")
        )
        written = dict(self._select("SELECT peer, MAX(number) + 1 FROM sent WHERE data IS NOT NULL GROUP BY peer"))
        # What an earlier start sent from here on belongs to a log that is calculated again.
        self._first_missing = {peer: max(written.get(peer, 0), self._confirmed.get(peer, 0)) for peer in self._sent}

    def identity(self) -> str:
        """An identity drawn once, by which a peer recognises the same run."""
        found = self.fact("identity")
        if found is None:
            found = os.urandom(16).hex().encode()
            self.note("identity", found)
        with self._intact():
            return found.decode()

    def fact(self, name: str) -> bytes | None:
        """A fact that was noted for good."""
        rows = self._select("SELECT value FROM facts WHERE name = ?", name)
        with self._intact():
            return bytes(memoryview(rows[0][0])) if rows else None

    def note(self, name: str, value: bytes) -> None:
        """Keep a fact; it is durable when this returns."""
        self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)
        self.flush()

    def begin(self, step: int) -> None:
        self._step = step
        self._sent_before.clear()
        self._received_before.clear()
        sent = self._select("SELECT peer, number, digest FROM sent WHERE step = ? ORDER BY number", step)
        for peer, number, digest in sent:
            self._sent_before[peer].append((number, digest))
        received = self._select("SELECT peer, data, place FROM received WHERE step = ? ORDER BY number", step)
        for peer, data, place in received:
            self._received_before[peer].append(self._body(data, place))

    def draws(self, root: bytes | None = None, fix: Callable[[bytes], bytes] = lambda root: NOTHING_FIXED) -> Draws:
        """The source of this session's draws: an earlier start's, or from a new root, which a test may give.

        `fix` commits to the root, and seals it for an auditor or not; here it is forgotten. What follows from it is on
        the disk before the first message. Of the set-up, which every start repeats, only the leaf stays there.
        """
        words = self.fact("first words")
        if words is not None:
            first_words = FirstWords(words[:LINK_BYTES], words[LINK_BYTES:])
            chain = {name: self.fact(name) for name in ("key", "leaf", "link")}
            return Draws(first_words, **chain, is_kernel=root is None)
        given = new_root() if root is None else root
        draws = Draws.begin(given, is_kernel=root is None)
        first_words = draws.first_words
        self._write("INSERT INTO facts VALUES ('commitment', ?)", fix(given))
        self._write("INSERT INTO facts VALUES ('first words', ?)", first_words.nonce + first_words.seed_share)
        self._write("INSERT INTO facts VALUES ('key', ?)", draws.key)
        return draws

    def open_chain(self, draws: Draws) -> None:
        """Replace the run's key, from which everything follows, by the chain; durable with the next message."""
        self._write("DELETE FROM facts WHERE name = 'key'")
        self._write("INSERT INTO facts VALUES ('leaf', ?)", draws.leaf)
        self._write("INSERT INTO facts VALUES ('link', ?)", draws.link)
        self._erasable = True

    def settle(self, calculated: Numbers) -> Numbers:
        if self.witness is not None and calculated:
            self.witness.settled(calculated)
        return calculated

    def decide(self, calculated: bytes) -> bytes:
        if self.witness is not None:
            self.witness.decided(calculated)
        return calculated

    @property
    def commitment(self) -> bytes:
        """The commitment that this party made before the session."""
        return self.fact("commitment") or NOTHING_FIXED

    def begin_keys(self) -> None:
        self.begin(KEYS)

    def hand_on(self, state: State, needs: Mapping[int, bytes]) -> None:
        """Keep the keys for later steps; the log of the keys is forgotten with the next message that leaves."""
        for step, data in needs.items():
            self._write("INSERT INTO handed_on VALUES (?, ?)", step, data)
        self._write("INSERT OR REPLACE INTO facts VALUES ('keys', ?)", b"")
        # Where the first step's state takes its place: it holds the link from which every later one follows.
        self._write("INSERT OR REPLACE INTO facts VALUES ('state', ?)", msgspec.msgpack.encode(state))
        self._forget_log(KEYS)

    def handed_on(self) -> tuple[State, dict[int, bytes]] | None:
        state = self.fact("state")
        if self.fact("keys") is None or state is None:
            return None
        with self._intact():
            return _decode(state), dict(self._select("SELECT step, data FROM handed_on"))

    def sending(self, peer: str, message: Message, digest: bytes) -> bool:
        if self.witness is not None:
            self.witness.sent(peer, message, digest)
        if known := self._sent_before[peer]:
            number, sent = known.popleft()
            if sent != digest:
                raise LocalProtocolError(f"{self.path}: {CHANGED}")
            if number < self._first_missing[peer]:
                return False
        else:
            number = self._sent.get(peer, 0)
            self._write("INSERT INTO sent VALUES (?, ?, ?, ?, NULL, NULL)", peer, number, self._step, digest)
            self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", f"sent/{peer}", str(number + 1).encode())
            self.flush()
            self._sent[peer] = number + 1
        unwritten, confirmed = self._unwritten.setdefault(peer, {}), self._confirmed.get(peer, 0)
        unwritten[number] = message
        for old in [old for old in unwritten if old < confirmed]:
            del unwritten[old]
        return True

    def arrived(self, peer: str) -> bytes | None:
        waiting = self._received_before[peer]
        if waiting and self.witness is not None:
            self.witness.received(peer, waiting[0])
        return waiting.popleft() if waiting else None

    def keep(self, peer: str, data: Data, digest: bytes) -> None:
        if self.witness is not None:
            self.witness.received(peer, data)
        number = self._received.get(peer, 0)
        self._write(
            "INSERT INTO received VALUES (?, ?, ?, ?, ?, ?)", peer, number, self._step, digest, *self._split_body(data)
        )
        self._last_digest[peer] = number, digest
        self._received[peer] = number + 1

    def finish(self, step: int, result: State, state: State) -> None:
        self._write("INSERT INTO results VALUES (?, ?)", step, msgspec.msgpack.encode(result))
        self._write("INSERT OR REPLACE INTO facts VALUES ('state', ?)", msgspec.msgpack.encode(state))
        self._write("DELETE FROM handed_on WHERE step <= ?", step)
        self._forget_log(step)

    def _forget_log(self, step: int) -> None:
        """Forget the logs of all steps up to this one, except the set-up, which every start compares with its log."""
        if self.witness is not None:
            # First: what the journal forgets, only the evidence has.
            self.witness.flush()
        self._write("DELETE FROM facts WHERE name = 'link'")
        self._write("UPDATE received SET data = NULL, place = NULL WHERE step <> 0 AND step <= ?", step)
        for peer, count in self._received.items():
            self._write("DELETE FROM received WHERE step <> 0 AND peer = ? AND number < ?", peer, count - REMEMBERED)
        # Once: a link's thread may hear of more in between.
        confirmed = self._confirmed.copy()
        for peer, count in confirmed.items():
            self._write("DELETE FROM sent WHERE step <> 0 AND step <= ? AND peer = ? AND number < ?", step, peer, count)
            self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", f"confirmed/{peer}", str(count).encode())
        self._write_unconfirmed(confirmed)
        self._erasable = True

    def _write_unconfirmed(self, confirmed: Mapping[str, int]) -> None:
        """Write messages that may be asked for again before their log, from which they could be made, is forgotten."""
        for peer, unwritten in self._unwritten.items():
            for number, message in unwritten.items():
                if number >= confirmed.get(peer, 0):
                    written = (*self._split_body(message.encode()), peer, number)
                    self._write("UPDATE sent SET data = ?, place = ? WHERE peer = ? AND number = ?", *written)
        self._unwritten.clear()

    def resumed(self) -> Resumed | None:
        rows = self._select("SELECT step, data FROM results ORDER BY step")
        state = self.fact("state")
        if not rows or state is None:
            return None
        with self._intact():
            return Resumed(rows[-1][0], _decode(state), [_decode(data) for _, data in rows])

    def confirm(self, peer: str, count: int) -> None:
        """Note that the peer has stored this many of our messages. Called from other threads."""
        self._confirmed[peer] = max(count, self._confirmed.get(peer, 0))

    def digest(self, peer: str, number: int) -> bytes | None:
        """The digest of a message that was kept just now; None for any other. Called from other threads."""
        kept, digest = self._last_digest.get(peer, (-1, None))
        return digest if kept == number else None

    def stored(self, peer: str) -> int:
        """How many of the peer's messages are on this disk. Called from other threads."""
        return self._stored.get(peer, 0)

    def link_state(self, peer: str) -> Memory:
        """The state of the link to this peer, after a restart."""
        first, end = self._confirmed.get(peer, 0), self._first_missing.get(peer, 0)
        rows = self._select(
            "SELECT data, place FROM sent WHERE peer = ? AND number >= ? AND number < ? ORDER BY number",
            *(peer, first, end),
        )
        with self._intact():
            unconfirmed = [self._body(data, place) for data, place in rows]
        digests = self._select("SELECT number, digest FROM received WHERE peer = ?", peer)
        return Memory(first, unconfirmed, self._sent.get(peer, 0), self._received.get(peer, 0), dict(digests))

    def forget(self) -> None:
        """Erase what keys, masks and noise were made of, once nobody needs anything more from here."""
        for table in SECRET:
            self._write(f"DELETE FROM {table}")  # noqa: S608  # The names are those above.
        for name in SECRET_FACTS:
            self._write("DELETE FROM facts WHERE name = ?", name)
        self.flush()
        self._on_disk(self._bodies.erase)
        self._execute("VACUUM")
        self._execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close without a commit: what was not sent is calculated again."""
        if self.witness is not None:
            self.witness.abandon()
        self._database.close()
        self._bodies.close()
        os.close(self._lock)

    def _split_body(self, data: Data) -> tuple[Data, bytes | None]:
        """(data, place): a long message goes into its own file."""
        if len(data) < LONG:
            return data, None
        return b"", self._on_disk(lambda: self._bodies.put(data)).to_bytes()

    def _body(self, data: bytes, place: bytes | None) -> bytes:
        if place is None:
            return data
        return self._on_disk(lambda: self._bodies.get(Place.from_bytes(place)))

    def _used_bodies(self) -> set[int]:
        rows = self._select("SELECT place FROM sent UNION ALL SELECT place FROM received")
        return {Place.from_bytes(place).file for (place,) in rows if place is not None}

    def _write(self, statement: str, *values: object) -> None:
        if not self._database.in_transaction:
            self._execute("BEGIN")
        self._execute(statement, values)

    def flush(self) -> None:
        """Make everything so far durable, without waiting for the next message to do it."""
        if self._database.in_transaction:
            self._on_disk(self._bodies.sync)
            self._execute("COMMIT")
            self._erase()
        self._stored = dict(self._received)

    def _erase(self) -> None:
        """Erase a finished step's link from the log beside the database, which is written back and truncated."""
        if self._erasable:
            self._erasable = False
            self._execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._on_disk(lambda: self._bodies.turn(self._used_bodies()))

    def _select(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._execute(statement, values)

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            # A damaged file may show only when its rows are read.
            return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from None

    @contextmanager
    def _intact(self) -> Iterator[None]:
        """Turn errors about the file's contents into JournalError: a disk may have failed, or somebody changed them."""
        try:
            yield
        except (ValueError, TypeError, OverflowError, MemoryError, struct.error, msgspec.MsgspecError) as error:
            raise JournalError(
                f"{self.path}: the journal is damaged ({type(error).__name__}); restore the run's folder, or start "
                "a new run"
            ) from None

    def _on_disk(self, work: Callable[[], Found]) -> Found:
        try:
            return work()
        except OSError as error:
            raise self._failure(error) from None

    def _failure(self, error: sqlite3.Error | OSError) -> JournalError:
        return JournalError(
            f"{self.path}: the journal could not be written or read ({error}). Nothing was sent that it does not hold; "
            f"{ROOM_ADVICE}"
        )


def read_contents(path: Path) -> JournalContents:
    """The contents of a journal: empty where there is none; one that cannot be read counts as full."""
    if not path.exists():
        return JournalContents(False, {})
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            facts = dict(database.execute("SELECT name, value FROM facts").fetchall())
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            rows = [
                database.execute(f"SELECT EXISTS (SELECT 1 FROM {table})").fetchone()[0]  # noqa: S608  # Our own names.
                for table in tables & set(SECRET)
            ]
    except sqlite3.Error:
        return JournalContents(True, {})
    return JournalContents(any(name in facts for name in SECRET_FACTS) or any(rows), facts)


CHANGED = (
    "replaying the step after the restart gave different bytes from those already sent: the data, plan or program has "
    "changed; restore them, or start a new run"
)


def _decode(data: bytes) -> dict[str, bytes]:
    return msgspec.msgpack.decode(data, type=dict[str, bytes])


def locked(path: Path) -> int:
    """A handle that locks out other processes until it is closed: two on one journal would both send."""
    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise JournalError(f"{path}: another process is using this run; wait for it or stop it") from None
    return lock
