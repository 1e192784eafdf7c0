"""Lists of points on a party's own disk, because ten million of them, several times over, do not fit into memory.

A list is written and read chunk by chunk. To compare lists, each is split by its points' first bits into parts, which
are sorted; equal points are in equal parts, and one part after the other fits into memory. Points under somebody's
scalar are uniform, so the parts are equally long, and in order: one after the other, they are the whole list sorted.
Nothing of this is told to anybody.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from plumbob import counting
from plumbob.arrays import Flags
from plumbob.crypto.ristretto import POINT_BYTES
from plumbob.errors import ROOM_ADVICE, JournalError

PARTS = 64
SMALL = 1 << 18  # A list with no more points than these is in memory, and lists are compared about so many at a time.
READ_AT_ONCE = 1 << 16  # Points, while a list is split.
WORDS = POINT_BYTES // 8
RECORD = np.dtype([("point", "V32"), ("place", "<u4")])

Records = NDArray[np.void]
"""Points with their places in their list."""
PointWords = NDArray[np.uint64]
"""Points as four numbers each, in the order of the bytes."""


class Scratch(ExitStack):
    """Files in a party's own folder that nobody else sees; they vanish when the process ends, in whatever way."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self._folder = folder

    def refuse_full_disk(self, needed: int, file: BinaryIO) -> None:
        """Refuse a full disk before hours of work; what is in the file already needs no more room."""
        if self._folder is None:
            return
        needed, free = needed - os.fstat(file.fileno()).st_size, shutil.disk_usage(self._folder).free
        if needed > free:
            raise JournalError(
                f"{self._folder}: an alignment of so many ids needs {counting.size(needed)} of room here, and"
                f" {counting.size(free)} are free; {ROOM_ADVICE}"
            )

    def file(self) -> BinaryIO:
        return self.enter_context(tempfile.TemporaryFile(dir=self._folder))


@dataclass(repr=False)
class PointList:
    """Chunks of points, each where it was written: in a file of its own, or in one that holds other things too."""

    file: BinaryIO
    spans: list[tuple[int, int]] = field(default_factory=list)
    """The start of each chunk, and its size in bytes."""
    count: int = 0

    def append(self, points: bytes) -> None:
        self.note(self.file.seek(0, 2), len(points))
        self.file.write(points)

    def note(self, start: int, size: int) -> None:
        """Note a chunk that is in the file already."""
        if size:
            self.spans.append((start, size))
            self.count += size // POINT_BYTES

    def chunk(self, number: int) -> bytes:
        if number >= len(self.spans):
            return b""
        start, size = self.spans[number]
        self.file.seek(start)
        return self.file.read(size)

    def __iter__(self) -> Iterator[bytes]:
        return map(self.chunk, range(len(self.spans)))

    def __len__(self) -> int:
        return self.count

    def is_sorted(self) -> bool:
        """Whether every point is greater than the one before."""
        last = np.zeros((0, WORDS), dtype=np.uint64)
        for chunk in self:
            words = np.concatenate([last, _words(_bytes_of(chunk))])
            if not _is_greater(words[1:], words[:-1]).all():
                return False
            last = words[-1:]
        return True

    def digest(self) -> bytes:
        """SHA-256 over all points."""
        hashing = hashlib.sha256()
        for chunk in self:
            hashing.update(chunk)
        return hashing.digest()


def kept(scratch: Scratch, points: Iterable[bytes], chunk: int) -> PointList:
    """Keep points that come in pieces of any length as a list in chunks of this many."""
    found, waiting, size = PointList(scratch.file()), bytearray(), chunk * POINT_BYTES
    for piece in points:
        waiting += piece
        whole = len(waiting) // size * size
        for start in range(0, whole, size):
            found.append(bytes(waiting[start : start + size]))
        del waiting[:whole]
    if waiting:
        found.append(bytes(waiting))
    return found


def shuffled(points: PointList, order: NDArray[np.uint32], chunk: int, scratch: Scratch) -> PointList:
    """The same points in another order."""
    starts = np.concatenate([np.arange(start, start + size, POINT_BYTES) for start, size in points.spans])
    points.file.flush()
    whole = np.memmap(points.file, dtype=np.uint8, mode="r")
    bytes_of_one = np.arange(POINT_BYTES)
    pieces = (
        whole[starts[order[start : start + chunk], None] + bytes_of_one].tobytes()
        for start in range(0, len(points), chunk)
    )
    return kept(scratch, pieces, chunk)


class PointParts:
    """A list's points with their places in it, sorted: in memory, or split by their first bits over a file."""

    def __init__(self, points: PointList, scratch: Scratch) -> None:
        self.points = points
        if len(points) <= SMALL:
            self._whole = _sorted(_records(b"".join(points), 0))
            self._ends = _part_sizes(_points_of(self._whole)).cumsum()
            return
        self._file = scratch.file()
        self._ends = np.sum([_part_sizes(_bytes_of(chunk)) for chunk in points], axis=0).cumsum()
        self._split()
        for number in range(PARTS):
            records = _sorted(self.part(number, PARTS))
            self._write(self._end_of(number, PARTS), records)

    def _split(self) -> None:
        """Write each record to its part's next free place in the file."""
        free, done = np.append(0, self._ends[:-1]), 0
        for chunk in _larger(self.points):
            records = _records(chunk, done)
            done += len(records)
            parts = _parts_of(_bytes_of(chunk))
            ordered = np.take(records, np.argsort(parts, kind="stable"))
            sizes = _part_sizes(_bytes_of(chunk))
            for part, end in enumerate(sizes.cumsum()):
                self._write(int(free[part]), ordered[end - sizes[part] : end])
            free += sizes

    def part(self, number: int, of: int) -> Records:
        """One of so many, a power of two."""
        first, last = self._end_of(number, of), self._end_of(number + 1, of)
        if len(self.points) <= SMALL:
            return self._whole[first:last]
        self._file.seek(first * RECORD.itemsize)
        return np.frombuffer(self._file.read((last - first) * RECORD.itemsize), dtype=RECORD)

    def sorted_points(self) -> Iterator[bytes]:
        """All points, in the order of their bytes."""
        for (records,) in in_step(self):
            yield records["point"].tobytes()

    def repeated(self) -> int:
        """How many points equal an earlier one."""
        found = (records["point"][1:] == records["point"][:-1] for (records,) in in_step(self))
        return sum(map(np.count_nonzero, found))

    def _end_of(self, parts: int, of: int) -> int:
        return int(self._ends[parts * PARTS // of - 1]) if parts else 0

    def _write(self, place: int, records: Records) -> None:
        self._file.seek(place * RECORD.itemsize)
        self._file.write(records.tobytes())


def in_step(*lists: PointParts) -> Iterator[tuple[Records, ...]]:
    """The same part of every list, one part after the other."""
    longest = max(len(each.points) for each in lists)
    count = min(PARTS, 1 << (longest // SMALL).bit_length())
    for number in range(count):
        yield tuple(each.part(number, count) for each in lists)


def in_common(*lists: PointParts) -> Iterator[Records]:
    """The first list's points that all others have too, sorted; part after part."""
    for records in in_step(*lists):
        yield reduce(lambda some, others: some[_is_in(some, others)], records)


def _is_in(some: Records, others: Records) -> Flags:
    """Which of some points are among the others; both are sorted."""
    if not len(others):
        return np.zeros(len(some), dtype=np.bool_)
    there = _first_words(others)
    first = np.minimum(np.searchsorted(there, _first_words(some)), len(there) - 1)
    found: Flags = np.take(others["point"], first) == some["point"]
    # Points that share eight bytes only somebody makes on purpose: those after the first are compared in full.
    later = others["point"][1:][there[1:] == there[:-1]]
    if len(later):
        rest = {point.tobytes() for point in later}
        found |= np.array([point.tobytes() in rest for point in some["point"]], dtype=np.bool_)
    return found


def _sorted(records: Records) -> Records:
    words = _first_words(records)
    order = np.argsort(words)
    if (words[order[1:]] == words[order[:-1]]).any():
        order = np.lexsort(_words(_points_of(records)).T[::-1])
    return np.take(records, order)


def _first_words(records: Records) -> NDArray[np.uint64]:
    """As in `_words`."""
    return np.ndarray(len(records), ">u8", records, strides=records.strides).astype(np.uint64)


def _is_greater(left: PointWords, right: PointWords) -> Flags:
    """Whether each point is greater, by the first number that differs."""
    found = np.zeros(len(left), dtype=np.bool_)
    for word in reversed(range(WORDS)):
        found = (left[:, word] > right[:, word]) | ((left[:, word] == right[:, word]) & found)
    return found


def _words(points: NDArray[np.uint8]) -> PointWords:
    """Points as numbers read big-endian, so that they are ordered as the bytes are."""
    return points.view(">u8").astype(np.uint64)


def _points_of(records: Records) -> NDArray[np.uint8]:
    return np.ascontiguousarray(records["point"]).view(np.uint8).reshape(-1, POINT_BYTES)


def _records(points: bytes, first: int) -> Records:
    count = len(points) // POINT_BYTES
    records = np.empty(count, dtype=RECORD)
    records["point"] = np.frombuffer(points, dtype="V32")
    records["place"] = np.arange(first, first + count, dtype=np.uint32)
    return records


def _bytes_of(chunk: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(chunk, dtype=np.uint8).reshape(-1, POINT_BYTES)


def _parts_of(points: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The first six bits; all of them vary."""
    return points[:, 0] >> np.uint8(2)


def _part_sizes(points: NDArray[np.uint8]) -> NDArray[np.intp]:
    return np.bincount(_parts_of(points), minlength=PARTS)


def _larger(points: PointList) -> Iterator[bytes]:
    """Several chunks at once, so that each part gets a piece worth writing."""
    waiting = bytearray()
    for chunk in points:
        waiting += chunk
        if len(waiting) >= READ_AT_ONCE * POINT_BYTES:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)
