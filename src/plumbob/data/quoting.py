"""Files whose quoted cells are not written as the usual reader expects them, written again so that it can read them.

Two habits are known: a blank between the separator and the opening mark (`a, "b"`), and a backslash before a mark
within a quoted cell (`"say \\"yes\\""`) where the usual way is to double it. A file without either is left alone. A
backslash before a mark may also be the end of a cell (`"C:\\"`): a file that can be read in the usual way is read so.
"""

import csv
import gzip
import mmap
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from plumbob.data.csv_files import OPEN_QUOTE, separator_of
from plumbob.errors import DataError

BLANK_FIRST = re.compile(rb'[,;\t|][ ]+"')
ESCAPED = b'\\"'
END_OF_FILE = "unexpected end of data"
"""As the csv module says that a quoted cell is not closed."""
PIECE = 2**24
ROWS_AT_ONCE = 10_000


@contextmanager
def plainly_quoted(file: Path) -> Iterator[Path]:
    """The file, or for as long as it is read a private copy of it that is quoted in the usual way."""
    habits = _habits(file)
    if not any(habits):
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="plumbob-") as folder:
        copy = Path(folder) / "table.csv"
        if not _write_again(file, copy, has_backslashes=habits[1]):
            copy = file
        try:
            yield copy
        except DataError as error:
            raise DataError(str(error).replace(str(copy), str(file))) from None


def _habits(file: Path) -> tuple[bool, bool]:
    """(blanks before a mark, backslashes before one), somewhere in the file: a reason to look, no proof."""
    if file.suffix.lower() != ".gz":
        if not file.stat().st_size:
            return False, False
        with file.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _has_blanks(data), data.find(ESCAPED) >= 0
    blanks = escaped = False
    with gzip.open(file, "rb") as packed:
        end = b""
        while piece := packed.read(PIECE):
            blanks, escaped = blanks or _has_blanks(end + piece), escaped or ESCAPED in end + piece
            end = piece[-16:]
    return blanks, escaped


def _has_blanks(data: Any) -> bool:
    return data.find(b' "') >= 0 and BLANK_FIRST.search(data) is not None


def _write_again(file: Path, copy: Path, has_backslashes: bool) -> bool:
    """False where the file cannot be read in either way: the usual reader says what is wrong with it."""
    problems = []
    for way in [{}, {"escapechar": "\\"}] if has_backslashes else [{}]:
        problem = _copy(file, copy, way)
        if problem is None:
            return True
        problems.append(problem)
    if any(END_OF_FILE in problem for problem in problems):
        # The usual reader takes a mark after a blank for a part of the text.
        raise DataError(f"{file}: {OPEN_QUOTE}")
    return False


def _copy(file: Path, copy: Path, way: dict[str, Any]) -> str | None:
    """What is wrong, for the code and not for a reader; None if the copy is complete."""
    try:
        with _open_text(file) as content, copy.open("w", encoding="utf-8", newline="") as out:
            separator = _separator(content)
            rows = csv.reader(content, delimiter=separator, skipinitialspace=True, strict=True, **way)
            writer = csv.writer(out, delimiter=separator, lineterminator="\n")
            return None if _has_even_rows(rows, writer) else "rows differ in length"
    except (csv.Error, UnicodeDecodeError) as error:
        return str(error)


def _has_even_rows(rows: Any, writer: Any) -> bool:
    """Whether every row has as many cells as the first; they are written on the way."""
    width = None
    while some := [row for row in islice(rows, ROWS_AT_ONCE) if row]:
        width = width or len(some[0])
        if any(len(row) != width for row in some):
            return False
        # Lines within a cell end in one way, as they do for a file that is read as it is.
        writer.writerows([cell.replace("\r\n", "\n").replace("\r", "\n") for cell in row] for row in some)
    return True


def _separator(content: IO[str]) -> str:
    first = content.readline()
    content.seek(0)
    return separator_of(first)


@contextmanager
def _open_text(file: Path) -> Iterator[IO[str]]:
    is_packed = file.suffix.lower() == ".gz"
    with (
        gzip.open(file, "rt", encoding="utf-8-sig", newline="")
        if is_packed
        else file.open(encoding="utf-8-sig", newline="")
    ) as content:
        yield content
