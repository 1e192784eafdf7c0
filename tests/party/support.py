"""Parties that talk for real, through journals and reliable links, over wires inside this process that can be cut."""

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from plumbob.data import Table
from plumbob.errors import DeadlineError, JournalError, TransportError
from plumbob.net import Connection, Data
from plumbob.party.party_run import PartyRun
from plumbob.party.training import train
from plumbob.plan import Plan
from plumbob.protocol.part import ModelPart
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.record import RunRecord
from plumbob.run_folder import JOURNAL
from tests.protocol.support import signers_of

PATIENCE = 120.0  # Seconds: a test that waits longer than this hangs.
OnConnection = Callable[[Connection], None]
Result = TypeVar("Result")
Meddle = Callable[[str, bytes], Iterable[bytes]]
"""What becomes of a frame that this party sends: other frames, or none."""


class Wire:
    """One end of a connection; bytes that are under way when it is cut are lost."""

    def __init__(self, own: str, peer: str, outgoing: "queue.SimpleQueue[bytes | None]", meddle: Meddle) -> None:
        self.peer = peer
        self.incoming: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._own, self._outgoing, self._meddle = own, outgoing, meddle
        self.is_cut = False

    def send(self, *parts: Data) -> None:
        if self.is_cut:
            raise TransportError("the wire is cut")
        for frame in self._meddle(self._own, b"".join(parts)):
            self._outgoing.put(frame)

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
        self.is_cut = True
        self._outgoing.put(None)
        self.incoming.put(None)


def honest(sender: str, frame: bytes) -> Iterable[bytes]:
    """The message as it was sent."""
    return [frame]


def wires(first: str, second: str, meddle: Meddle = honest) -> tuple[Wire, Wire]:
    """The end of `first`, whose peer is `second`, and the other one."""
    there: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    one = Wire(first, second, there, meddle)
    other = Wire(second, first, one.incoming, meddle)
    other.incoming = there
    return one, other


class Switchboard:
    """Connects whoever is open, and connects them again when a wire was cut."""

    def __init__(self, meddle: Meddle = honest) -> None:
        self._meddle = meddle
        self._open: dict[str, OnConnection] = {}
        self._changed = threading.Condition()
        self._connected: set[frozenset[str]] = set()
        self.cables: list[Wire] = []

    def connector(self, name: str) -> Callable[[OnConnection], "BoardStation"]:
        return lambda on_connection: BoardStation(self, name, on_connection)

    def add(self, name: str, on_connection: OnConnection) -> None:
        with self._changed:
            self._open[name] = on_connection
            others = [other for other in self._open if other != name]
        for other in others:
            threading.Thread(target=self._keep_connected, args=(name, other), daemon=True).start()

    def remove(self, name: str) -> None:
        with self._changed:
            self._open.pop(name, None)

    def _keep_connected(self, name: str, other: str) -> None:
        pair = frozenset((name, other))
        with self._changed:
            handlers = {one: self._open.get(one) for one in pair}
            if pair in self._connected:
                return
            self._connected.add(pair)
        try:
            while all(self._open.get(one) is handler and handler is not None for one, handler in handlers.items()):
                ends = dict(zip((name, other), wires(name, other, self._meddle), strict=True))
                self.cables.extend(ends.values())
                threads = [threading.Thread(target=handlers[one], args=(ends[one],), daemon=True) for one in pair]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        finally:
            with self._changed:
                self._connected.discard(pair)
                # One of the two may have come back meanwhile, and found this pair still taken.
                again = all(one in self._open for one in pair)
        if again:
            self._keep_connected(name, other)


class BoardStation:
    """One party's place at the switchboard."""

    def __init__(self, board: Switchboard, name: str, on_connection: OnConnection) -> None:
        self._board, self._name, self._on_connection = board, name, on_connection

    def open(self) -> None:
        self._board.add(self._name, self._on_connection)

    def close(self) -> None:
        self._board.remove(self._name)

    def why_not(self, peer: str) -> None:
        return None


class Killed(BaseException):
    """What stands for `kill -9` inside this process: nothing of ours catches it."""


def keep_starting(
    name: str,
    plan: Plan,
    table: Table | None,
    folder: Path,
    board: Switchboard,
    journal_class: Callable[[Path, str], SqliteJournal],
    roots: Mapping[str, bytes] | None = None,
) -> RunRecord:
    """A party that is started again whenever it was killed, or its disk failed."""
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        journal = journal_class(folder / JOURNAL, name)
        signer = signers_of(tuple(party.name for party in plan.parties))[name]
        party_run = PartyRun(
            name, plan, table, folder, board.connector(name), patience=PATIENCE, lingering=0.5, signer=signer
        )
        try:
            return train(party_run, journal, root=(roots or {}).get(name))
        except (Killed, JournalError):
            continue
        finally:
            journal.close()


def run_parties(starts: Mapping[str, Callable[[], Result]]) -> dict[str, Result]:
    """All of them at once, each in a thread; the first error is raised."""
    records: dict[str, Result] = {}
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            records[name] = starts[name]()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * PATIENCE)
    if failures:
        raise failures[0]
    return records


def part_numbers(part: ModelPart) -> Any:
    """Weights, or shares of them, to compare exactly."""
    return part.shares if part.weights is None else part.weights.tobytes()
