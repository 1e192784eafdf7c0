"""A party's progress and whom it waits for: in a small file for other processes, and in sentences every few seconds."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from plumbob.caller import Tell
from plumbob.counting import seconds
from plumbob.errors import TransportError
from plumbob.net.reliable import ReliableLink
from plumbob.protocol.channel import Channel
from plumbob.run_folder import RunFolder

SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_BEFORE = 2.0  # Of silence: most waits are shorter.
SECONDS_BETWEEN = 5.0  # From one sentence to the next.
CALCULATING_SECONDS = 10.0  # A peer that is there and works is left alone for this long.


@dataclass
class Status:
    """The contents of the file; whoever makes progress sets the step."""

    purpose: str
    step: int = 0
    steps: int = 0
    noun: str = "step"
    connected: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    waiting_for: str = ""
    """A peer and its message, or nothing while this side calculates."""
    waiting_seconds: float = 0.0
    process: int = field(default_factory=os.getpid)
    written: float = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether the process that wrote the file is still writing."""
        return time.time() - self.written < 5 * SECONDS_BETWEEN_LOOKS

    def sentence(self) -> str:
        reached = f"{self.noun} {self.step} of {self.steps}" if self.steps else f"before the first {self.noun}"
        where = f"{self.purpose}, {reached}"
        if not self.is_alive:
            return f"{where}; not running; run the same command again to resume"
        if self.absent:
            return f"{where}; waiting for {', '.join(self.absent)} to connect"
        if self.waiting_for:
            return f"{where}; waiting for {self.waiting_for} for {seconds(round(self.waiting_seconds))}"
        return f"{where}; calculating"


def read_status(folder: Path) -> Status | None:
    """What the last process wrote; None if there is nothing that can be read."""
    try:
        return msgspec.json.decode(RunFolder(folder).status_file.read_bytes(), type=Status)
    except (OSError, msgspec.DecodeError):
        return None


@dataclass(frozen=True)
class Waiting:
    """What a command may be waiting for, seen from outside."""

    links: Mapping[str, ReliableLink]
    channels: Mapping[str, Channel]
    patience: float
    started: float
    meeting: float
    """Seconds that all peers have to come."""
    why_not: Callable[[str], TransportError | None] = lambda peer: None
    """Why the last attempt at a peer failed, if one did; the reason names the address."""

    def sentence(self, now: float) -> str:
        """The sentence for people; empty while nobody is waited for."""
        strangers = [peer for peer, link in self.links.items() if not link.has_met]
        if strangers:
            reasons = "".join(f"; the last attempt: {reason}" for peer in strangers if (reason := self.why_not(peer)))
            return (
                f"waiting for {', '.join(strangers)} to connect, {seconds(round(now - self.started))} of at most "
                f"{seconds(self.meeting)}; the same command must run there{reasons}"
            )
        parting = [peer for peer, link in self.links.items() if link.is_parting]
        if parting:
            return f"finished here; waiting for {', '.join(parting)} to confirm that it has everything"
        return next(filter(None, (self._due(peer, now) for peer in self.channels)), "")

    def _due(self, peer: str, now: float) -> str:
        awaited = self.channels[peer].waiting_for
        if awaited is None:
            return ""
        message, since = awaited
        passed = f"{seconds(round(now - since))} of at most {seconds(self.patience)}"
        if not self.links[peer].is_connected:
            return f"{peer} is not connected; waiting for it to come back, {passed} (it resumes by the same command)"
        return f"waiting for {peer}'s {message}, {passed}" if now - since >= CALCULATING_SECONDS else ""


@contextmanager
def watch(folder: Path, status: Status, waiting: Waiting, tell: Tell) -> Iterator[None]:
    """Until the end, from a thread of its own: the status file every second, and a sentence every few seconds."""
    file, ended = RunFolder(folder).status_file, threading.Event()

    def look() -> None:
        silent_until = time.monotonic() + SECONDS_BEFORE
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            _write(file, status, waiting, time.time())
            if (now := time.monotonic()) >= silent_until and (sentence := waiting.sentence(now)):
                tell(sentence)
                silent_until = now + SECONDS_BETWEEN

    _write(file, status, waiting, time.time())
    thread = threading.Thread(target=look, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        # Long ago: nobody is at work any more.
        _write(file, status, waiting, 0.0)


def _write(file: Path, status: Status, waiting: Waiting, now: float) -> None:
    """Note who is connected and whose message is awaited, and write it in one move."""
    status.connected = [peer for peer, link in waiting.links.items() if link.is_connected]
    status.absent = [peer for peer in waiting.links if peer not in status.connected]
    awaited = [(peer, *wait) for peer, channel in waiting.channels.items() if (wait := channel.waiting_for) is not None]
    status.waiting_for = f"{awaited[0][0]}'s {awaited[0][1]}" if awaited else ""
    status.waiting_seconds = time.monotonic() - awaited[0][2] if awaited else 0.0
    status.written = now
    draft = file.with_suffix(".draft")
    # A disk that is full stops the run at its journal, not here.
    with suppress(OSError):
        draft.write_bytes(msgspec.json.encode(status))
        draft.replace(file)
