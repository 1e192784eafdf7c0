"""One party's rows as they came: from a CSV or Parquet file, a data frame of any kind, or an array.

Nothing is repaired here and nothing is scaled; what cannot become numbers later is refused by column names and row
counts, never by showing a value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.errors import DataError

Vector = NDArray[np.float64]
Labels = NDArray[np.int8]
Texts = NDArray[np.object_]


@dataclass(frozen=True, repr=False, eq=False)
class Column:
    """Numbers with NaN where a value is missing, or texts with None; one without any value is NaN throughout."""

    name: str
    values: Vector | Texts

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

    def __post_init__(self) -> None:
        if repeated := len(self.ids) - len(set(self.ids)):
            raise DataError(f"{repeated} of {len(self)} rows repeat an id that came before; ids must be unique")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return (
            f"Table({len(self)} rows, {len(self.columns)} columns, {'with' if self.labels is not None else 'no'} label)"
        )

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> "Table":
        """The rows at these positions, in this order."""
        positions = np.asarray(rows, dtype=np.intp)
        return Table(
            tuple(self.ids[row] for row in positions),
            tuple(Column(column.name, column.values[positions]) for column in self.columns),
            None if self.labels is None else self.labels[positions],
            self.classes,
        )

    def select(self, ids: Iterable[str]) -> "Table":
        """The rows with these ids, in this order: what an agreed list of ids makes of one's own table."""
        position = {identity: row for row, identity in enumerate(self.ids)}
        wanted = list(ids)
        if absent := sum(identity not in position for identity in wanted):
            raise DataError(f"{absent} of {len(wanted)} agreed ids are not in this table of {len(self)} rows")
        return self.take([position[identity] for identity in wanted])


def read_table(
    path: str | Path,
    id_column: str | None = None,
    label_column: str | None = None,
    columns: Sequence[str] | None = None,
) -> Table:
    """A table from a .csv (also .csv.gz) or .parquet file; `columns` picks and orders the features."""
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: there is no such file")
    reader = _reader(file)
    try:
        frame = reader(file, id_column)
    except (OSError, ValueError, NotImplementedError) as error:
        # The parser's own message may quote a cell, so only its kind is shown.
        raise DataError(f"{file}: could not be read as a table ({type(error).__name__})") from None
    return table_from(frame, id_column, label_column, columns)


def _reader(file: Path) -> Any:
    name = file.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return _read_csv
    if name.endswith((".parquet", ".pq")):
        return _read_parquet
    raise DataError(f"{file}: expected a name that ends in .csv, .csv.gz or .parquet")


def _read_csv(file: Path, id_column: str | None) -> Any:
    from pyarrow import csv, string

    # Ids are read as text: 007 must stay 007, as it is in the peer's table.
    kinds = {id_column: string()} if id_column is not None else {}
    options = csv.ConvertOptions(column_types=kinds, strings_can_be_null=True)
    return csv.read_csv(file, convert_options=options)


def _read_parquet(file: Path, _id_column: str | None) -> Any:
    from pyarrow import parquet

    # As a single file: a folder called year=2024 on the way must not become a column.
    return parquet.read_table(file, partitioning=None)


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
        return _assembled(_row_numbers(len(data)), _array_columns(data), labels)
    frame = _frame_of(data)
    names = frame.columns
    _require_columns(names, [id_column, label_column, *(columns or ())])
    features = columns if columns is not None else [name for name in names if name not in (id_column, label_column)]
    ids = _ids(frame[id_column]) if id_column is not None else _row_numbers(len(frame))
    given = _label_values(frame[label_column]) if label_column is not None else labels
    return _assembled(ids, tuple(_column(name, frame[name]) for name in features), given)


def _assembled(ids: tuple[str, ...], columns: tuple[Column, ...], labels: ArrayLike | None) -> Table:
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
    is_pandas = hasattr(data, "set_axis")
    names = list(data.columns if is_pandas else getattr(data, "column_names", ()))
    if repeated := len(names) - len(set(names)):
        raise DataError(f"{repeated} of {len(names)} columns repeat a name")
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
        raise DataError(f"no column {', '.join(map(repr, absent))} among the {len(names)} columns of this table")


def _ids(series: Any) -> tuple[str, ...]:
    if missing := int(series.is_null().sum()):
        raise DataError(f"the id is missing in {missing} of {len(series)} rows")
    if series.dtype.is_float():
        raise DataError(f"the id column {series.name!r} holds fractions; store ids as whole numbers or text")
    return tuple(str(value) for value in series.to_list())


def _label_values(series: Any) -> NDArray[Any]:
    if missing := int(series.is_null().sum()):
        raise DataError(f"the label is missing in {missing} of {len(series)} rows")
    return np.array(series.to_list())


def _column(name: str, series: Any) -> Column:
    if series.is_null().all():
        return Column(name, np.full(len(series), np.nan))
    if series.dtype == nw.Object:
        return _column(name, _inferred(name, series))
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        numbers = series.cast(nw.Float64).to_numpy()
        return Column(name, np.array(numbers, dtype=np.float64))
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        missing = series.is_null().to_list()
        texts = np.empty(len(series), dtype=object)
        texts[:] = [None if gone else str(value) for value, gone in zip(series.to_list(), missing, strict=True)]
        return Column(name, texts)
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
        raise DataError(f"the label is missing in {missing} of {len(given)} rows")
    try:
        classes, coded = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError(f"the labels of {len(given)} rows mix texts and numbers; expected two classes") from None
    if len(classes) != 2:
        raise DataError(f"expected two classes of labels in {len(given)} rows, got {len(classes)}")
    first, second = classes.tolist()
    return coded.astype(np.int8), (first, second)
