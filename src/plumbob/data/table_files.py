"""Tables from CSV, Parquet and Feather files, column by column: a file may be larger than memory.

Arrow reads the files. Of a CSV file it reads texts only: what they mean is decided by `cells`, because Arrow's own
guess takes the zeros from 007 and the thousands from 8.520 before anybody can ask. Its messages may quote a cell, so
none is passed on.
"""

import gzip
import mmap
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv, feather, parquet

from plumbob.data import store
from plumbob.data.cells import A_NUMBER, NOT_UTF8
from plumbob.data.frames import Cells, assemble
from plumbob.data.tables import ColumnChoices, Table
from plumbob.errors import DataError

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
FEATHER_ENDINGS = (".feather", ".arrow")
SEPARATORS = (",", ";", "\t", "|")
LONGEST_ROW = 2**20
"""Bytes of one row of a CSV file, and of what is read at once: past it, a quotation mark was left open rather than a
cell that long written."""
CELLS_OF_A_LINE = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")
COLUMN_OF_AN_ERROR = re.compile(r"CSV column #(\d+)")
STRANGE_QUOTES = r'^\s+"|\\.*"'
"""What is left of a blank before a quotation mark, or of a backslash before one, where it should be doubled."""

ODD_QUOTES = (
    "a quotation mark stands behind a blank or a backslash; begin a quoted cell right behind the separator, and double"
    " a mark within it"
)
OPEN_QUOTE = "a cell begins with a quotation mark and does not end with one; close it or leave the mark out"


def read_table(
    path: str | Path,
    id_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
    choices: ColumnChoices = ColumnChoices(),  # noqa: B008  # Frozen.
) -> Table:
    """A table from a file; `columns` picks and orders the features."""
    if columns is not None:
        choices = replace(choices, columns=tuple(columns))
    with _opened(Path(path)) as cells:
        table = assemble(cells, id_column, label_column, choices)
    # Arrow keeps what it used for the next file, and there is none.
    pa.default_memory_pool().release_unused()
    return table


def column_names(path: str | Path) -> tuple[str, ...]:
    """The names of a file's columns, read without its rows."""
    with _opened(Path(path)) as cells:
        return tuple(cells.names)


@contextmanager
def _opened(file: Path) -> Iterator[Cells]:
    """The cells of a file, which are read when a column is asked for."""
    if not file.is_file():
        found = "expected a file, this is a folder" if file.is_dir() else "there is no such file; check name and folder"
        raise DataError(f"{file}: {found}")
    name = file.name.lower()
    if not name.endswith((*CSV_ENDINGS, *PARQUET_ENDINGS, *FEATHER_ENDINGS)):
        raise DataError(
            f"{file}: expected a name that ends in .csv, .csv.gz, .tsv, .parquet or .feather; a spreadsheet can"
            " save its table as CSV"
        )
    names: tuple[str, ...] = ()
    try:
        with ExitStack() as stack:
            if name.endswith(PARQUET_ENDINGS):
                # Not mapped: a mapped file's pages would stay in memory, all columns together.
                cells = _cells_of_parquet(stack.enter_context(parquet.ParquetFile(file)))
            elif name.endswith(FEATHER_ENDINGS):
                cells = _cells_of(stack.enter_context(pa.memory_map(str(file))))
            else:
                separator, names = _layout(file)
                cells = _cells_of_csv(stack, file, separator, names)
            yield cells
    except DataError:
        # It says what is wrong already.
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{file}: could not be read as a table ({_describe(error, names)})") from None


def _cells_of_parquet(reader: parquet.ParquetFile) -> Cells:
    return Cells(_distinct(reader.schema_arrow.names), lambda name: reader.read([name]).column(name))


def _cells_of(mapped: Any) -> Cells:
    """The cells of a file that Arrow wrote, which stay where they are if they are not compressed."""
    names = _distinct(pa.ipc.open_file(mapped).schema.names)
    return Cells(names, lambda name: feather.read_table(mapped, columns=[name]).column(name))


# CSV files.


def _layout(file: Path) -> tuple[str, tuple[str, ...]]:
    """(separator, names of the columns); DataError where the first line cannot be the columns' names."""
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as content:
        beginning = content.read(LONGEST_ROW).removeprefix(b"\xef\xbb\xbf")
    if not beginning.strip():
        raise DataError(f"{file}: the file is empty; expected a header line and one line per row")
    if beginning[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in beginning[:200]:
        raise DataError(f"{file}: expected text in UTF-8, this is UTF-16 or no text; save the file as UTF-8")
    try:
        header = re.split(rb"\r\n|\n|\r", beginning)[0].decode()
    except UnicodeDecodeError:
        raise DataError(f"{file}: expected text in UTF-8, its first line is not; save the file as UTF-8") from None
    separator = max(SEPARATORS, key=re.sub('"[^"]*"', "", header).count)
    with _reader(file, separator) as reader:
        names = tuple(reader.schema.names)
    counted = [[str(place) for place in range(start, start + len(names))] for start in (0, 1)]
    if all(re.fullmatch(A_NUMBER, name.strip()) for name in names) and list(names) not in counted:
        raise DataError(
            f"{file}: expected the columns' names in the first line, all {len(names)} cells are numbers; write names"
            " there"
        )
    if any(re.search(STRANGE_QUOTES, name) for name in names):
        raise DataError(f"{file}: the first line: {ODD_QUOTES}")
    return separator, _distinct(names)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names without blanks around them, or by its place where a column has none; refused if two are the same."""
    bare = tuple(name.strip() or f"(column {place})" for place, name in enumerate(names, 1))
    if repeated := sorted({name for name in bare if bare.count(name) > 1}):
        raise DataError(
            f"{len(bare) - len(set(bare))} of {len(bare)} columns repeat a name: {', '.join(map(repr, repeated))}; give"
            " each its own"
        )
    return bare


@contextmanager
def _reader(file: Path, separator: str, converting: csv.ConvertOptions | None = None) -> Iterator[Any]:
    # By its name: Arrow's threads may outlive the program, which a Python object in their hands would then abort.
    reading = csv.ReadOptions(block_size=LONGEST_ROW, use_threads=False)
    parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    with csv.open_csv(str(file), reading, parsing, converting) as reader:
        yield reader


def _cells_of_csv(stack: ExitStack, file: Path, separator: str, names: tuple[str, ...]) -> Cells:
    """All cells as texts, None for a gap."""

    @cache
    def table() -> pa.Table:
        return _rows_of_csv(stack, file, separator).rename_columns(list(names))

    return Cells(names, lambda name: table().column(name), is_written=True)


def _rows_of_csv(stack: ExitStack, file: Path, separator: str) -> pa.Table:
    """All rows; in a file without a name where they are many."""
    with _reader(file, separator) as reader:
        written = reader.schema.names
    as_texts = csv.ConvertOptions(column_types=dict.fromkeys(written, pa.string()), strings_can_be_null=True)
    with _reader(file, separator, as_texts) as reader:
        batches = iter(reader)
        first = list(islice(batches, store.MAPPED_FROM // LONGEST_ROW))
        table = pa.Table.from_batches(first, reader.schema)
        if (following := next(batches, None)) is not None:
            room: Any = stack.enter_context(tempfile.TemporaryFile(prefix="plumbob-"))  # noqa: SIM115  # The stack is one.
            with pa.ipc.new_file(room, reader.schema) as out:
                for batch in chain(first, [following], batches):
                    out.write_batch(batch)
            room.flush()
            table = pa.ipc.open_file(pa.py_buffer(mmap.mmap(room.fileno(), 0, access=mmap.ACCESS_READ))).read_all()
    _refuse_damage(table)
    return table


def _refuse_damage(table: pa.Table) -> None:
    """Refuse what Arrow reads as cells although somebody meant something else."""
    is_header = np.ones(table.num_rows, dtype=bool)
    for name in table.column_names:
        cells = table.column(name)
        if is_header.any():
            is_header &= compute.equal(cells, name).fill_null(name == "").to_numpy()
        with_quotes = cells.filter(compute.match_substring(cells, '"'))
        if compute.any(compute.match_substring_regex(with_quotes, STRANGE_QUOTES)).as_py():
            raise DataError(f"column {name.strip()!r}: {ODD_QUOTES}")
    if is_header.any():
        # Files that were put one after the other keep the names of each.
        raise DataError(
            f"row {int(np.argmax(is_header)) + 1} repeats the line with the columns' names; take that line out"
        )
    last = table.column(table.num_columns - 1)[-1].as_py() if table.num_rows else None
    if last is not None and last.endswith(("\n", "\r")):
        raise DataError(f"{OPEN_QUOTE}; see row {table.num_rows}")


def _describe(error: Exception, names: tuple[str, ...] = ()) -> str:
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
