"""Whole sessions of two parties over a wire that does its worst: trainings, predictions and alignments.

Everything that happens to a session follows from its number: after how many frames each connection breaks, which
events of a journal are a party's last, which frame comes twice, late, changed or not at all. Threads still take their
turns as the system gives them, so a number says what was done, not to the microsecond when.

Two worlds, because an adversary between the parties is not one of them:

- `network`: whoever stands between cuts connections and opens two at once, and parties die. A frame that was changed
  between the two is a cut as well, because TLS ends the connection. Every such session must come to its end, with the
  shares of an undisturbed run bit for bit.
- `peer`: frames are dropped, repeated, swapped or changed, as only their sender could. A session may end
  in errors, all of them ours, and whoever got such a frame names its sender. If both parties come to their end, then
  with the result of an undisturbed one.
"""

import random
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Literal

import pytest

from plumbob.errors import PlumbobError
from plumbob.net import reliable
from plumbob.party.session import Peers
from plumbob.plan import Plan
from tests.fuzz.decoders import scratch
from tests.world import (
    Cut,
    Ends,
    Killed,
    OnConnection,
    OnFrame,
    Purpose,
    Session,
    Switchboard,
    World,
    frozen_tables,
    ids_only,
    is_right,
)

Place = Literal["network", "peer"]
NAMES = ("label", "features")
PLAN = Plan.for_columns((2, 1), epochs=1)
SESSIONS: dict[Purpose, Session] = {
    "train": Session("a fuzzed training", "train", PLAN, frozen_tables(PLAN)),
    "predict": Session("a fuzzed prediction", "predict", PLAN, frozen_tables(PLAN)),
    "align": Session("a fuzzed alignment", "align", PLAN, ids_only(PLAN)),
}
TURNS: tuple[Purpose, ...] = ("train", "train", "train", "predict", "align")
PATIENCE = {"network": 60.0, "peer": 0.4}  # Seconds: only where frames are lost does anybody wait in vain.
PARTING = 0.4
Deed = Literal["drop", "repeat", "swap", "change", "garbage"]


@cache
def frames_in(purpose: Purpose) -> int:
    """How many frames each direction has in an undisturbed session."""
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        frames = World(SESSIONS[purpose], Path(folder)).run().honest().frames
    return max(sum(sender == name for sender, _, _ in frames) for name in NAMES)


@dataclass(frozen=True)
class Script:
    """What happens in one session."""

    number: int
    place: Place
    cuts: tuple[int, ...] = ()
    """After how many frames, both ways together, each connection breaks in turn; then none breaks."""
    doubles: frozenset[int] = frozenset()
    """Connections beside which a second one is opened at once."""
    deaths: tuple[tuple[str, int], ...] = ()
    """The party that dies, and at which event of its journal."""
    deed: tuple[Deed, str, int] | None = None
    """What happens to whose frame, and which."""
    purpose: Purpose = "train"

    @classmethod
    def of(cls, number: int) -> "Script":
        dice, purpose = random.Random(number), TURNS[number // 2 % len(TURNS)]
        frames = frames_in(purpose)
        if number % 2:
            kinds: tuple[Deed, ...] = ("drop", "repeat", "swap", "change", "change", "garbage")
            deed = dice.choice(kinds), dice.choice(NAMES), dice.randrange(frames)
            return cls(number, "peer", deed=deed, purpose=purpose)
        cuts = tuple(dice.randrange(2 * frames) for _ in range(dice.randrange(5)))
        doubles = frozenset(index for index in range(len(cuts) + 1) if dice.random() < 0.3)
        # Only a training goes on where a party died.
        lives = dice.randrange(3) if purpose == "train" else 0
        deaths = tuple((dice.choice(NAMES), dice.randrange(40)) for _ in range(lives))
        return cls(number, "network", cuts, doubles, deaths, purpose=purpose)


@dataclass
class Outcome:
    """How a session ended."""

    script: Script
    is_finished: bool
    mistake: str | None
    """What no session may do."""


def mistake_in(script: Script, ends: Ends) -> str | None:
    """What no session may do, or None."""
    for name, error in ends.errors.items():
        if not isinstance(error, PlumbobError):
            return f"{name}: {error!r}"
    if script.place == "network" and ends.errors:
        return f"a network alone ended the run: {[str(error) for error in ends.errors.values()]}"
    if not ends.errors and not is_right(ends):
        return "finished with another result, and nobody noticed"
    for name, peer in (NAMES, NAMES[::-1]):
        # The peer's frames alone were not honest.
        if name in ends.errors and not str(ends.errors[name]).startswith(peer):
            return f"{name} names the wrong party: {ends.errors[name]!r}"
    return None


class Board(Switchboard):
    """Connects the two again and again: each connection breaks after so many frames, and some are opened twice."""

    def __init__(self, script: Script, on_frame: OnFrame) -> None:
        super().__init__(on_frame)
        self._script, self._count = script, 0

    def connect(self, handlers: Mapping[str, OnConnection | None], on_frame: OnFrame) -> list[threading.Thread]:
        is_doubled = self._count in self._script.doubles
        threads = super().connect(handlers, self._fused(on_frame))
        return [*threads, *super().connect(handlers, self._fused(on_frame))] if is_doubled else threads

    def _fused(self, on_frame: OnFrame) -> OnFrame:
        index, self._count = self._count, self._count + 1
        if index >= len(self._script.cuts):
            return on_frame
        left, lock = self._script.cuts[index], threading.Lock()

        def burn(sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
            nonlocal left
            with lock:
                left -= 1
                if left < 0:
                    raise Cut
            return on_frame(sender, receiver, frame)

        return burn


@dataclass
class Adversary:
    """Does to frames and parties what the script says."""

    script: Script
    _sent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    _held: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._dice = random.Random(-self.script.number)
        self._lives = {name: [events for who, events in self.script.deaths if who == name] for name in NAMES}

    def on_event(self, name: str, statement: str) -> None:
        """The events that a party has left, start by start."""
        if lives := self._lives[name]:
            lives[0] -= 1
            if lives[0] < 0:
                lives.pop(0)
                raise Killed

    def on_frame(self, sender: str, receiver: str, frame: bytes) -> Iterable[bytes]:
        deed = self.script.deed
        if deed is None or deed[1] != sender:
            return [frame]
        place, self._sent[sender] = self._sent[sender], self._sent[sender] + 1
        if place == deed[2]:
            return self._done(deed[0], sender, frame)
        return [frame, self._held.pop(sender)] if sender in self._held else [frame]

    def _done(self, deed: Deed, sender: str, frame: bytes) -> list[bytes]:
        if deed == "drop":
            return []
        if deed == "repeat":
            return [frame, frame]
        if deed == "swap":
            self._held[sender] = frame
            return []
        if deed == "garbage":
            return [self._dice.randbytes(self._dice.randrange(200)), frame]
        place = self._dice.randrange(len(frame))
        return [frame[:place] + bytes([frame[place] ^ 1 << self._dice.randrange(8)]) + frame[place + 1 :]]


def play(script: Script) -> Outcome:
    """One session from beginning to end."""
    folder, adversary = Path(tempfile.mkdtemp(dir=scratch())), Adversary(script)
    world = World(
        SESSIONS[script.purpose],
        folder,
        on_frame=adversary.on_frame,
        on_event=adversary.on_event,
        board=partial(Board, script),
        patience=PATIENCE[script.place],
    )
    ends = world.run()
    outcome = Outcome(script, not ends.errors, mistake_in(script, ends))
    shutil.rmtree(folder, ignore_errors=True)
    return outcome


@contextmanager
def hurried() -> Iterator[None]:
    """Let nobody wait long for somebody who will not come."""
    leave = Peers.leave
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Peers, "leave", lambda peers: leave(peers, PARTING))
        patch.setattr(reliable, "GREETING_SECONDS", PARTING)
        # Far below the time for parting, of which a real party has a minute.
        patch.setattr(reliable, "LAST_WORDS_SECONDS", PARTING / 20)
        yield
