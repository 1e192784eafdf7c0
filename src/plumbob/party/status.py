"""How far a party's run is and whom it waits for, in a small file that another process may read at any time."""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from plumbob.protocol.channel import Channel
from plumbob.transport.reliable import ReliableLink

FILE = "status.json"
SECONDS_BETWEEN = 1.0


@dataclass
class Status:
    """What is written; the step is set by whoever makes progress."""

    purpose: str
    step: int = 0
    steps: int = 0
    connected: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    waiting_for: str = ""
    """A peer and its message, or nothing while this side calculates."""
    waiting_seconds: float = 0.0
    process: int = field(default_factory=os.getpid)
    written: float = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether the process that wrote it still writes."""
        return time.time() - self.written < 5 * SECONDS_BETWEEN

    def sentence(self) -> str:
        """For people."""
        where = f"{self.purpose}, {f'step {self.step} of {self.steps}' if self.steps else 'before the first step'}"
        if not self.is_alive:
            return f"{where}; no process is at work, start the same command again to go on"
        if self.absent:
            return f"{where}; waiting for {', '.join(self.absent)} to connect"
        if self.waiting_for:
            return f"{where}; waiting for {self.waiting_for} for {self.waiting_seconds:.0f} s"
        return f"{where}; calculating"


@contextmanager
def kept_up_to_date(
    folder: Path, status: Status, links: Mapping[str, ReliableLink], channels: Mapping[str, Channel]
) -> Iterator[None]:
    """Write the file now and every second until the end, when it is removed."""
    ended = threading.Event()

    def write() -> None:
        while True:
            _write(folder / FILE, status, links, channels)
            if ended.wait(SECONDS_BETWEEN):
                return

    thread = threading.Thread(target=write, name="status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _write(folder / FILE, status, links, channels, written=0.0)


def read_status(folder: Path) -> Status | None:
    """What the last process wrote; None if there is nothing that can be read."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Status)
    except (OSError, msgspec.DecodeError):
        return None


def _write(
    file: Path,
    status: Status,
    links: Mapping[str, ReliableLink],
    channels: Mapping[str, Channel],
    written: float | None = None,
) -> None:
    status.connected = [peer for peer, link in links.items() if link.is_connected]
    status.absent = [peer for peer in links if peer not in status.connected]
    waiting = [channel for channel in channels.values() if channel.waiting_for is not None]
    status.waiting_for = "".join(f"{one.peer}'s {one.waiting_for[0]}" for one in waiting[:1] if one.waiting_for)
    status.waiting_seconds = max(
        (time.monotonic() - one.waiting_for[1] for one in waiting if one.waiting_for), default=0.0
    )
    status.written = time.time() if written is None else written
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(status)), encoding="utf-8")
    draft.replace(file)
