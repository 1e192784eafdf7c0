"""A party's progress and whom it waits for, in a small file that another process may read at any time."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from plumbob.counting import seconds
from plumbob.net.reliable import ReliableLink
from plumbob.protocol.channel import Channel
from plumbob.run_folder import RunFolder

SECONDS_BETWEEN = 1.0


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
        return time.time() - self.written < 5 * SECONDS_BETWEEN

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


@dataclass
class Watch:
    """The objects that the status is taken from, once they exist."""

    links: Mapping[str, ReliableLink] = field(default_factory=dict)
    channels: Mapping[str, Channel] = field(default_factory=dict)


@contextmanager
def kept_up_to_date(folder: Path, status: Status) -> Iterator[Watch]:
    """Write the file now and every second until the end."""
    ended, file = threading.Event(), RunFolder(folder).status_file
    watch = Watch()

    def write() -> None:
        while not ended.wait(SECONDS_BETWEEN):
            _write(file, status, watch, time.time())

    _write(file, status, watch, time.time())
    thread = threading.Thread(target=write, name="status", daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
        # Long ago: nobody is at work any more.
        _write(file, status, watch, 0.0)


def read_status(folder: Path) -> Status | None:
    """What the last process wrote; None if there is nothing that can be read."""
    try:
        return msgspec.json.decode(RunFolder(folder).status_file.read_bytes(), type=Status)
    except (OSError, msgspec.DecodeError):
        return None


def _write(file: Path, status: Status, watch: Watch, now: float) -> None:
    status.connected = [peer for peer, link in watch.links.items() if link.is_connected]
    status.absent = [peer for peer in watch.links if peer not in status.connected]
    waits = [(one.peer, *one.waiting_for) for one in watch.channels.values() if one.waiting_for is not None]
    status.waiting_for = f"{waits[0][0]}'s {waits[0][1]}" if waits else ""
    status.waiting_seconds = time.monotonic() - waits[0][2] if waits else 0.0
    status.written = now
    draft = file.with_suffix(".draft")
    # A disk that is full stops the run at its journal, not here.
    with suppress(OSError):
        draft.write_text(json.dumps(asdict(status)), encoding="utf-8")
        draft.replace(file)
