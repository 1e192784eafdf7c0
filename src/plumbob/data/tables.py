"""One party's rows as they came: from a CSV or Parquet file, a data frame of any kind, or an array.

Nothing is repaired here and nothing is scaled; what cannot become numbers later is refused by column names and row
counts, never by showing a value. Files are read some rows at a time, and numbers go where `store` puts them, so that a
file may be larger than memory; ids and texts stay in memory.
"""

import hashlib
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.arrays import Labels, Texts, Vector
from plumbob.data import store
from plumbob.data.amounts import is_number
from plumbob.data.cells import ColumnChoices, as_values, refuse_total, type_flag, whole_ids, without_gaps
from plumbob.data.csv_files import FLAGS, NOT_UTF8, TextAfterAllError, find_layout, read_csv, told, told_names
from plumbob.data.dates import day_number
from plumbob.data.quoting import plainly_quoted
from plumbob.data.shapes import TableSlots
from plumbob.errors import DataError
from plumbob.plan import suggestion

UNNAMED = re.compile(r"\(column \d+\)|Unnamed: \d+")
SHOWN_ROWS = 5
NUMBER, FLAG, DATE, ORDER = "number", "yes/no", "date", "levels in order"


@dataclass(frozen=True, repr=False, eq=False)
class Column:
    """Numbers with NaN where a value is missing, or texts with None; one without any value is NaN throughout."""

    name: str
    values: Vector | Texts
    is_stepped: bool = False
    """Whether its bins are told apart step by step (`encoding.Bins`), as the party may choose for a column."""
    is_monotone: bool = False
    """Whether its bins become one rising column, as the party may choose too."""
    stated: tuple[float, ...] = ()
    """What the party says about its values without looking at them: both ends, and cuts between them if it likes."""
    meaning: str = NUMBER
    """What its numbers stand for."""

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {len(self.values)} rows)"

    @property
    def is_text(self) -> bool:
        return self.values.dtype == object

    @property
    def texts(self) -> list[str | None]:
        """The cells of a column of texts."""
        cells: list[str | None] = self.values.astype(object, copy=False).tolist()
        return cells

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
    shapes: TableSlots | None = None
    """Of the file that these rows come from, where they were found already."""
    choices: ColumnChoices = field(default_factory=ColumnChoices)
    """How that file was read."""
    left_out: tuple[str, ...] = ()
    """Columns of that file that are no features: without a name, and empty or a count of the rows."""
    held_out: NDArray[np.bool_] | None = None
    """Which rows are kept for testing, where a party chose them."""

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
        """Over ids, columns and labels, in their order, and what was stated of columns: by it a run knows its rows."""
        digest = hashlib.sha256(f"{len(self.ids)},{len(self.columns)}:".encode())
        digest.update("".join(f"{len(identity)}:{identity}" for identity in self.ids).encode())
        for column in self.columns:
            digest.update(f"{len(column.name)}:{column.name}".encode())
            values = column.values
            digest.update(repr(values.tolist()).encode() if column.is_text else np.ascontiguousarray(values).data)
            if column.stated or column.is_stepped or column.is_monotone:
                digest.update(repr((column.stated, column.is_stepped, column.is_monotone)).encode())
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels).data)
        if self.held_out is not None:
            digest.update(np.packbits(self.held_out).data)
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
        held_out = None if self.held_out is None else self.held_out[positions]
        return replace(self, ids=ids, columns=tuple(columns), labels=labels, held_out=held_out)

    def select(self, ids: Iterable[str], advice: str = "") -> "Table":
        """The rows with these ids, in this order: what an agreed list of ids makes of one's own table.

        `advice` is for whoever lacks some of them.
        """
        wanted = tuple(ids)
        if wanted == self.ids:
            return self
        position = {identity: row for row, identity in enumerate(self.ids)}
        if absent := sum(identity not in position for identity in wanted):
            found = f"{absent} of {len(wanted)} agreed ids are not in this table of {len(self)} rows"
            raise DataError(f"{found}; {advice}" if advice else found)
        positions = np.fromiter((position[identity] for identity in wanted), dtype=np.intp, count=len(wanted))
        # The caller's own texts: aligned tables share them.
        return self._taken(positions, wanted)


def read_table(
    path: str | Path,
    id_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
    choices: ColumnChoices = ColumnChoices(),  # noqa: B008  # Frozen.
) -> Table:
    """A table from a .csv (also .csv.gz) or .parquet file; `columns` picks and orders the features."""
    file = _existing(Path(path))
    if columns is not None:
        choices = replace(choices, columns=tuple(columns))
    table = _read(file, id_column, label_column, choices)
    _refuse_infinite(table.columns)
    return table


def column_names(path: str | Path) -> tuple[str, ...]:
    """Of a file, without its rows."""
    from pyarrow import parquet

    file = _existing(Path(path))
    with _readable(file):
        if file.name.lower().endswith((".parquet", ".pq")):
            return tuple(parquet.read_schema(file).names)
        with plainly_quoted(file) as source:
            return told_names(find_layout(source).names)


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise DataError(
            f"{file}: expected a file, this is a folder" if file.is_dir() else f"{file}: there is no such file"
        )
    return file


def _read(file: Path, id_column: str | None, label_column: str | None, choices: ColumnChoices) -> Table:
    name = file.name.lower()
    if name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")):
        with _readable(file), plainly_quoted(file) as source:
            return _read_csv(source, id_column, label_column, choices)
    if name.endswith((".parquet", ".pq")):
        with _readable(file):
            return _assembled(_released(_read_parquet(file)), id_column, label_column, choices)
    raise DataError(f"{file}: expected a name that ends in .csv, .csv.gz or .parquet")


def _read_csv(file: Path, id_column: str | None, label_column: str | None, choices: ColumnChoices) -> Table:
    layout = find_layout(file)
    # Ids are read as text: 007 must stay 007, as it is in the peer's table.
    texts = {column for column in (id_column, label_column, *choices.types) if column is not None}

    def assembled(texts: set[str]) -> Table:
        frames = _released(read_csv(file, layout, texts, choices.gaps))
        with _readable(file, layout.names):
            return _assembled(frames, id_column, label_column, choices, layout.separator != ",")

    try:
        return assembled(texts)
    except TextAfterAllError as late:
        # A column looked like numbers for many rows, and its texts are gone by then.
        return assembled(texts | late.names)


@contextmanager
def _readable(file: Path, names: tuple[str, ...] = ()) -> Iterator[None]:
    try:
        yield
    except DataError:
        # It says what is wrong already.
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{file}: could not be read as a table ({told(error, names)})") from None


def _released(source: Iterator[Any]) -> Iterator[Any]:
    from pyarrow import default_memory_pool

    yield from source
    # Arrow keeps what it used for the next file, and there is none.
    default_memory_pool().release_unused()


def _read_parquet(file: Path) -> Iterator[Any]:
    """Frames; an empty one first, so that there is one."""
    from pyarrow import Table as ArrowTable
    from pyarrow import parquet

    # Mapped, because a row group is often the whole file.
    with parquet.ParquetFile(file, memory_map=True) as reader:
        yield reader.schema_arrow.empty_table()
        for batch in reader.iter_batches(batch_size=store.ROWS_AT_ONCE):
            yield ArrowTable.from_batches([batch])


def table_from(
    data: Any,
    id_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
    labels: ArrayLike | None = None,
    choices: ColumnChoices = ColumnChoices(),  # noqa: B008  # Frozen.
) -> Table:
    """A table from a pandas, polars or Arrow frame, or a two-dimensional array; without ids a row's place is its id."""
    if isinstance(data, np.ndarray):
        _require_columns((), [id_column, label_column, *(columns or ())])
        return _labelled(_row_numbers(len(data)), _array_columns(data), labels)
    if columns is not None:
        choices = replace(choices, columns=tuple(columns))
    return _assembled([_frame_of(data)], id_column, label_column, choices, labels=labels)


def _assembled(
    frames: Iterable[Any],
    id_column: str | None,
    label_column: str | None,
    choices: ColumnChoices,
    has_decimal_commas: bool = False,
    labels: ArrayLike | None = None,
) -> Table:
    """One table from frames that follow one another; there is one at least."""
    ids: list[str] = []
    label_parts: list[NDArray[Any]] = []
    growing: _Columns | None = None
    rows = 0
    for data in frames:
        frame = _frame_of(data)
        if growing is None:
            _require_columns(frame.columns, [id_column, label_column, *(choices.columns or ()), *choices.drop])
            _require_columns(frame.columns, [*choices.types, *choices.stepped, *choices.monotone])
            growing = _Columns(_features(frame.columns, id_column, label_column, choices))
        seen = rows
        rows += len(frame)
        growing.add(frame)
        ids += _ids(frame[id_column], seen) if id_column is not None else ()
        label_parts += [_label_values(frame[label_column], seen)] if label_column is not None else []
    done = growing.done() if growing is not None else ()
    # A frame without rows says nothing of what its labels are.
    filled = [part for part in label_parts if len(part)] or label_parts[:1]
    given = np.concatenate(filled) if filled else labels
    names_of_rows = _checked_ids(tuple(ids)) if id_column is not None else _row_numbers(rows)
    types = dict(choices.types)
    kept, left_out = _named(_all_told(done, choices, types, has_decimal_commas))
    table = _labelled(names_of_rows, kept, given, choices.positive)
    return replace(table, choices=replace(choices, types=types), left_out=left_out)


def _features(
    names: Sequence[str], id_column: str | None, label_column: str | None, choices: ColumnChoices
) -> list[str]:
    chosen = names if choices.columns is None else choices.columns
    without = {*choices.drop, *((id_column, label_column) if choices.columns is None else ())}
    return [name for name in chosen if name not in without]


def _all_told(
    columns: Iterable[Column], choices: ColumnChoices, types: dict[str, str], has_decimal_commas: bool
) -> list[Column]:
    """Every column as it is told; those that are refused are named together, so that one more try is enough."""
    read, refusals = [], []
    for column in columns:
        try:
            read.append(_told(column, choices, types, has_decimal_commas))
        except DataError as refusal:
            refusals.append(refusal)
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        listed = "".join(f"\n  {refusal}" for refusal in refusals)
        raise DataError(f"{len(refusals)} columns cannot be read as they are:{listed}")
    return read


def _told(column: Column, choices: ColumnChoices, types: dict[str, str], has_decimal_commas: bool) -> Column:
    """The column as its cells, or the party's choices, have it; what its cells say of its type is added to `types`."""
    kind = choices.types.get(column.name)
    values = column.values
    if not column.is_text and kind == "category":
        values = np.array([None if value != value else f"{value:g}" for value in values.tolist()], dtype=object)
    elif column.is_text:
        texts = without_gaps(values.astype(object, copy=False), choices.gaps)
        values, kind = as_values(column.name, texts, kind, has_decimal_commas)
        if kind is not None:
            types[column.name] = kind
    told = Column(
        column.name,
        values,
        column.name in choices.stepped,
        column.name in choices.monotone,
        tuple(choices.ranges.get(column.name, ())),
        column.meaning if kind is None else _meaning(kind),
    )
    if told.is_monotone and told.is_text:
        raise DataError(
            f"--monotone {told.name}: expected numbers, dates or levels in order, this column is text; name its levels"
            f" in order with {type_flag(told.name, 'low<mid<high')}"
        )
    return told


def _meaning(kind: str) -> str:
    """What the numbers of a column of this kind stand for."""
    if "<" in kind:
        return ORDER
    return {"boolean": FLAG, "date": DATE}.get(kind.partition(":")[0], NUMBER)


def _refuse_infinite(columns: Sequence[Column]) -> None:
    """All such columns in one message, so that one correction is enough."""
    found = [(column.name, where) for column in columns if (where := _infinite(column.values)).any()]
    if not found:
        return
    told = [
        f"column {name!r}: {int(where.sum())} of {len(where)} numbers {'are' if where.sum() > 1 else 'is'} infinite or"
        f" too large, the first in row {int(np.argmax(where)) + 1}"
        for name, where in found
    ]
    leave = "the column" if len(found) == 1 else "these columns"
    dropped = shlex.quote(",".join(name for name, _ in found))
    raise DataError(f"{'; '.join(told)}; correct them, or leave {leave} out with --drop {dropped}")


def _infinite(values: Vector | Texts) -> NDArray[np.bool_]:
    return np.isinf(values.astype(np.float64, copy=False)) if values.dtype != object else np.zeros(1, dtype=np.bool_)


def _named(columns: Iterable[Column]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """(features, names left out): a column without a name that is empty or counts the rows is none of the features."""
    kept: list[Column] = []
    left_out: list[str] = []
    for column in columns:
        if not UNNAMED.fullmatch(column.name):
            kept.append(column)
        elif column.is_missing.all() or _counts_rows(column):
            left_out.append(column.name)
        elif column.name.startswith("("):
            raise DataError(f"{column.name[1:-1]} has no name in the first line; give it one, or take it out")
        else:
            kept.append(column)
    return tuple(kept), tuple(left_out)


def _counts_rows(column: Column) -> bool:
    """The index that pandas writes into its files: whole numbers, each once, in any order after a shuffle."""
    if column.is_text or column.is_missing.any():
        return False
    values = column.values.astype(np.float64, copy=False)
    return bool((values == np.floor(values)).all()) and len(np.unique(values)) == len(values)


@dataclass(repr=False)
class _Columns:
    """Columns that are filled piece by piece; a piece without any value fits numbers and texts alike."""

    names: list[str]
    texts: dict[int, list[tuple[slice, Texts]]] = field(default_factory=dict)
    meanings: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers = store.GrowingColumns(len(self.names))

    def add(self, frame: Any) -> None:
        first = self.numbers.rows
        numbers = np.full((len(self.names), len(frame)), np.nan)
        for place, name in enumerate(self.names):
            piece = _column(name, frame[name])
            if piece.is_text:
                texts = piece.values.astype(object, copy=False)
                self.texts.setdefault(place, []).append((slice(first, first + len(frame)), texts))
            else:
                numbers[place] = piece.values
                if not piece.is_missing.all():
                    self.meanings.setdefault(place, set()).add(piece.meaning)
        self.numbers.add(numbers)

    def done(self) -> tuple[Column, ...]:
        numbers = self.numbers.done()
        return tuple(
            Column(name, self._texts(place) if place in self.texts else numbers[place], meaning=self._meaning_of(place))
            for place, name in enumerate(self.names)
        )

    def _meaning_of(self, place: int) -> str:
        found = self.meanings.get(place, set())
        return found.pop() if len(found) == 1 else NUMBER

    def _texts(self, place: int) -> Texts:
        cells = np.full(self.numbers.rows, None, dtype=object)
        for rows, texts in self.texts.pop(place):
            cells[rows] = texts
        return cells


def _labelled(
    ids: tuple[str, ...], columns: tuple[Column, ...], labels: ArrayLike | None, positive: str | None = None
) -> Table:
    if labels is None:
        return Table(ids, columns)
    coded, classes = code_labels(np.asarray(labels), positive)
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
        if len(names) == 1:
            raise DataError(
                f"no column {', '.join(map(repr, absent))}: this table has one column only; expected cells separated by"
                " commas, semicolons, tabs or vertical bars, and the columns' names in the first line"
            )
        close = suggestion(absent[0], names) or "; name one that it has, for example with --id or --label"
        raise DataError(f"no column {', '.join(map(repr, absent))} among the {len(names)} columns of this table{close}")


def _ids(series: Any, seen: int) -> tuple[str, ...]:
    if missing := int(series.is_null().sum()):
        rows = _listed_rows(series.is_null(), seen)
        have = "has" if missing == 1 else "have"
        raise DataError(
            f"{missing} of {seen + len(series)} rows {have} no id ({rows}); fill in the ids, or remove those rows"
        )
    if series.dtype.is_float():
        if not bool((series == series.round(0)).all()):
            raise DataError(f"the id column {series.name!r} holds fractions; store ids as whole numbers or text")
        series = series.cast(nw.Int64)
    return tuple(map(str, series.to_list()))


def _checked_ids(ids: tuple[str, ...]) -> tuple[str, ...]:
    if ids:
        refuse_total(ids[-1], len(ids))
    return whole_ids(ids)


def _listed_rows(is_missing: Any, seen: int) -> str:
    rows = [seen + row for row, missing in enumerate(is_missing.to_list(), 1) if missing]
    more = ", ..." if len(rows) > SHOWN_ROWS else ""
    return f"row{'' if len(rows) == 1 else 's'} {', '.join(map(str, rows[:SHOWN_ROWS]))}{more}"


def _label_values(series: Any, seen: int) -> NDArray[Any]:
    if missing := int(series.is_null().sum()):
        rows = _listed_rows(series.is_null(), seen)
        raise DataError(
            f"the label is missing in {missing} of {seen + len(series)} rows ({rows}); complete them or leave them out"
        )
    if series.dtype == nw.Binary:
        raise DataError(f"the label column {series.name!r} {NOT_UTF8}")
    if series.dtype != nw.String:
        return np.array(series.to_list())
    texts = _texts(series)
    meant = {text: text.strip() for text in dict.fromkeys(texts.tolist())}
    return np.array(list(map(meant.__getitem__, texts.tolist())))


def _column(name: str, series: Any) -> Column:
    if series.is_null().all():
        return Column(name, np.full(len(series), np.nan))
    if series.dtype == nw.Object:
        return _column(name, _inferred(name, series))
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        numbers = series.cast(nw.Float64).to_numpy()
        return Column(
            name, np.asarray(numbers, dtype=np.float64), meaning=FLAG if series.dtype == nw.Boolean else NUMBER
        )
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return Column(name, _texts(series))
    if series.dtype in (nw.Date, nw.Datetime):
        days = [day_number(value) if isinstance(value, date) else np.nan for value in series.to_list()]
        return Column(name, np.array(days), meaning=DATE)
    if series.dtype == nw.Binary:
        raise DataError(f"column {name!r} {NOT_UTF8}")
    raise DataError(f"column {name!r} holds {series.dtype} in {len(series)} rows; expected numbers, true/false or text")


def _texts(series: Any) -> Texts:
    """Each text once, however many rows have it."""
    from pyarrow import ChunkedArray

    cells = series.cast(nw.String).to_arrow()
    coded = (cells.combine_chunks() if isinstance(cells, ChunkedArray) else cells).dictionary_encode()
    distinct = [*map(sys.intern, coded.dictionary.to_pylist()), None]
    places = coded.indices.fill_null(len(distinct) - 1).to_numpy()
    texts: Texts = np.array(distinct, dtype=object)[places]
    return texts


def _inferred(name: str, series: Any) -> Any:
    """A pandas column of dtype object as what its values are, if they are all of one kind."""
    from pyarrow import ArrowException, array, chunked_array

    try:
        return nw.from_native(chunked_array([array(series.to_list(), from_pandas=True)]), series_only=True)
    except (ArrowException, TypeError, ValueError):
        raise DataError(
            f"column {name!r} mixes kinds of values in {len(series)} rows; make it numbers or text"
        ) from None


def code_labels(given: NDArray[Any], positive: str | None = None) -> tuple[Labels, tuple[Any, Any]]:
    """Labels as 0/1 and the two classes, the positive one second: the one that is named, or the second when sorted."""
    if given.ndim != 1:
        raise DataError(f"expected one label for each row, got an array of {given.ndim} dimensions")
    may_lack = given.dtype.kind not in "Uib"
    if may_lack and (missing := sum(value is None or value != value for value in given.tolist())):
        raise DataError(f"the label is missing in {missing} of {len(given)} rows; complete them or leave them out")
    try:
        classes, coded = np.unique(_as_written(given), return_inverse=True)
    except TypeError:
        raise DataError(f"the labels of {len(given)} rows mix texts and numbers; expected two classes") from None
    if len(classes) != 2:
        raise DataError(
            f"expected two classes of labels in {len(given)} rows, got {len(classes)}; is this the label column?"
        )
    first, second = classes.tolist()
    if positive is None or str(second) == positive:
        return coded.astype(np.int8), (first, second)
    if str(first) != positive:
        raise DataError(f"--positive {positive}: expected one of the label's two classes, {first} and {second}")
    return (1 - coded).astype(np.int8), (second, first)


def _as_written(given: NDArray[Any]) -> NDArray[Any]:
    """Labels that a file holds as text: whole numbers, numbers and flags become what they say."""
    if given.dtype.kind != "U":
        return given
    distinct = set(given.tolist())
    if distinct <= set(FLAGS):
        return np.array([text.lower() == "true" for text in given.tolist()])
    if not all(map(is_number, distinct)):
        return given
    return given.astype(np.int64 if all(re.fullmatch(r"\s*[+-]?\d+\s*", text) for text in distinct) else np.float64)
