"""Tables from columns of cells: those of a file, of a data frame of any kind, or of an array."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from pyarrow import compute, types

from plumbob.arrays import Labels
from plumbob.data import store
from plumbob.data.cells import A_NUMBER, FLAGS, NOT_UTF8, values_of
from plumbob.data.ids import canonical_ids
from plumbob.data.tables import Column, ColumnChoices, Table
from plumbob.errors import DataError
from plumbob.plan import suggestion

NO_ROWS = "the file has a line with the columns' names and no rows; expected one line per row below it"
SHOWN_ROWS = 5
TOTALS = frozenset(("total", "totals", "sum", "grand total", "subtotal", "overall", "summe", "gesamt", "somme"))
ROUNDED = r"^\s*[0-9](\.[0-9]+)?[eE]\+?[0-9]+\s*$"
A_FRACTION = r"^\s*[0-9]+\.[0-9]+\s*$"
WHOLE = r"^[+-]?[0-9]+$"
UNNAMED = re.compile(r"\(column \d+\)|Unnamed: \d+|__index_level_\d+__")


@dataclass(frozen=True)
class Cells:
    """The columns of a table before anybody has said what they mean; one at a time, because a file may be larger than
    memory.
    """

    names: Sequence[str]
    column: Callable[[str], pa.ChunkedArray]
    """The cells of the column with this name."""
    is_written: bool = False
    """Whether all cells are texts, because the file has no types."""


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
        return _with_labels(_row_numbers(len(data)), _array_columns(data), labels)
    if columns is not None:
        choices = replace(choices, columns=tuple(columns))
    return assemble(_cells_of_frame(data), id_column, label_column, choices, labels)


def assemble(
    cells: Cells,
    id_column: str | None,
    label_column: str | None,
    choices: ColumnChoices,
    labels: ArrayLike | None = None,
) -> Table:
    """One table from columns of cells."""
    cells = replace(cells, column=partial(_without_gaps, cells.column, choices.gaps))
    others = [id_column, label_column]
    wanted = [*others, choices.weight, *(choices.columns or ()), *choices.drop, *choices.category]
    _require_columns(cells.names, wanted)
    features, left_out = _features(cells.names, others, choices)
    ids = None if id_column is None else _read_ids(cells.column(id_column))
    labelled: NDArray[np.bool_] | None = None
    if label_column is not None:
        labels, labelled = _read_labels(label_column, cells.column(label_column))
    columns = _read_columns(cells, features, choices, labelled)
    if ids is None:
        known = [len(column.values) for column in columns] + ([] if labels is None else [len(np.asarray(labels))])
        ids = list(_row_numbers(next(iter(known), 0)))
    elif labelled is not None:
        ids = [identity for identity, is_labelled in zip(ids, labelled, strict=True) if is_labelled]
    table = _with_labels(canonical_ids(ids), tuple(columns), labels, choices.positive)
    unlabelled = 0 if labelled is None else int((~labelled).sum())
    table = replace(table, choices=choices, left_out=left_out, unlabelled=unlabelled)
    return table if choices.weight is None else _weighed(table, choices.weight)


def _weighed(table: Table, name: str) -> Table:
    """The table with one of its columns as the rows' weights."""
    (column,) = (column for column in table.columns if column.name == name)
    values = column.values
    if column.is_text or not ((values >= 0) & (values <= 1)).all() or not values.any():
        raise DataError(
            f"--weight {name}: expected a number from 0 to 1 in every row, and not 0 in all of them; divide them by the"
            " largest, and fill the gaps"
        )
    others = tuple(column for column in table.columns if column.name != name)
    return replace(table, columns=others, weights=values.astype(np.float64))


def _require_columns(names: Sequence[str], wanted: Iterable[str | None]) -> None:
    absent = [name for name in wanted if name is not None and name not in names]
    if absent:
        if len(names) == 1:
            raise DataError(
                f"no column {', '.join(map(repr, absent))}: this table has one column only; expected cells separated by"
                " commas, semicolons or tabs, and the columns' names in the first line"
            )
        close = suggestion(absent[0], names) or "; name one that it has, for example with --id or --label"
        raise DataError(f"no column {', '.join(map(repr, absent))} among the {len(names)} columns of this table{close}")


def _features(
    names: Sequence[str], others: Sequence[str | None], choices: ColumnChoices
) -> tuple[list[str], tuple[str, ...]]:
    """(the columns to read, those left out): one without a name, mostly a frame's index, is read if it is asked for."""
    if choices.columns is not None:
        chosen = [*choices.columns, *([choices.weight] if choices.weight else [])]
        return [name for name in chosen if name not in choices.drop], ()
    known = [name for name in names if name not in {*choices.drop, *others}]
    left_out = tuple(filter(UNNAMED.fullmatch, known))
    return [name for name in known if name not in left_out], left_out


# Columns.


def _without_gaps(column: Callable[[str], pa.ChunkedArray], marks: Sequence[str], name: str) -> pa.ChunkedArray:
    """The cells of a column with None for each text that is one of the marks, blanks around both aside."""
    cells = column(name)
    if not marks or not (types.is_string(cells.type) or types.is_large_string(cells.type)):
        return cells
    bare = pa.array([mark.strip() for mark in marks], cells.type)
    return compute.if_else(compute.is_in(compute.utf8_trim_whitespace(cells), bare), None, cells)


def _read_columns(
    cells: Cells, names: Sequence[str], choices: ColumnChoices, rows: NDArray[np.bool_] | None
) -> list[Column]:
    """The columns, of these rows only; what cannot be read is refused in one message, so one correction is enough."""
    read: dict[str, Column] = {}
    refusals: list[DataError] = []

    def numbers() -> Iterator[NDArray[np.float64]]:
        """The columns of numbers, one by one, for `store`; the others are in `read` already."""
        for name in names:
            try:
                values, meaning = values_of(name, cells.column(name), name in choices.category, cells.is_written)
                read[name] = column = Column(name, values if rows is None else values[rows], meaning=meaning)
                _refuse_infinite(column)
            except DataError as refusal:
                refusals.append(refusal)
            else:
                if not column.is_text:
                    read[name] = replace(column, values=np.empty(0))
                    yield column.numbers[None]

    coming = numbers()
    first = next(coming, np.empty((1, 0)))
    stored = iter(store.stacked(len(names), first.shape[1], chain([first], coming)))
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        listed = "".join(f"\n  {refusal}" for refusal in refusals)
        raise DataError(f"{len(refusals)} columns cannot be read as they are:{listed}")
    return [column if column.is_text else replace(column, values=next(stored)) for column in read.values()]


def _refuse_infinite(column: Column) -> None:
    if column.is_text or not (where := np.isinf(column.numbers)).any():
        return
    count = int(where.sum())
    raise DataError(
        f"column {column.name!r}: {count} of {len(where)} numbers {'are' if count > 1 else 'is'} infinite or too large,"
        f" the first in row {int(np.argmax(where)) + 1}; correct them, or leave the column out with --drop"
    )


def _row_numbers(n_rows: int) -> tuple[str, ...]:
    return tuple(str(row) for row in range(n_rows))


def _array_columns(data: NDArray[Any]) -> tuple[Column, ...]:
    if data.ndim != 2 or data.dtype.kind not in "buif":
        raise DataError(f"expected a two-dimensional array of numbers, got {data.ndim} dimensions of {data.dtype}")
    return tuple(Column(f"x{place}", column.astype(np.float64)) for place, column in enumerate(data.T))


# Data frames.


def _cells_of_frame(data: Any) -> Cells:
    frame = _frame_of(data)

    def column(name: str) -> pa.ChunkedArray:
        try:
            cells = frame[name].to_arrow()
        except (pa.ArrowException, TypeError, ValueError):
            # A pandas column of any objects. The library's own message quotes one of them.
            raise DataError(
                f"column {name!r} mixes kinds of values in {len(frame)} rows; make it numbers or text"
            ) from None
        return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])

    return Cells(frame.columns, column)


def _frame_of(data: Any) -> "nw.DataFrame[Any]":
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


# Ids and labels.


def _read_ids(cells: pa.ChunkedArray) -> list[str]:
    """The ids as texts: whole numbers by their digits. A fraction is no id, and no digits are guessed back."""
    _refuse_gaps(cells, "id", "fill in the ids, or remove those rows")
    if types.is_floating(cells.type) or types.is_decimal(cells.type):
        raise DataError("the id column holds fractions; store ids as whole numbers or text")
    ids = compute.cast(cells, pa.string())
    for pattern, what in (
        (ROUNDED, "are written as powers of ten, such as 1.2E+11: a spreadsheet rounded them"),
        (A_FRACTION, "are written as fractions, such as 12.0"),
    ):
        if count := int(compute.sum(compute.match_substring_regex(ids, pattern)).as_py() or 0):
            raise DataError(f"{count} of {len(ids)} ids {what}; export the ids as text")
    texts: list[str] = ids.to_pylist()
    if texts and texts[-1].strip().casefold() in TOTALS:
        # The last row of a sheet is often its sum.
        raise DataError(
            f"row {len(texts)}, the last one, is a total and not a person: its id says so; take that row out"
        )
    return texts


def _read_labels(name: str, cells: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """(labels, which rows have one, None where all have); as numbers or flags where all labels are."""
    labelled = None
    if not len(cells):
        raise DataError(NO_ROWS)
    if types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if types.is_binary(cells.type):
        raise DataError(f"the label column {name!r} {NOT_UTF8}")
    if types.is_floating(cells.type):
        cells = compute.if_else(compute.is_nan(cells), None, cells)
    if 0 < cells.null_count < len(cells):
        labelled = compute.is_valid(cells).to_numpy()
        cells = cells.drop_null()
    _refuse_gaps(cells, "label", "is this the label column? --label names it")
    if types.is_string(cells.type) or types.is_large_string(cells.type):
        cells = compute.utf8_trim_whitespace(cells)
        distinct = compute.unique(cells)
        if compute.all(compute.is_in(compute.utf8_lower(distinct), pa.array(FLAGS))).as_py():
            cells = compute.equal(compute.utf8_lower(cells), FLAGS[0])
        for pattern, kind in ((WHOLE, pa.int64()), (A_NUMBER, pa.float64())):
            if compute.all(compute.match_substring_regex(distinct, pattern)).as_py():
                cells = compute.cast(cells, kind)
                break
    return np.array(cells.to_pylist()), labelled


def _refuse_gaps(cells: pa.ChunkedArray, what: str, cure: str) -> None:
    if cells.null_count:
        rows = np.flatnonzero(compute.is_null(cells).to_numpy()) + 1
        have, noun = ("has", "row") if len(rows) == 1 else ("have", "rows")
        shown = ", ".join(map(str, rows[:SHOWN_ROWS])) + (", ..." if len(rows) > SHOWN_ROWS else "")
        raise DataError(f"{len(rows)} of {len(cells)} rows {have} no {what} ({noun} {shown}); {cure}")


def _with_labels(
    ids: tuple[str, ...], columns: tuple[Column, ...], labels: ArrayLike | None, positive: str | None = None
) -> Table:
    if labels is None:
        return Table(ids, columns)
    coded, classes = code_labels(np.asarray(labels), positive)
    if len(coded) != len(ids):
        raise DataError(f"expected one label for each of {len(ids)} rows, got {len(coded)}")
    return Table(ids, columns, coded, classes)


def _way_out(classes: NDArray[Any]) -> str:
    """What to do about a label without two classes."""
    spelt = {str(name).strip().casefold() for name in classes.tolist()}
    if len(classes) > 2 and len(spelt) == 2:
        return "without capitals and spaces there are two: write each class in one way, in your file"
    if len(classes) < 2:
        return "is this the label column? --label names it; a model needs rows of both classes"
    return (
        "is this the label column? --label names it. A model predicts one class against another: join classes to two in"
        " your file, for example one of them against all others"
    )


def code_labels(given: NDArray[Any], positive: str | None = None) -> tuple[Labels, tuple[Any, Any]]:
    """Labels as 0/1 and the two classes, the positive one second: the one that is named, or the second when sorted."""
    if given.ndim != 1:
        raise DataError(f"expected one label for each row, got an array of {given.ndim} dimensions")
    may_lack = given.dtype.kind not in "Uib"
    if may_lack and (missing := sum(value is None or value != value for value in given.tolist())):
        have = "has" if missing == 1 else "have"
        raise DataError(f"{missing} of {len(given)} rows {have} no label; fill in the labels, or remove those rows")
    try:
        classes = np.unique(given)
    except TypeError:
        raise DataError(f"the labels of {len(given)} rows mix texts and numbers; expected two classes") from None
    if len(classes) != 2:
        raise DataError(f"expected two classes of labels in {len(given)} rows, got {len(classes)}; {_way_out(classes)}")
    first, second = classes.tolist()
    is_second = np.asarray(given == classes[1])
    if positive is None or str(second) == positive:
        return is_second.astype(np.int8), (first, second)
    if str(first) != positive:
        raise DataError(f"--positive {positive}: expected one of the label's two classes, {first} and {second}")
    return (~is_second).astype(np.int8), (second, first)
