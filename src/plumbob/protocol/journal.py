"""The journal, which lets a party die at any moment and resume as if it had not.

The rule: nothing leaves before everything that it follows from is on the disk.

A phase (the set-up, agreeing on keys, each step) is a function of the state before it, of the link that it draws from
and of what the peers sent. The journal keeps these three, and the digest of every message before it leaves. After a
restart the phase is calculated again from the same link and the same messages: the same bytes come out, which the
digests confirm, and what was sent is not sent in another form. A finished phase leaves the state after it, which has
the next link, and those of its messages that a peer may still ask for; its own link and its log are forgotten.

    begin            from now on the log belongs to this phase
    log_sent         what a message follows from is durable before it returns; False if the link has it already
    next_logged      the next message of the log, after a restart
    keep             a message that came just now
    finish           the state after the phase, and for later steps what each of them needs, which vanishes when that
                     step is finished; all of it is durable with the next message that leaves
    last_state       what the last finished phase left

Keys are agreed on before the first step, each for some later step. What they are made of must not stay until the end,
so agreeing on them is a phase of its own.

What a party calculates with and what it decides pass through the journal, too, because a replay takes both from there:

    open_chain       the session is agreed on: from now on its first link takes the place of the run's key
    settle           the numbers to calculate with: these, or, in a replay, those that the run had
    decide           likewise something that no calculation gives, a limit's verdict for example

On disk it is one SQLite file for each conversation, with long messages in files beside it. All of it is as secret as
the keys: links are what keys, masks and noise are made of.
"""

import fcntl
import os
import sqlite3
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from plumbob.crypto.draws import LINK_BYTES, Draws, FirstWords, new_root
from plumbob.errors import ROOM_ADVICE, JournalError, LocalProtocolError
from plumbob.net import Data
from plumbob.net.numbered import Memory
from plumbob.protocol.account import NOTHING_FIXED, Numbers
from plumbob.protocol.messages import Message

State = Mapping[str, bytes]
Found = TypeVar("Found")
SETUP = 0  # The phase before the first step; every start repeats it and compares it with its log, kept to the end.
KEYS = -1  # The phase between the set-up and the first step.


@dataclass(frozen=True, repr=False)
class Resumed:
    """Where a run stands: the last finished phase, the state after it, and what it left for later steps."""

    phase: int
    state: State
    needs: Mapping[int, bytes]


class Journal:
    """What a party writes down so that it can be killed and resume; the module says what each method is for.

    This one remembers nothing: a run that is interrupted starts over.
    """

    def begin(self, phase: int) -> None:
        """Do nothing: there is nothing to prepare."""

    def log_sent(self, peer: str, message: Message, digest: bytes) -> bool:
        return True

    def next_logged(self, peer: str) -> bytes | None:
        return None

    def keep(self, peer: str, data: Data, digest: bytes) -> None:
        """Do nothing: nobody will ask for it again."""

    def finish(self, phase: int, state: State, needs: Mapping[int, bytes]) -> None:
        """Do nothing: nobody will ask for it again."""

    def last_state(self) -> Resumed | None:
        return None

    def open_chain(self, draws: Draws) -> None:
        """Do nothing: there is nothing to replace."""

    def settle(self, calculated: Numbers) -> Numbers:
        return calculated

    def decide(self, calculated: bytes) -> bytes:
        return calculated


NO_JOURNAL = Journal()


# On disk.


FORMAT = 5
REMEMBERED = 64  # Digests of messages from each peer, to tell a repeated message from a changed one.
LONG = 1 << 16  # Bytes of the shortest message with a file of its own.
SECRET = ("sent", "received", "needs")  # Tables,
SECRET_FACTS = ("state", "finished", "key", "first words", "leaf", "link")  # and facts.
CHANGED = (
    "replaying the step after the restart gave different bytes from those already sent: the data, plan or program has "
    "changed; restore them, or start a new run"
)
TABLES = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE sent (
    peer TEXT, number INTEGER, phase INTEGER NOT NULL, digest BLOB NOT NULL, data BLOB, body INTEGER,
    PRIMARY KEY (peer, number));
CREATE TABLE received (
    peer TEXT, number INTEGER, phase INTEGER NOT NULL, digest BLOB NOT NULL, data BLOB, body INTEGER,
    PRIMARY KEY (peer, number));
CREATE TABLE needs (step INTEGER PRIMARY KEY, data BLOB NOT NULL);
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
        self._phase = SETUP
        # The log of the phase, as far as it goes: numbers and digests of the messages sent, and those received.
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
        self._lock = lock(path)
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

    def begin(self, phase: int) -> None:
        self._phase = phase
        self._sent_before.clear()
        self._received_before.clear()
        sent = self._select("SELECT peer, number, digest FROM sent WHERE phase = ? ORDER BY number", phase)
        for peer, number, digest in sent:
            self._sent_before[peer].append((number, digest))
        received = self._select("SELECT peer, data, body FROM received WHERE phase = ? ORDER BY number", phase)
        for peer, data, body in received:
            self._received_before[peer].append(self._whole(data, body))

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

    def log_sent(self, peer: str, message: Message, digest: bytes) -> bool:
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
            self._write("INSERT INTO sent VALUES (?, ?, ?, ?, NULL, NULL)", peer, number, self._phase, digest)
            self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", f"sent/{peer}", str(number + 1).encode())
            self.flush()
            self._sent[peer] = number + 1
        unwritten, confirmed = self._unwritten.setdefault(peer, {}), self._confirmed.get(peer, 0)
        unwritten[number] = message
        for old in [old for old in unwritten if old < confirmed]:
            del unwritten[old]
        return True

    def next_logged(self, peer: str) -> bytes | None:
        waiting = self._received_before[peer]
        if waiting and self.witness is not None:
            self.witness.received(peer, waiting[0])
        return waiting.popleft() if waiting else None

    def keep(self, peer: str, data: Data, digest: bytes) -> None:
        if self.witness is not None:
            self.witness.received(peer, data)
        number = self._received.get(peer, 0)
        stored = self._stored_as(data)
        self._write("INSERT INTO received VALUES (?, ?, ?, ?, ?, ?)", peer, number, self._phase, digest, *stored)
        self._last_digest[peer] = number, digest
        self._received[peer] = number + 1

    def finish(self, phase: int, state: State, needs: Mapping[int, bytes]) -> None:
        for step, data in needs.items():
            self._write("INSERT INTO needs VALUES (?, ?)", step, data)
        self._write("DELETE FROM needs WHERE step <= ?", phase)
        # In the place of the state before it, which holds the link from which every later one follows.
        self._write("INSERT OR REPLACE INTO facts VALUES ('state', ?)", msgspec.msgpack.encode(state))
        self._write("INSERT OR REPLACE INTO facts VALUES ('finished', ?)", str(phase).encode())
        self._forget_log(phase)

    def _forget_log(self, phase: int) -> None:
        """Forget the logs of all phases up to this one, except the set-up, which every start compares with its log."""
        if self.witness is not None:
            # First: what the journal forgets, only the evidence has.
            self.witness.flush()
        self._write("DELETE FROM facts WHERE name = 'link'")
        self._write("UPDATE received SET data = NULL, body = NULL WHERE phase <> 0 AND phase <= ?", phase)
        for peer, count in self._received.items():
            self._write("DELETE FROM received WHERE phase <> 0 AND peer = ? AND number < ?", peer, count - REMEMBERED)
        # Once: a link's thread may hear of more in between.
        confirmed = self._confirmed.copy()
        for peer, count in confirmed.items():
            gone = "phase <> 0 AND phase <= ? AND peer = ? AND number < ?"
            self._write(f"DELETE FROM sent WHERE {gone}", phase, peer, count)  # noqa: S608  # The words are those above.
            self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", f"confirmed/{peer}", str(count).encode())
        self._write_unconfirmed(confirmed)
        self._erasable = True

    def _write_unconfirmed(self, confirmed: Mapping[str, int]) -> None:
        """Write messages that may be asked for again before their log, from which they could be made, is forgotten."""
        for peer, unwritten in self._unwritten.items():
            for number, message in unwritten.items():
                if number >= confirmed.get(peer, 0):
                    stored = self._stored_as(message.encode())
                    place = (*stored, peer, number)
                    self._write("UPDATE sent SET data = ?, body = ? WHERE peer = ? AND number = ?", *place)
        self._unwritten.clear()

    def end(self, name: str) -> None:
        """Note, as a fact of this name, that nothing is calculated again: what peers may still ask for is written."""
        self._forget_log(self._phase)
        self.note(name, b"")

    def last_state(self) -> Resumed | None:
        state, phase = self.fact("state"), self.fact("finished")
        if state is None or phase is None:
            return None
        with self._intact():
            decoded = msgspec.msgpack.decode(state, type=dict[str, bytes])
            return Resumed(int(phase), decoded, dict(self._select("SELECT step, data FROM needs")))

    def confirm(self, peer: str, count: int) -> None:
        """Note that the peer has stored this many of our messages. Called from other threads."""
        self._confirmed[peer] = max(count, self._confirmed.get(peer, 0))

    def digest(self, peer: str, number: int) -> bytes | None:
        """The digest of a message that was kept just now; None for any other. Called from other threads."""
        last, digest = self._last_digest.get(peer, (-1, None))
        return digest if last == number else None

    def stored(self, peer: str) -> int:
        """How many of the peer's messages are on this disk. Called from other threads."""
        return self._stored.get(peer, 0)

    def link_state(self, peer: str) -> Memory:
        """The state of the link to this peer, after a restart."""
        first, end = self._confirmed.get(peer, 0), self._first_missing.get(peer, 0)
        rows = self._select(
            "SELECT data, body FROM sent WHERE peer = ? AND number >= ? AND number < ? ORDER BY number",
            *(peer, first, end),
        )
        with self._intact():
            unconfirmed = [self._whole(data, body) for data, body in rows]
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

    def _stored_as(self, data: Data) -> tuple[Data, int | None]:
        """(data, body): a long message goes into a file, and its number takes its place."""
        return (data, None) if len(data) < LONG else (b"", self._on_disk(lambda: self._bodies.put(data)))

    def _whole(self, data: bytes, body: int | None) -> bytes:
        return data if body is None else self._on_disk(lambda: self._bodies.get(body))

    def _used_bodies(self) -> set[int]:
        rows = self._select("SELECT body FROM sent UNION ALL SELECT body FROM received")
        return {body for (body,) in rows if body is not None}

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
            self._on_disk(lambda: self._bodies.release(self._used_bodies()))

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
        except (ValueError, TypeError, OverflowError, MemoryError, msgspec.MsgspecError) as error:
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


class Bodies:
    """Long messages, each in a file beside the database, written by a thread while the party calculates.

    In the database each of them would be written four times: into its log and its file, then with zeros in both after
    the phase. Here it is written once, and is on the disk before the database refers to it. A file that nothing refers
    to any more takes a later message. What stands here has travelled: with the draws gone, nobody can decrypt it.
    Everything here raises OSError.
    """

    def __init__(self, journal: Path, used: set[int]) -> None:
        self._journal = journal
        self._writer = ThreadPoolExecutor(1, "plumbob journal")
        self._pending: list[Future[None]] = []
        self._count = 1 + max((int(file.name.rpartition("-")[2]) for file in self._files()), default=-1)
        self.release(used)

    def put(self, data: Data) -> int:
        """Write a message, and return its file's number; it is durable after the next `sync`."""
        if not self._free:
            self._free.append(self._count)
            self._count += 1
        number = self._free.pop()
        self._pending.append(self._writer.submit(_write_durably, self._file(number), data))
        return number

    def sync(self) -> None:
        """Wait until everything is durable; raises what went wrong."""
        pending, self._pending = self._pending, []
        for each in pending:
            each.result()

    def get(self, number: int) -> bytes:
        self.sync()
        return self._file(number).read_bytes()

    def release(self, used: set[int]) -> None:
        """Let later messages take all files but these."""
        self._free = [number for number in range(self._count) if number not in used]

    def erase(self) -> None:
        """Remove all files."""
        self.sync()
        for file in self._files():
            file.unlink()

    def close(self) -> None:
        """Close without waiting for what nobody refers to yet."""
        self._writer.shutdown(wait=True, cancel_futures=True)

    def _file(self, number: int) -> Path:
        return self._journal.with_name(f"{self._journal.name}-body-{number}")

    def _files(self) -> list[Path]:
        return list(self._journal.parent.glob(f"{self._journal.name}-body-*"))


def _write_durably(file: Path, data: Data) -> None:
    is_new = not file.exists()
    with open(os.open(file, os.O_CREAT | os.O_RDWR, 0o600), "wb", buffering=0) as opened:
        rest = memoryview(data)
        while rest:
            rest = rest[opened.write(rest) :]
        opened.truncate(len(data))
        os.fdatasync(opened)
    if is_new:
        _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Make sure that a new file is found after a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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


def lock(path: Path) -> int:
    """Lock out other processes until the handle is closed: two on one journal would both send."""
    handle = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise JournalError(f"{path}: another process is using this run; wait for it or stop it") from None
    return handle
