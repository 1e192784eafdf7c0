"""Whole runs of two parties over a wire that does its worst: `shares`, journals, links that outlive connections.

Everything that happens to a session follows from its number: after how many frames each connection breaks, which
events of a journal are a party's last, which frame comes twice, late, changed or not at all. Threads still take their
turns as the system gives them, so a number says what was done, not to the microsecond when.

Two worlds, because an adversary between the parties is not one of them:

- `network`: frames are sealed, as TLS does it. Whoever stands between cuts connections, opens two at once, repeats
  and changes frames, and parties die. A broken seal is the end of a connection, and of nothing else: every such session
  must come to its end, with the shares of an undisturbed run bit for bit.
- `peer`: frames are dropped, repeated, swapped or changed below the seal, as only their sender could. A session may end
  in errors, all of them ours, and whoever got such a frame names its sender. If both parties come to their end, then
  with the shares of an undisturbed run.
"""

import hashlib
import queue
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from plumbob.errors import DeadlineError, PlumbobError, TransportError
from plumbob.net import Connection, Data, reliable
from plumbob.party.conversation import Conversation
from plumbob.party.party_run import PartyRun
from plumbob.party.training import train
from plumbob.plan import Plan
from plumbob.protocol.part import ModelPart
from plumbob.protocol.sqlite_journal import SqliteJournal
from plumbob.record import RunRecord
from plumbob.run_folder import JOURNAL
from tests.fuzz.decoders import scratch
from tests.protocol.support import made_up, signers_of, tables_for, trained
from tests.world import Killed, part_numbers, root_of, roots_of

World = Literal["network", "peer"]
NAMES = ("label", "features")
PLAN = Plan.for_columns((2, 1), epochs=1)
DATA = made_up(12, PLAN.columns)
FRAMES = 25  # As many as each direction has in an undisturbed run.
DEADLINE = 60.0  # A session waits a second at most; the rest is for a machine that has other things to do as well.
PATIENCE = {"network": DEADLINE, "peer": 0.4}  # Seconds: only where frames are lost does anybody wait in vain.
PARTING = 0.4
MARK = 16  # Bytes of a seal.
PARTIES = ThreadPoolExecutor(len(NAMES), thread_name_prefix="party")
Deed = Literal["drop", "repeat", "swap", "change", "garbage"]


@dataclass(frozen=True)
class Script:
    """What happens in one session."""

    number: int
    world: World
    cuts: tuple[int, ...] = ()
    """After how many frames, both ways together, each connection breaks in turn; then none breaks."""
    doubles: frozenset[int] = frozenset()
    """Connections beside which a second one is opened at once."""
    deaths: tuple[tuple[str, int], ...] = ()
    """The party that dies, and at which event of its journal."""
    deed: tuple[Deed, str, int] | None = None
    """What happens to whose frame, and which."""

    @classmethod
    def of(cls, number: int) -> "Script":
        dice = random.Random(number)
        if number % 2:
            kinds: tuple[Deed, ...] = ("drop", "repeat", "swap", "change", "change", "garbage")
            return cls(number, "peer", deed=(dice.choice(kinds), dice.choice(NAMES), dice.randrange(FRAMES)))
        cuts = tuple(dice.randrange(2 * FRAMES) for _ in range(dice.randrange(5)))
        doubles = frozenset(index for index in range(len(cuts) + 1) if dice.random() < 0.3)
        deaths = tuple((dice.choice(NAMES), dice.randrange(40)) for _ in range(dice.randrange(3)))
        # What is dropped or held back without an end is what a cut is.
        sealed: tuple[Deed, ...] = ("repeat", "change", "garbage")
        deed = (dice.choice(sealed), dice.choice(NAMES), dice.randrange(FRAMES)) if dice.random() < 0.5 else None
        return cls(number, "network", cuts, doubles, deaths, deed)


@dataclass
class Outcome:
    """How a session ended."""

    script: Script
    ends: dict[str, RunRecord | BaseException]
    numbers: dict[str, Any] | None
    """Each party's shares of all weights."""
    streams_agree: bool

    @property
    def is_finished(self) -> bool:
        return all(isinstance(end, RunRecord) for end in self.ends.values())

    def mistake(self, expected: dict[str, Any]) -> str | None:
        """What no session may do, or None."""
        for name in NAMES:
            end = self.ends.get(name)
            if end is None:
                return f"{name}: hangs"
            if not isinstance(end, RunRecord | PlumbobError):
                return f"{name}: {end!r}"
        if self.script.world == "network" and not self.is_finished:
            return f"a network alone ended the run: {[str(end) for end in self.ends.values()]}"
        if self.is_finished and (self.numbers != expected or not self.streams_agree):
            return "finished with other shares or streams, and nobody noticed"
        return self._wrong_name()

    def _wrong_name(self) -> str | None:
        """An error that does not begin with the peer's name, where the peer's frames alone were not honest."""
        for name, peer in (NAMES, NAMES[::-1]):
            end = self.ends[name]
            if isinstance(end, PlumbobError) and not str(end).startswith(peer):
                return f"{name} names the wrong party: {end!r}"
        return None


# The wire.


class Wire:
    """One end of a connection; what is under way when it is cut is lost. Where it seals, it takes no other frames."""

    def __init__(self, peer: str, spoil: Callable[[bytes], list[bytes]], seal: bytes | None) -> None:
        self.peer = peer
        self.incoming: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.other: Wire
        self.spoil = spoil
        self.is_cut = False
        self._seal = seal
        self._sent = self._received = 0
        self._sending = threading.Lock()

    def send(self, *parts: Data) -> None:
        data = b"".join(parts)
        with self._sending:
            if self.is_cut:
                raise TransportError("the wire is cut")
            sealed = data if self._seal is None else data + self._mark(self.peer, self._sent, data)
            self._sent += 1
            for frame in self.spoil(sealed):
                self.other.incoming.put(frame)

    def receive(self, seconds: float) -> bytes:
        try:
            data = self.incoming.get(timeout=seconds)
        except queue.Empty:
            raise DeadlineError("nothing came") from None
        if data is None or self.is_cut:
            self.incoming.put(None)
            raise TransportError("the wire is cut")
        return data if self._seal is None else self._unsealed(data)

    def _unsealed(self, frame: bytes) -> bytes:
        data, mark = frame[:-MARK], frame[-MARK:]
        if mark != self._mark(self.other.peer, self._received, data):
            self.close()
            raise TransportError("the seal is broken")
        self._received += 1
        return data

    def _mark(self, receiver: str, number: int, data: bytes) -> bytes:
        return hashlib.blake2b(
            f"{receiver} {number} ".encode() + data, digest_size=MARK, key=self._seal or b""
        ).digest()

    def close(self) -> None:
        for end in (self, self.other):
            end.is_cut = True
            end.incoming.put(None)


class Adversary:
    """Connects the two, again and again, and does what the script says."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._dice = random.Random(-script.number)
        self._open: dict[str, Callable[[Connection], None]] = {}
        self._changed = threading.Condition()
        self._connections = 0
        self._sent = dict.fromkeys(NAMES, 0)
        self._held: dict[str, bytes] = {}
        self._is_over = False
        self.wires: list[Wire] = []

    def connector(self, name: str) -> Callable[[Callable[[Connection], None]], "Place"]:
        return lambda on_connection: Place(self, name, on_connection)

    def enter(self, name: str, on_connection: Callable[[Connection], None]) -> None:
        with self._changed:
            self._open[name] = on_connection
            self._changed.notify_all()

    def leave(self, name: str) -> None:
        with self._changed:
            self._open.pop(name, None)
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        for wire in self.wires:
            wire.close()

    def keep_connecting(self) -> None:
        """Connect until the session is over, one connection at a time, except those that the script doubles."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_over or len(self._open) == len(NAMES))
                if self._is_over:
                    return
                handlers = dict(self._open)
            is_doubled = self._connections in self.script.doubles
            first = self._connect(handlers)
            second = self._connect(handlers) if is_doubled else []
            for thread in first + second:
                thread.join()
            # Somebody who is about to leave must not be called a thousand times before that.
            time.sleep(0.001)

    def _connect(self, handlers: dict[str, Callable[[Connection], None]]) -> list[threading.Thread]:
        index, self._connections = self._connections, self._connections + 1
        left = self.script.cuts[index] if index < len(self.script.cuts) else None
        seal = f"connection {index}".encode() if self.script.world == "network" else None
        ends = {name: Wire(peer, self._spoiler(name), seal) for name, peer in (NAMES, NAMES[::-1])}
        ends[NAMES[0]].other, ends[NAMES[1]].other = ends[NAMES[1]], ends[NAMES[0]]
        if left is not None:
            Fuse(left).attach(ends)
        self.wires.extend(ends.values())
        threads = [threading.Thread(target=handlers[name], args=(ends[name],), daemon=True) for name in NAMES]
        for thread in threads:
            thread.start()
        return threads

    def _spoiler(self, name: str) -> Callable[[bytes], list[bytes]]:
        deed = self.script.deed
        if deed is None or deed[1] != name:
            return lambda data: [data]

        def spoil(data: bytes) -> list[bytes]:
            place = self._sent[name]
            self._sent[name] += 1
            if place == deed[2]:
                return self._done(deed[0], name, data)
            return [data, self._held.pop(name)] if name in self._held else [data]

        return spoil

    def _done(self, deed: Deed, name: str, data: bytes) -> list[bytes]:
        if deed == "drop":
            return []
        if deed == "repeat":
            return [data, data]
        if deed == "swap":
            self._held[name] = data
            return []
        if deed == "garbage":
            return [self._dice.randbytes(self._dice.randrange(200)), data]
        place = self._dice.randrange(len(data))
        return [data[:place] + bytes([data[place] ^ 1 << self._dice.randrange(8)]) + data[place + 1 :]]


class Fuse:
    """Cuts a connection once so many frames have passed, both ways together."""

    def __init__(self, left: int) -> None:
        self._left = left
        self._lock = threading.Lock()

    def attach(self, ends: dict[str, Wire]) -> None:
        for wire in ends.values():
            wire.spoil = partial(self._burn, wire, wire.spoil)

    def _burn(self, wire: Wire, spoil: Callable[[bytes], list[bytes]], data: bytes) -> list[bytes]:
        with self._lock:
            self._left -= 1
            is_over = self._left < 0
        if is_over:
            wire.close()
        return [] if is_over else spoil(data)


class Place:
    """One party's connector."""

    def __init__(self, adversary: Adversary, name: str, on_connection: Callable[[Connection], None]) -> None:
        self._adversary, self._name, self._on_connection = adversary, name, on_connection

    def open(self) -> None:
        self._adversary.enter(self._name, self._on_connection)

    def close(self) -> None:
        self._adversary.leave(self._name)

    def why_not(self, peer: str) -> None:
        return None


# Parties that die.


@dataclass
class Fate:
    """The events that one party has left, start by start."""

    lives: list[int] = field(default_factory=list)

    def strike(self) -> None:
        if self.lives:
            self.lives[0] -= 1
            if self.lives[0] < 0:
                self.lives.pop(0)
                raise Killed


class MortalJournal(SqliteJournal):
    """Dies before or after something that it is asked to do."""

    fate: Fate | None = None

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> Any:
        if self.fate is not None and not statement.startswith("SELECT"):
            self.fate.strike()
        return super()._execute(statement, values)


def live(name: str, folder: Path, adversary: Adversary, fate: Fate) -> RunRecord:
    """One party, started again whenever it died."""
    table = tables_for(PLAN, *DATA)[name]
    folder.mkdir(mode=0o700)
    patience = PATIENCE[adversary.script.world]
    while True:
        journal = MortalJournal(folder / JOURNAL)
        journal.fate = fate
        connector, signer = adversary.connector(name), signers_of(NAMES)[name]
        party_run = PartyRun(name, PLAN, table, folder, connector, patience=patience, lingering=PARTING, signer=signer)
        try:
            return train(party_run, journal, root=root_of(name))
        except Killed:
            continue
        finally:
            journal.fate = None
            journal.close()


# Sessions.


def play(script: Script) -> Outcome:
    """One session from beginning to end."""
    folder = Path(tempfile.mkdtemp(dir=scratch()))
    adversary, ends = Adversary(script), dict[str, RunRecord | BaseException]()

    def work(name: str) -> None:
        fate = Fate([events for who, events in script.deaths if who == name])
        try:
            ends[name] = live(name, folder / name, adversary, fate)
        except BaseException as error:
            ends[name] = error

    try:
        operator = threading.Thread(target=adversary.keep_connecting, daemon=True)
        operator.start()
        wait([PARTIES.submit(work, name) for name in NAMES], DEADLINE)
        adversary.stop()
        operator.join(DEADLINE)
        return Outcome(script, ends, _numbers(folder, ends), _streams_agree(ends))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _numbers(folder: Path, ends: dict[str, Any]) -> dict[str, Any] | None:
    if not all(isinstance(ends.get(name), RunRecord) for name in NAMES):
        return None
    return {name: part_numbers(ModelPart.load(folder / name / "parties" / name / "part.json")) for name in NAMES}


def _streams_agree(ends: dict[str, Any]) -> bool:
    sides = {name: ends[name].parties[0] for name in NAMES if isinstance(ends.get(name), RunRecord)}
    if len(sides) < len(NAMES):
        return False
    return all(sides[name].streams[peer] == sides[peer].received_streams[name] for name, peer in (NAMES, NAMES[::-1]))


def undisturbed() -> dict[str, Any]:
    """What every session must end with, from the simulation."""
    parts = trained(PLAN, DATA, roots=roots_of(PLAN)).model.parts
    return {name: part_numbers(part) for name, part in parts.items()}


@contextmanager
def hurried() -> Iterator[None]:
    """Let nobody wait long for somebody who will not come."""
    leave = Conversation.leave
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Conversation, "leave", lambda talk: leave(talk, PARTING))
        patch.setattr(reliable, "GREETING_SECONDS", PARTING)
        # Far below the time for parting, of which a real party has a minute.
        patch.setattr(reliable, "LAST_WORDS_SECONDS", PARTING / 20)
        yield
