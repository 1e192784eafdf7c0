"""A CSV file as frames of typed columns, some rows at a time, by pyarrow's own reader.

Cells are read as text first: a column is numbers only if every cell of the file is one, and a postcode with a leading
zero is none. What a column holds is known at the file's end only. If one turns out to be text after many numbers, the
file is read a second time. Cells may be separated by commas, semicolons, tabs or vertical bars, and a quoted cell may
have several lines.

Files whose quoted cells are not written as that reader expects them are written again first. Two habits are known: a
blank between the separator and the opening mark (`a, "b"`), and a backslash before a mark within a quoted cell
(`"say \\"yes\\""`) where the usual way is to double it. A backslash before a mark may also be the end of a cell
(`"C:\\"`): a file that can be read in the usual way is read so.
"""

import csv
import gzip
import mmap
import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from plumbob.errors import DataError

LONGEST_ROW = 2**20
"""Bytes of one row of a CSV file, and of what is read at once: past it, a quotation mark was left open rather than a
cell that long written."""
BLOCKS_TOGETHER = 16
"""How many blocks make a frame: some work is done once per column and frame, and would outweigh reading one block."""
SEPARATORS = (",", ";", "\t", "|")
NOT_UTF8 = "holds text that is not UTF-8; save the file as UTF-8"
UTF8_MARK = b"\xef\xbb\xbf"
OPEN_QUOTE = "a cell begins with a quotation mark and does not end with one; close it or leave the mark out"
CELLS_OF_A_LINE = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
COLUMN_OF_AN_ERROR = re.compile(r"CSV column #(\d+)")
SEPARATOR_LINE = re.compile(r"sep=(.)\s*$")
LEADING_ZERO = r"^\s*[+-]?0[0-9]"
BLANK_FIRST = re.compile(rb'[,;\t|][ ]+"')
ESCAPED = b'\\"'
END_OF_FILE = "unexpected end of data"
"""How the csv module says that a quoted cell is not closed."""
PIECE = 2**24
ROWS_AT_ONCE = 10_000
FLAGS = ("true", "false", "True", "False", "TRUE", "FALSE")


@dataclass(frozen=True)
class CsvLayout:
    """What the first lines of a file say: the separator, the lines before the names, and the columns' names."""

    separator: str
    skipped: int
    names: tuple[str, ...]


class TextAfterAllError(Exception):
    """These columns hold a text below numbers or flags that were passed on as such: read them as text."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(f"{len(names)} columns")
        self.names = names


def read_csv(file: Path, layout: CsvLayout, texts: Collection[str], gaps: Collection[str]) -> Iterator[Any]:
    """Frames, one at least. `texts` are columns that stay text; `gaps` are cells that mean a gap.

    Raises TextAfterAllError at the end of a file whose columns have to be read otherwise.
    """
    survey = _Survey(file, layout.names, texts)
    for frame in _frames(file, layout, gaps):
        yield survey.typed(frame)
    survey.finish()


def first_rows(file: Path, layout: CsvLayout) -> Any:
    """The first frame, with all cells as text."""
    frame = next(_frames(file, layout, ()))
    return frame.rename_columns(list(readable_names(layout.names)))


def find_layout(file: Path) -> CsvLayout:
    """Find the layout of a file. Raises DataError where its first line cannot be the columns' names."""
    lines = _first_lines(file)
    marked = SEPARATOR_LINE.match(lines[0])
    header = lines[1] if marked and len(lines) > 1 else lines[0]
    separator = marked[1] if marked else separator_of(header)
    skipped = 1 if marked else 0
    with _reader(file, separator, skipped) as reader:
        names = tuple(reader.schema.names)
    _refuse_names(file, names)
    return CsvLayout(separator, skipped, names)


def separator_of(header: str) -> str:
    """The separator that occurs most often outside quoted names in this header; a comma if none does."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


def readable_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names without blanks around them; a column without a name is called by its place."""
    return tuple(name.strip() or f"(column {place})" for place, name in enumerate(names, 1))


def describe_error(error: Exception, names: tuple[str, ...] = ()) -> str:
    """The part of a parser's message that may be passed on: its kind or its numbers, because it may quote a cell."""
    message = str(error)
    if counts := CELLS_OF_A_LINE.search(message):
        where = f"row {int(counts[1]) - 1} has {counts[3]}" if counts[1] else f"got one with {counts[3]}"
        return f"expected {counts[2]} cells in every line, as in the first one, {where}"
    if "invalid UTF8" in message:
        column = COLUMN_OF_AN_ERROR.search(message)
        known = column is not None and int(column[1]) < len(names)
        return f"column {names[int(column[1])]!r} {NOT_UTF8}" if column and known else "expected text in UTF-8"
    if "straddling object" in message:
        return f"expected rows of {LONGEST_ROW} bytes at most, got a longer one; is a quotation mark left open?"
    if "Empty CSV" in message:
        return "expected a line with the columns' names and a line for each row, the file has none"
    return type(error).__name__


def _first_lines(file: Path) -> list[str]:
    with _native(file) as stream:
        beginning = bytes(stream.read(LONGEST_ROW)).removeprefix(UTF8_MARK)
    if not beginning.strip():
        raise DataError(f"{file}: the file is empty; expected a header line and one line per row")
    if beginning[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in beginning[:200]:
        raise DataError(f"{file}: expected text in UTF-8, this is UTF-16 or no text; save the file as UTF-8")
    lines = re.split(rb"\r\n|\n|\r", beginning)[:2]
    try:
        return [line.decode() for line in lines]
    except UnicodeDecodeError:
        # A character of the second line may be cut in two, or be what only the reader can tell by column.
        pass
    try:
        return [lines[0].decode()]
    except UnicodeDecodeError:
        raise DataError(f"{file}: expected text in UTF-8, its first line is not; save the file as UTF-8") from None


def _refuse_names(file: Path, names: tuple[str, ...]) -> None:
    numbers = [name for name in names if re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", name)]
    counted = [[str(place) for place in range(start, start + len(names))] for start in (0, 1)]
    if len(numbers) == len(names) and list(names) not in counted:
        raise DataError(
            f"{file}: expected the columns' names in the first line, all {len(names)} cells are numbers; write names"
            " there"
        )
    told = [name.strip() for name in names]
    if repeated := sorted({name for name in told if told.count(name) > 1 and name}):
        raise DataError(
            f"{file}: {len(told) - len(set(told))} of {len(names)} columns repeat a name:"
            f" {', '.join(map(repr, repeated))}; give each its own"
        )


def _frames(file: Path, layout: CsvLayout, gaps: Collection[str]) -> Iterator[Any]:
    """All cells as text, None for a gap; a single frame without rows if the file has none."""
    from pyarrow import Table, string
    from pyarrow import csv as arrow_csv

    marks = [*arrow_csv.ConvertOptions().null_values, *gaps]
    converting = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(layout.names, string()), strings_can_be_null=True, null_values=marks
    )
    with _reader(file, layout.separator, layout.skipped, converting) as reader:
        batches = iter(reader)
        frame = Table.from_batches(islice(batches, BLOCKS_TOGETHER), reader.schema)
        while True:
            yield frame
            frame = Table.from_batches(islice(batches, BLOCKS_TOGETHER), reader.schema)
            if not frame.num_rows:
                return


@contextmanager
def _reader(file: Path, separator: str, skipped: int, converting: Any = None) -> Iterator[Any]:
    from pyarrow import csv as arrow_csv

    reading = arrow_csv.ReadOptions(block_size=LONGEST_ROW, use_threads=False, skip_rows=skipped)
    parsing = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    with _native(file) as stream, arrow_csv.open_csv(stream, reading, parsing, converting) as reader:
        yield reader


def _native(file: Path) -> Any:
    """Arrow's own file: its threads may still hold one when the program ends, and a Python object would abort it."""
    from pyarrow import CompressedInputStream, OSFile

    source = OSFile(str(file))
    return CompressedInputStream(source, "gzip") if file.suffix.lower() == ".gz" else source


@dataclass(repr=False)
class _Survey:
    """What each column holds, block by block."""

    file: Path
    names: tuple[str, ...]
    texts: Collection[str]
    rows: int = 0
    kinds: dict[str, str] = field(default_factory=dict)
    """By column: numbers, flags or texts; columns without any value so far are missing."""
    late: set[str] = field(default_factory=set)
    is_open: bool = False

    def typed(self, frame: Any) -> Any:
        """One more block, with its numbers and flags typed as such."""
        from pyarrow import Table

        self._refuse_header_again(frame)
        told = readable_names(self.names)
        columns = [self._as_type(name, frame.column(place)) for place, name in enumerate(told)]
        if frame.num_rows:
            last = frame.column(len(self.names) - 1)[-1].as_py()
            self.is_open = last is not None and last.endswith(("\n", "\r"))
        self.rows += frame.num_rows
        return Table.from_arrays(columns, names=list(told))

    def finish(self) -> None:
        """Refuse an open quotation mark, which takes everything up to the file's end, its last line break included."""
        if self.is_open and not _ends_with_quote(self.file):
            raise DataError(f"{self.file}: {OPEN_QUOTE}; see row {self.rows}")
        if self.late:
            raise TextAfterAllError(self.late)

    def _as_type(self, name: str, cells: Any) -> Any:
        from pyarrow import compute

        kind = "texts" if name in self.texts else self.kinds.get(name)
        if cells.null_count == len(cells):
            return cells
        if kind in (None, "flags") and _are_flags(cells):
            return self._as_known_type(name, "flags", compute.equal(compute.utf8_lower(cells), "true"))
        if kind in (None, "numbers") and (numbers := _as_numbers(cells)) is not None and not _has_leading_zero(cells):
            return self._as_known_type(name, "numbers", numbers)
        if kind in ("numbers", "flags"):
            self.late.add(name)
        return self._as_known_type(name, "texts", _with_plain_lines(cells))

    def _as_known_type(self, name: str, kind: str, cells: Any) -> Any:
        self.kinds[name] = kind
        return cells

    def _refuse_header_again(self, frame: Any) -> None:
        """Refuse a second header: files that were put one after the other keep the names of each."""
        from pyarrow import compute

        repeats = None
        for place, name in enumerate(self.names):
            same = compute.fill_null(compute.equal(frame.column(place), name), fill_value=name == "")
            repeats = same if repeats is None else compute.and_(repeats, same)
            if not compute.any(repeats).as_py():
                return
        row = self.rows + compute.index(repeats, value=True).as_py() + 1
        raise DataError(f"{self.file}: row {row} repeats the line with the columns' names; take that line out")


def _with_plain_lines(cells: Any) -> Any:
    """Cells whose lines all end in the same way, whichever the file has.

    Arrow loses the second half of a line's end where a block ends between the two.
    """
    from pyarrow import compute

    if not compute.any(compute.match_substring(cells, "\r")).as_py():
        return cells
    return compute.replace_substring_regex(cells, "\r\n?", "\n")


def _ends_with_quote(file: Path) -> bool:
    """Whether a file's bytes end with a quotation mark, which says nothing about a compressed file."""
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - 64))
        return content.read().rstrip().endswith(b'"')


def _as_numbers(cells: Any) -> Any:
    """All cells as numbers, blanks around them aside; None if one is not."""
    from pyarrow import ArrowInvalid, compute, float64

    try:
        return compute.cast(cells, float64())
    except ArrowInvalid:
        pass
    try:
        return compute.cast(compute.utf8_trim_whitespace(cells), float64())
    except ArrowInvalid:
        return None


def _has_leading_zero(cells: Any) -> bool:
    """Whether a cell has a leading zero: 007 is a name, not a number."""
    return any(_has_leading_zero_in(chunk) for chunk in cells.chunks)


def _has_leading_zero_in(cells: Any) -> bool:
    """`_has_leading_zero` by the bytes that Arrow keeps: a pattern would take longer than reading the numbers."""
    from pyarrow import compute

    _, offsets, data = cells.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[cells.offset : cells.offset + len(cells) + 1]
    text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    longer = ends[:-1][np.diff(ends) > 1]
    first, second = text[longer], text[longer + 1]
    if ((first == ord("0")) & (second >= ord("0")) & (second <= ord("9"))).any():
        return True
    if (first > ord("-")).all():
        return False
    # A sign or a blank comes first somewhere.
    return bool(compute.any(compute.match_substring_regex(cells, LEADING_ZERO)).as_py())


def _are_flags(cells: Any) -> bool:
    from pyarrow import array, compute

    return bool(compute.all(compute.is_in(cells.drop_null(), value_set=array(FLAGS))).as_py() in (True, None))


# Files that are quoted in another way.


@contextmanager
def plainly_quoted(file: Path) -> Iterator[Path]:
    """The file itself, or a private copy in the usual quoting that exists while it is read."""
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
    """(blanks before a mark, backslashes before one) somewhere in the file: a reason to look closer, no proof."""
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
    """Write a copy in the usual quoting; False if that fails too, and the usual reader then says what is wrong."""
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
    """Write the copy and return what is wrong, for the code and not for a reader; None if the copy is complete."""
    try:
        with _open_text(file) as content, copy.open("w", encoding="utf-8", newline="") as out:
            separator = _separator(content)
            rows = csv.reader(content, delimiter=separator, skipinitialspace=True, strict=True, **way)
            writer = csv.writer(out, delimiter=separator, lineterminator="\n")
            return None if _has_even_rows(rows, writer) else "rows differ in length"
    except (csv.Error, UnicodeDecodeError) as error:
        return str(error)


def _has_even_rows(rows: Any, writer: Any) -> bool:
    """Write the rows and tell whether every row has as many cells as the first."""
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


def _open_text(file: Path) -> Any:
    is_packed = file.suffix.lower() == ".gz"
    return (gzip.open if is_packed else open)(file, "rt", encoding="utf-8-sig", newline="")
