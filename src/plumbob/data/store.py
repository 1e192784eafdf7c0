"""Arrays that may be larger than memory, and how they are walked through.

Above a size an array lives in a temporary file that has lost its name before anything is written to it: nobody else can
open it, nothing is left behind, not even by a process that is killed, and its pages are the system's to write out and
to read back. The file lies where temporary files do (TMPDIR).
"""

import math
import tempfile
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

MAPPED_FROM = 64 * 2**20
"""Bytes from which on an array lives in a file."""
ROWS_AT_ONCE = 65_536
"""Rows of a table that are read at once."""
NUMBERS_AT_ONCE = 2**18
"""Numbers of a matrix that are worked on at once: few enough for a processor's cache and for memory that is reused."""


def empty(*shape: int) -> NDArray[np.float64]:
    """Uninitialised numbers, in memory or in a file without a name."""
    size = 8 * math.prod(shape)
    if size < MAPPED_FROM:
        return np.empty(shape)
    with tempfile.TemporaryFile(prefix="plumbob-") as file:
        return np.asarray(np.memmap(file, np.float64, "w+", shape=shape))


def stacked(rows: int, columns: int, pieces: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """At most so many rows, which come in order, some at a time, as one array; in memory, or in a file without a name.

    A file is written several times faster than the pages of an array that is mapped to it.
    """
    if 8 * rows * columns < MAPPED_FROM:
        return np.concatenate([np.empty((0, columns)), *pieces])
    with tempfile.TemporaryFile(prefix="plumbob-") as file:
        for piece in pieces:
            file.write(np.ascontiguousarray(piece).data)
        file.flush()
        return np.asarray(np.memmap(file, np.float64, "r+", shape=(file.tell() // (8 * columns), columns)))


def pieces(rows: int, columns: int = 0) -> Iterator[slice]:
    """Slices through all rows in order, shorter ones for many columns; at least one, which may be empty."""
    at_once = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // max(columns, 1)))
    for start in range(0, max(rows, 1), at_once):
        yield slice(start, min(start + at_once, rows))
