"""Arrays that may be larger than memory, and how they are walked through.

Above a size an array lives in a temporary file that has lost its name before anything is written to it: nobody else can
open it, nothing is left behind, not even by a process that is killed, and its pages are the system's to write out and
to read back. The file lies where temporary files do (TMPDIR).
"""

import math
import mmap
import tempfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MAPPED_FROM = 64 * 2**20
"""Bytes from which on an array is a file."""
ROWS_AT_ONCE = 65_536
"""Of a table that is walked through."""
NUMBERS_AT_ONCE = 2**19
"""Of a matrix that is worked on again and again: what a processor keeps at hand."""


def empty(*shape: int) -> NDArray[np.float64]:
    """Numbers to be filled in; in memory, or in a file without a name."""
    size = 8 * math.prod(shape)
    if size < MAPPED_FROM:
        return np.empty(shape)
    with tempfile.TemporaryFile(prefix="plumbob-") as file:
        return np.asarray(np.memmap(file, np.float64, "w+", shape=shape))


def release(array: NDArray[np.float64]) -> None:
    """Let the system take this array's pages out of memory; what was written stays in the file.

    Whoever fills or walks through a large array calls it after each piece. Otherwise every page that was ever touched
    counts as memory of this process.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)


def pieces(rows: int, columns: int = 0) -> Iterator[slice]:
    """All rows in order, some at once; at least one piece, which may be empty. Of many columns, fewer rows."""
    at_once = max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // max(columns, 1)))
    for start in range(0, max(rows, 1), at_once):
        yield slice(start, min(start + at_once, rows))
