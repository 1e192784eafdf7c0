"""One party's rows as they came: from a CSV or Parquet file, a data frame of any kind, or an array.

Nothing is repaired here and nothing is scaled; what cannot become numbers later is refused by column names and row
counts, never by showing a value. Files are read some rows at a time, and numbers go where `store` puts them, so that a
file may be larger than memory; ids and texts stay in memory.
"""

import codecs
import gzip
import hashlib
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.data import store
from plumbob.data.shapes import Shapes
from plumbob.errors import DataError
from plumbob.plan import suggestion

Vector = NDArray[np.float64]
Labels = NDArray[np.int8]
Texts = NDArray[np.object_]

CSV_BLOCK = 32 * 2**20
"""Bytes of a CSV file that are read at once."""
LONGEST_ROW = 2**20
"""Bytes of one row of a CSV file: past it, a quotation mark was left open rather than a cell that long written."""
# Only at a cell's beginning does a mark open anything; a doubled one within stands for itself.
QUOTED_CELL = re.compile(rb'"(?<![^,\r\n]")[^"]*+(?:""[^"]*+)*+("?)')
OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
CELLS_OF_A_LINE = re.compile(r"Expected (\d+) columns, got (\d+)")
NOT_UTF8 = "holds text that is not UTF-8; save the file as UTF-8"


@dataclass(frozen=True, repr=False, eq=False)
class Column:
    """Numbers with NaN where a value is missing, or texts with None; one without any value is NaN throughout."""

    name: str
    values: Vector | Texts
    is_stepped: bool = False
    """Whether its bins are told apart step by step (`encoding.Bins`), as the party may choose for a column."""

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {len(self.values)} rows)"

    @property
    def is_text(self) -> bool:
        return self.values.dtype == object

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        if self.is_text:
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.values.astype(np.float64, copy=False))


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """One party's own columns, keyed by id; `labels` are 0/1 and only at the label party, 1 being `classes[1]`."""

    ids: tuple[str, ...]
    columns: tuple[Column, ...]
    labels: Labels | None = None
    classes: tuple[Any, Any] | None = None
    shapes: Shapes | None = None
    """Of the file that these rows come from, where they were found already."""

    def __post_init__(self) -> None:
        if repeated := len(self.ids) - len(set(self.ids)):
            raise DataError(f"{repeated} of {len(self)} rows repeat an id that came before; ids must be unique")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return (
            f"Table({len(self)} rows, {len(self.columns)} columns, {'with' if self.labels is not None else 'no'} label)"
        )

    def digest(self) -> bytes:
        """Over ids, columns and labels, in their order: by it a run knows the rows that it began with."""
        digest = hashlib.sha256(f"{len(self.ids)},{len(self.columns)}:".encode())
        digest.update("".join(f"{len(identity)}:{identity}" for identity in self.ids).encode())
        for column in self.columns:
            digest.update(f"{len(column.name)}:{column.name}".encode())
            values = column.values
            digest.update(repr(values.tolist()).encode() if column.is_text else np.ascontiguousarray(values).data)
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels).data)
        return digest.digest()

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> "Table":
        """The rows at these positions, in this order."""
        positions = np.asarray(rows, dtype=np.intp)
        if np.array_equal(positions, np.arange(len(self))):
            return self
        return self._taken(positions, tuple(self.ids[row] for row in positions))

    def _taken(self, positions: NDArray[np.intp], ids: tuple[str, ...]) -> "Table":
        numbers = store.empty(len(self.columns), len(positions))
        columns = []
        for column, room in zip(self.columns, numbers, strict=True):
            if column.is_text:
                columns.append(replace(column, values=column.values[positions]))
                continue
            room[:] = column.values[positions]
            columns.append(replace(column, values=room))
        labels = None if self.labels is None else self.labels[positions]
        return Table(ids, tuple(columns), labels, self.classes, self.shapes)

    def select(self, ids: Iterable[str]) -> "Table":
        """The rows with these ids, in this order: what an agreed list of ids makes of one's own table."""
        wanted = tuple(ids)
        if wanted == self.ids:
            return self
        position = {identity: row for row, identity in enumerate(self.ids)}
        if absent := sum(identity not in position for identity in wanted):
            raise DataError(f"{absent} of {len(wanted)} agreed ids are not in this table of {len(self)} rows")
        positions = np.fromiter((position[identity] for identity in wanted), dtype=np.intp, count=len(wanted))
        # The caller's own texts: aligned tables share them.
        return self._taken(positions, wanted)


def read_table(
    path: str | Path,
    id_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
) -> Table:
    """A table from a .csv (also .csv.gz) or .parquet file; `columns` picks and orders the features."""
    file = Path(path)
    if not file.is_file():
        raise DataError(
            f"{file}: expected a file, this is a folder" if file.is_dir() else f"{file}: there is no such file"
        )
    source = _readable(file, _reader(file)(file, id_column))
    return _assembled(source, next(source), id_column, label_column, columns)


def _readable(file: Path, source: Iterator[Any]) -> Iterator[Any]:
    from pyarrow import default_memory_pool

    try:
        yield from source
        # Arrow keeps what it used for the next file, and there is none.
        default_memory_pool().release_unused()
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{file}: could not be read as a table ({_told(error)})") from None


def _told(error: Exception) -> str:
    """What may be passed on of a parser's message: it may quote a cell, so only its kind, or its numbers."""
    if counts := CELLS_OF_A_LINE.search(str(error)):
        return f"expected {counts[1]} cells in every line, as in the first one, got one with {counts[2]}"
    if "invalid UTF8" in str(error):
        return "expected text in UTF-8; save the file so"
    if "straddling object" in str(error):
        return f"expected rows of {LONGEST_ROW} bytes at most, got a longer one; is a quotation mark left open?"
    return type(error).__name__


def _reader(file: Path) -> Any:
    name = file.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return _read_csv
    if name.endswith((".parquet", ".pq")):
        return _read_parquet
    raise DataError(f"{file}: expected a name that ends in .csv, .csv.gz or .parquet")


def _read_csv(file: Path, id_column: str | None) -> Iterator[Any]:
    """The number of rows, then frames. A longer file is read twice: what a column holds is known at its end only."""
    from pyarrow import string

    # Ids are read as text: 007 must stay 007, as it is in the peer's table.
    kinds = {id_column: string()} if id_column is not None else {}
    rows, blocks, found = 0, 0, dict[str, set[Any]]()
    for frame in _csv_frames(file, kinds):
        rows, blocks = rows + frame.num_rows, blocks + 1
        for column in frame.schema:
            found.setdefault(column.name, set()).add(column.type)
    yield rows
    if blocks == 1:
        yield frame
    else:
        yield from _csv_frames(file, {name: _common_kind(types) for name, types in found.items()})


def _csv_frames(file: Path, kinds: dict[str, Any]) -> Iterator[Any]:
    """One a block; a row is never cut, also where a quoted cell has several lines."""
    from pyarrow import csv

    reading = csv.ReadOptions(block_size=LONGEST_ROW)
    options = csv.ConvertOptions(column_types=kinds, strings_can_be_null=True)
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as lines:
        header, is_first = _whole_rows(file, lines, lines.readline().removeprefix(codecs.BOM_UTF8)), True
        _refuse_header(file, header)
        while (block := _whole_rows(file, lines, lines.read(CSV_BLOCK) + lines.readline())) or is_first:
            # Not always, because Arrow is slower so.
            quoted = csv.ParseOptions(newlines_in_values=b'"' in header or b'"' in block)
            source = _in_arrows_memory(header + block)
            yield csv.read_csv(source, read_options=reading, parse_options=quoted, convert_options=options)
            is_first = False


def _whole_rows(file: Path, lines: BufferedIOBase, beginning: bytes) -> bytes:
    """These lines, with those that end the last row where they stop within a quoted cell."""
    parts, length, is_open = [beginning], 0, _stops_within_quotes(beginning)
    while is_open:
        line = lines.readline()
        length += len(line)
        if not line or length > LONGEST_ROW:
            raise DataError(
                f"{file}: a cell begins with a quotation mark and does not end with one; close it or leave the mark out"
            )
        parts.append(line)
        is_open = _stops_within_quotes(b'"' + line)
    return b"".join(parts)


def _stops_within_quotes(text: bytes) -> bool:
    """Of text that begins with a cell."""
    last = deque(QUOTED_CELL.finditer(text), maxlen=1)
    return bool(last) and not last[0][1]


def _refuse_header(file: Path, header: bytes) -> None:
    """What else would come out as a table of one odd column, or as a parser's riddle."""
    if not header:
        raise DataError(f"{file}: expected a line with the columns' names and a line for each row, the file is empty")
    try:
        names = header.decode()
    except UnicodeDecodeError:
        raise DataError(f"{file}: expected text in UTF-8, its first line is not; save the file as UTF-8") from None
    for character, word in OTHER_SEPARATORS.items():
        if character in names and "," not in names:
            raise DataError(
                f"{file}: expected cells separated by commas, its first line has {word} instead; save it so"
            )


def _in_arrows_memory(content: bytes) -> Any:
    """Arrow's threads may still hold a file when the program ends, and to let go of a Python object then aborts it."""
    from pyarrow import BufferReader, allocate_buffer

    room = allocate_buffer(len(content))
    memoryview(room).cast("B")[:] = content
    return BufferReader(room)


def _common_kind(kinds: set[Any]) -> Any:
    """Of a column that looked different from block to block: a number if every block was, else text."""
    from pyarrow import float64, int64, null, string

    told = kinds - {null()}
    if len(told) < 2:
        return next(iter(told), null())
    return float64() if told == {int64(), float64()} else string()


def _read_parquet(file: Path, _id_column: str | None) -> Iterator[Any]:
    """The number of rows, then frames; an empty one first, so that there is one."""
    from pyarrow import Table as ArrowTable
    from pyarrow import parquet

    # Mapped, because a row group is often the whole file.
    with parquet.ParquetFile(file, memory_map=True) as reader:
        yield reader.metadata.num_rows
        yield reader.schema_arrow.empty_table()
        for batch in reader.iter_batches(batch_size=store.ROWS_AT_ONCE):
            yield ArrowTable.from_batches([batch])


def table_from(
    data: Any,
    id_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
    labels: ArrayLike | None = None,
) -> Table:
    """A table from a pandas, polars or Arrow frame, or a two-dimensional array; without ids a row's place is its id."""
    if isinstance(data, np.ndarray):
        _require_columns((), [id_column, label_column, *(columns or ())])
        return _labelled(_row_numbers(len(data)), _array_columns(data), labels)
    frame = _frame_of(data)
    return _assembled([frame], len(frame), id_column, label_column, columns, labels)


def _assembled(
    frames: Iterable[Any],
    n_rows: int,
    id_column: str | None,
    label_column: str | None,
    columns: Sequence[str] | None,
    labels: ArrayLike | None = None,
) -> Table:
    """One table from frames that follow one another; together they have `n_rows` rows, and there is one at least."""
    ids: list[str] = []
    label_parts: list[NDArray[Any]] = []
    growing: _Columns | None = None
    for data in frames:
        frame = _frame_of(data)
        _require_columns(frame.columns, [id_column, label_column, *(columns or ())])
        if growing is None:
            own = [name for name in frame.columns if name not in (id_column, label_column)]
            growing = _Columns(list(columns) if columns is not None else own, n_rows)
        growing.add(frame)
        ids += _ids(frame[id_column]) if id_column is not None else ()
        label_parts += [_label_values(frame[label_column])] if label_column is not None else []
    done = growing.done() if growing is not None else ()
    # A frame without rows says nothing of what its labels are.
    told = [part for part in label_parts if len(part)] or label_parts[:1]
    given = np.concatenate(told) if told else labels
    return _labelled(tuple(ids) if id_column is not None else _row_numbers(n_rows), done, given)


@dataclass(repr=False)
class _Columns:
    """Columns that are filled piece by piece; a piece without any value fits numbers and texts alike."""

    names: list[str]
    n_rows: int
    filled: int = 0
    texts: dict[int, Texts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers = store.empty(len(self.names), self.n_rows)

    def add(self, frame: Any) -> None:
        rows = slice(self.filled, self.filled + len(frame))
        for place, name in enumerate(self.names):
            piece = _column(name, frame[name])
            if piece.is_text:
                self.texts.setdefault(place, np.full(self.n_rows, None, dtype=object))[rows] = piece.values
            else:
                self.numbers[place, rows] = piece.values
        self.filled = rows.stop

    def done(self) -> tuple[Column, ...]:
        return tuple(Column(name, self.texts.get(place, self.numbers[place])) for place, name in enumerate(self.names))


def _labelled(ids: tuple[str, ...], columns: tuple[Column, ...], labels: ArrayLike | None) -> Table:
    if labels is None:
        return Table(ids, columns)
    coded, classes = code_labels(np.asarray(labels))
    if len(coded) != len(ids):
        raise DataError(f"expected one label for each of {len(ids)} rows, got {len(coded)}")
    return Table(ids, columns, coded, classes)


def _row_numbers(n_rows: int) -> tuple[str, ...]:
    return tuple(str(row) for row in range(n_rows))


def _array_columns(data: NDArray[Any]) -> tuple[Column, ...]:
    if data.ndim != 2 or data.dtype.kind not in "buif":
        raise DataError(f"expected a two-dimensional array of numbers, got {data.ndim} dimensions of {data.dtype}")
    return tuple(Column(f"x{place}", column.astype(np.float64)) for place, column in enumerate(data.T))


def _frame_of(data: Any) -> Any:
    if isinstance(data, nw.DataFrame):
        return data
    is_pandas = hasattr(data, "set_axis")
    names = list(data.columns if is_pandas else getattr(data, "column_names", ()))
    if repeated := len(names) - len(set(names)):
        raise DataError(f"{repeated} of {len(names)} columns repeat a name; give each its own")
    if is_pandas:
        # pandas numbers the columns that nobody named.
        data = data.set_axis([str(name) for name in names], axis=1)
    try:
        return nw.from_native(data, eager_only=True)
    except (TypeError, ValueError):
        # The library's own message may print the frame.
        kind = type(data).__name__
        raise DataError(
            f"expected a pandas, polars or Arrow frame with named columns, or an array, got {kind}"
        ) from None


def _require_columns(names: Sequence[str], wanted: Iterable[str | None]) -> None:
    absent = [name for name in wanted if name is not None and name not in names]
    if absent:
        close = suggestion(absent[0], names)
        raise DataError(f"no column {', '.join(map(repr, absent))} among the {len(names)} columns of this table{close}")


def _ids(series: Any) -> tuple[str, ...]:
    if missing := int(series.is_null().sum()):
        raise DataError(f"the id is missing in {missing} of {len(series)} rows; complete them or leave them out")
    if series.dtype.is_float():
        raise DataError(f"the id column {series.name!r} holds fractions; store ids as whole numbers or text")
    return tuple(str(value) for value in series.to_list())


def _label_values(series: Any) -> NDArray[Any]:
    if missing := int(series.is_null().sum()):
        raise DataError(f"the label is missing in {missing} of {len(series)} rows; complete them or leave them out")
    if series.dtype == nw.Binary:
        raise DataError(f"the label column {series.name!r} {NOT_UTF8}")
    return np.array(series.to_list())


def _column(name: str, series: Any) -> Column:
    if series.is_null().all():
        return Column(name, np.full(len(series), np.nan))
    if series.dtype == nw.Object:
        return _column(name, _inferred(name, series))
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        numbers = series.cast(nw.Float64).to_numpy()
        return Column(name, np.asarray(numbers, dtype=np.float64))
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        missing = series.is_null().to_list()
        texts = np.empty(len(series), dtype=object)
        # Each text once, however many rows have it.
        values = zip(series.to_list(), missing, strict=True)
        texts[:] = [None if gone else sys.intern(str(value)) for value, gone in values]
        return Column(name, texts)
    if series.dtype == nw.Binary:
        raise DataError(f"column {name!r} {NOT_UTF8}")
    raise DataError(f"column {name!r} holds {series.dtype} in {len(series)} rows; expected numbers, true/false or text")


def _inferred(name: str, series: Any) -> Any:
    """A pandas column of dtype object as what its values are, if they are all of one kind."""
    from pyarrow import ArrowException, array, chunked_array

    try:
        return nw.from_native(chunked_array([array(series.to_list(), from_pandas=True)]), series_only=True)
    except (ArrowException, TypeError, ValueError):
        raise DataError(
            f"column {name!r} mixes kinds of values in {len(series)} rows; make it numbers or text"
        ) from None


def code_labels(given: NDArray[Any]) -> tuple[Labels, tuple[Any, Any]]:
    """Labels as 0/1 and the two classes in sorted order; the second one is positive."""
    if given.ndim != 1:
        raise DataError(f"expected one label a row, got an array of {given.ndim} dimensions")
    missing = sum(value is None or value != value for value in given.tolist())
    if missing:
        raise DataError(f"the label is missing in {missing} of {len(given)} rows; complete them or leave them out")
    try:
        classes, coded = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError(f"the labels of {len(given)} rows mix texts and numbers; expected two classes") from None
    if len(classes) != 2:
        raise DataError(
            f"expected two classes of labels in {len(given)} rows, got {len(classes)}; is this the label's column?"
        )
    first, second = classes.tolist()
    return coded.astype(np.int8), (first, second)
