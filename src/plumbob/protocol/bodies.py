"""Long messages of a journal, in plain files beside it.

In the database each of them would be written four times: into its log and its file, then with zeros in both after the
step. Here it is written once, by a thread of its own, and is on the disk before the database refers to it: what came
from a peer is written while the answer is calculated. A file is used again from its
beginning once nothing refers to it, so that a later step writes over an earlier one. What stands here has travelled:
with the draws gone, nobody can decrypt it.
"""

import os
import struct
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from plumbob.net import Data

LONG = 1 << 16
"""Bytes of the shortest message that is kept here."""
PLACE = struct.Struct("<IQQ")
ZEROS = bytes(1 << 20)


@dataclass(frozen=True)
class Place:
    """Where a body lies on disk."""

    file: int
    start: int
    size: int

    def to_bytes(self) -> bytes:
        return PLACE.pack(self.file, self.start, self.size)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Place":
        return cls(*PLACE.unpack(data))


class Bodies:
    """The files of one journal; the caller says which of them it still refers to. Raises OSError."""

    def __init__(self, journal: Path, used: Collection[int]) -> None:
        self._journal = journal
        self._handles: dict[int, int] = {}
        self._current, self._position = -1, 0
        self._writer = ThreadPoolExecutor(1, "plumbob journal")
        self._pending: list[Future[None]] = []
        self.turn(used)

    def put(self, data: Data) -> Place:
        """Write a body; it is durable after the next `sync`, which raises what went wrong."""
        place = Place(self._current, self._position, len(data))
        self._pending.append(self._writer.submit(_write_durably, self._handle(place.file), data, place.start))
        self._position += len(data)
        return place

    def sync(self) -> None:
        pending, self._pending = self._pending, []
        for each in pending:
            each.result()

    def get(self, place: Place) -> bytes:
        self.sync()
        return os.pread(self._handle(place.file), place.size, place.start)

    def turn(self, used: Collection[int]) -> None:
        """Switch to a file that nothing refers to."""
        self.sync()
        self._current = next(number for number in range(len(used) + 1) if number not in used)
        self._position = 0

    def erase(self) -> None:
        """Overwrite everything, and remove it."""
        self.sync()
        for file in self._files():
            number = int(file.name.rpartition("-")[2])
            for start in range(0, file.stat().st_size, len(ZEROS)):
                _write(self._handle(number), ZEROS, start)
            if number in self._handles:
                os.fsync(self._handles[number])
            file.unlink()
        self._close_files()

    def close(self) -> None:
        """Close without waiting for what nobody refers to yet."""
        self._writer.shutdown(wait=True, cancel_futures=True)
        self._close_files()

    def _close_files(self) -> None:
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()

    def _handle(self, number: int) -> int:
        if number not in self._handles:
            path = self._journal.with_name(f"{self._journal.name}-body-{number}")
            is_new = not path.exists()
            self._handles[number] = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
            if is_new:
                _sync_folder(path.parent)
        return self._handles[number]

    def _files(self) -> list[Path]:
        return sorted(self._journal.parent.glob(f"{self._journal.name}-body-*"))


def _write_durably(handle: int, data: Data, start: int) -> None:
    _write(handle, data, start)
    os.fdatasync(handle)


def _write(handle: int, data: Data, start: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(handle, rest, start)
        rest, start = rest[written:], start + written


def _sync_folder(folder: Path) -> None:
    """Make sure that a new file is found after a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
