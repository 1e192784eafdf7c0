"""Tables from data frames of any kind, also from many that follow one another, and from arrays."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.arrays import Labels, Texts
from plumbob.data import ids, store
from plumbob.data.csv_files import FLAGS, NOT_UTF8
from plumbob.data.ids import canonical, have_repeats, id_names, joined_ids, numbered, one_row_each
from plumbob.data.tables import DATE, FLAG, NUMBER, ORDER, Column, ColumnChoices, Table, type_flag
from plumbob.errors import DataError
from plumbob.plan import suggestion

NO_ROWS = "the file has a line with the columns' names and no rows; expected one line per row below it"
SHOWN_ROWS = 5
TOTALS = frozenset(("total", "totals", "sum", "grand total", "subtotal", "overall", "summe", "gesamt", "somme"))
POWER = re.compile(r"\s*\d(\.\d+)?[eE]\+?\d+\s*")
UNNAMED = re.compile(r"\(column \d+\)|Unnamed: \d+|__index_level_\d+__")


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
    return assemble([_frame_of(data)], id_column, label_column, choices, labels=labels)


def assemble(
    frames: Iterable[Any],
    id_column: str | None,
    label_column: str | None,
    choices: ColumnChoices,
    has_decimal_commas: bool = False,
    labels: ArrayLike | None = None,
) -> Table:
    """One table from frames that follow one another; there must be at least one."""
    ids: dict[str, list[str]] = {}
    label_parts: list[NDArray[Any]] = []
    growing: _Columns | None = None
    rows = unlabelled = 0
    for data in frames:
        frame = _frame_of(data)
        if growing is None:
            ids = {name: [] for name in id_names(id_column, frame.columns)} if id_column is not None else {}
            _require_columns(frame.columns, [*ids, label_column, *(choices.columns or ()), *choices.drop])
            _require_columns(frame.columns, [*choices.types, *choices.stepped, *choices.monotone, choices.weight])
            growing = _Columns(_features(frame.columns, [*ids, label_column], choices))
        if label_column is not None and choices.unlabelled == "drop":
            whole = len(frame)
            frame = frame.filter(~frame[label_column].is_null())
            unlabelled += whole - len(frame)
        seen = rows
        rows += len(frame)
        growing.add(frame)
        for name, texts in ids.items():
            texts += read_ids(frame[name], seen)
        label_parts += [read_labels(frame[label_column], seen)] if label_column is not None else []
    done = growing.done() if growing is not None else ()
    # A frame without rows says nothing of what its labels are.
    filled = [part for part in label_parts if len(part)] or label_parts[:1]
    given = np.concatenate(filled) if filled else labels
    if label_column is not None and not rows:
        raise DataError(NO_ROWS)
    types = dict(choices.types)
    kept, left_out = _without_row_counts(_as_chosen(done, choices, types, has_decimal_commas))
    names = _checked_ids(ids, types) if ids else _row_numbers(rows)
    ids.clear()
    table = _named(
        names, choices.duplicates, partial(_with_labels, columns=kept, labels=given, positive=choices.positive)
    )
    table = replace(table, choices=replace(choices, types=types), left_out=left_out, unlabelled=unlabelled)
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


def _named(names: tuple[str, ...], duplicates: str, table_of: Callable[[tuple[str, ...]], Table]) -> Table:
    """A table with these rows, where ids on several rows are treated as the party chose."""
    if duplicates == "refuse" or not have_repeats(ruled := tuple(map(canonical, names))):
        return table_of(names)
    repeated = len(ruled) - len(set(ruled))
    if duplicates == "repeat":
        return replace(table_of(numbered(ruled)), repeated=repeated)
    rows = one_row_each(ruled, duplicates)
    table = table_of(_row_numbers(len(ruled))).take(rows)
    return replace(table, ids=tuple(ruled[row] for row in rows), repeated=repeated)


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


def _features(names: Sequence[str], others: Sequence[str | None], choices: ColumnChoices) -> list[str]:
    chosen = names if choices.columns is None else [*choices.columns, *([choices.weight] if choices.weight else [])]
    without = {*choices.drop, *(others if choices.columns is None else ())}
    return [name for name in chosen if name not in without]


def _as_chosen(
    columns: Iterable[Column], choices: ColumnChoices, types: dict[str, str], has_decimal_commas: bool
) -> list[Column]:
    """Every column as the party chose; refused ones are named together, so that one correction is enough."""
    read, refusals = [], []
    for column in columns:
        try:
            read.append(_column_as_chosen(column, choices, types, has_decimal_commas))
        except DataError as refusal:
            refusals.append(refusal)
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        listed = "".join(f"\n  {refusal}" for refusal in refusals)
        raise DataError(f"{len(refusals)} columns cannot be read as they are:{listed}")
    return read


def _column_as_chosen(
    column: Column, choices: ColumnChoices, types: dict[str, str], has_decimal_commas: bool
) -> Column:
    """One column as its cells or the party's choices say; the type that its cells show is added to `types`."""
    kind = choices.types.get(column.name)
    values = column.values
    if not column.is_text and kind == "category":
        values = np.array([None if value != value else f"{value:g}" for value in values.tolist()], dtype=object)
    elif column.is_text:
        from plumbob.data.cells import as_values, without_gaps  # Late: many tables have no column of text.

        texts = without_gaps(values.astype(object, copy=False), choices.gaps)
        values, kind = as_values(column.name, texts, kind, has_decimal_commas)
        if kind is not None:
            types[column.name] = kind
    chosen = Column(
        column.name,
        values,
        column.name in choices.stepped,
        column.name in choices.monotone,
        tuple(choices.ranges.get(column.name, ())),
        column.meaning if kind is None else _meaning(kind),
    )
    if chosen.is_monotone and chosen.is_text:
        raise DataError(
            f"--monotone {chosen.name}: expected numbers, dates or levels in order, this column is text; name its"
            f" levels in order with {type_flag(chosen.name, 'low<mid<high')}"
        )
    return chosen


def _meaning(kind: str) -> str:
    """What the numbers of a column of this kind stand for."""
    if "<" in kind:
        return ORDER
    return {"boolean": FLAG, "date": DATE}.get(kind.partition(":")[0], NUMBER)


def _without_row_counts(columns: Iterable[Column]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
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
    """Whether this is the index that pandas writes into its files: whole numbers, each once, in any order."""
    if column.is_text or column.is_missing.any():
        return False
    values = column.numbers
    return bool((values == np.floor(values)).all()) and len(np.unique(values)) == len(values)


@dataclass(repr=False)
class _Columns:
    """Columns that are filled piece by piece; a piece without any value fits both numbers and texts."""

    names: list[str]
    texts: dict[int, list[tuple[slice, Texts]]] = field(default_factory=dict)
    meanings: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.numbers = store.GrowingColumns(len(self.names))

    def add(self, frame: Any) -> None:
        first = self.numbers.rows
        numbers = np.full((len(self.names), len(frame)), np.nan)
        for place, name in enumerate(self.names):
            piece = read_column(name, frame[name])
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


def _with_labels(
    ids: tuple[str, ...], columns: tuple[Column, ...], labels: ArrayLike | None, positive: str | None = None
) -> Table:
    if labels is None:
        return Table(ids, columns)
    coded, classes = code_labels(np.asarray(labels), positive)
    if len(coded) != len(ids):
        raise DataError(f"expected one label for each of {len(ids)} rows, got {len(coded)}")
    return Table(ids, columns, coded, classes)


def _checked_ids(columns: Mapping[str, Sequence[str]], types: Mapping[str, str]) -> tuple[str, ...]:
    for texts in columns.values():
        if texts:
            _refuse_total(texts[-1], len(texts))
    return joined_ids(
        {name: _written_alike(name, _whole_ids(tuple(texts)), types.get(name)) for name, texts in columns.items()}
    )


def _refuse_total(identity: str, row: int) -> None:
    """The last row of a sheet is often its sum."""
    if identity.strip().casefold() in TOTALS:
        raise DataError(f"row {row}, the last one, is a total and not a person: its id says so; take that row out")


def _whole_ids(ids: tuple[str, ...]) -> tuple[str, ...]:
    """Ids that a spreadsheet made fractions of, as they were: 12.0 is 12. What it rounded is refused."""
    rounded = sum(("E" in identity or "e" in identity) and bool(POWER.fullmatch(identity)) for identity in ids)
    if rounded:
        raise DataError(
            f"{rounded} of {len(ids)} ids are written as powers of ten, such as 1.2E+11: a spreadsheet rounded them;"
            " export the ids as text"
        )
    if ids and all(re.fullmatch(r"\s*\d+\.0+\s*", identity) for identity in ids):
        return tuple(identity.strip().partition(".")[0] for identity in ids)
    return ids


def _written_alike(name: str, texts: tuple[str, ...], kind: str | None) -> tuple[str, ...]:
    """The texts of one column of an id, where its type gives each number, or each day, one form."""
    if kind is not None and kind.partition(":")[0] == ids.DATE:
        # Late: few ids are days.
        from plumbob.data.cells import as_values, day_of

        days, _ = as_values(name, np.array(texts, dtype=object), kind, has_decimal_commas=False)
        return tuple(map(day_of, days.tolist()))
    if kind != ids.NUMBER:
        return texts
    if strange := sum(not re.fullmatch(r"\s*\d+\s*", text) for text in texts):
        raise DataError(f"--as {name}={kind}: {strange} of {len(texts)} ids are not whole numbers")
    return tuple(str(int(text)) for text in texts)


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


# One column: as a feature, as ids, or as labels.


def read_column(name: str, series: Any) -> Column:
    """Read a feature; DataError for kinds of values that cannot become numbers or texts."""
    if series.is_null().all():
        return Column(name, np.full(len(series), np.nan))
    if series.dtype == nw.Object:
        return read_column(name, _infer_kind(name, series))
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        numbers = series.cast(nw.Float64).to_numpy()
        return Column(
            name, np.asarray(numbers, dtype=np.float64), meaning=FLAG if series.dtype == nw.Boolean else NUMBER
        )
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return Column(name, _texts(series))
    if series.dtype in (nw.Date, nw.Datetime):
        from plumbob.data.cells import day_number  # As above, of days.

        days = [day_number(value) if isinstance(value, date) else np.nan for value in series.to_list()]
        return Column(name, np.array(days), meaning=DATE)
    if series.dtype == nw.Binary:
        raise DataError(f"column {name!r} {NOT_UTF8}")
    raise DataError(f"column {name!r} holds {series.dtype} in {len(series)} rows; expected numbers, true/false or text")


def _texts(series: Any) -> Texts:
    """The texts of a series; equal ones share one object, however many rows have it."""
    from pyarrow import ChunkedArray

    cells = series.cast(nw.String).to_arrow()
    coded = (cells.combine_chunks() if isinstance(cells, ChunkedArray) else cells).dictionary_encode()
    distinct = [*map(sys.intern, coded.dictionary.to_pylist()), None]
    places = coded.indices.fill_null(len(distinct) - 1).to_numpy()
    texts: Texts = np.array(distinct, dtype=object)[places]
    return texts


def _infer_kind(name: str, series: Any) -> Any:
    """A pandas column of dtype object as what its values are, if they are all of one kind."""
    from pyarrow import ArrowException, array, chunked_array

    try:
        return nw.from_native(chunked_array([array(series.to_list(), from_pandas=True)]), series_only=True)
    except (ArrowException, TypeError, ValueError):
        raise DataError(
            f"column {name!r} mixes kinds of values in {len(series)} rows; make it numbers or text"
        ) from None


def read_ids(series: Any, seen: int) -> tuple[str, ...]:
    """The ids as texts; `seen` rows came before these."""
    _refuse_gaps(series, seen, "id", "fill in the ids, or remove those rows")
    if series.dtype.is_float():
        if not bool((series == series.round(0)).all()):
            raise DataError(f"the id column {series.name!r} holds fractions; store ids as whole numbers or text")
        series = series.cast(nw.Int64)
    return tuple(map(str, series.to_list()))


def read_labels(series: Any, seen: int) -> NDArray[Any]:
    """The labels as they came, texts without blanks around them; `seen` rows came before these."""
    _refuse_gaps(series, seen, "label", "fill in the labels, or leave these rows out with --unlabelled drop")
    if series.dtype == nw.Binary:
        raise DataError(f"the label column {series.name!r} {NOT_UTF8}")
    if series.dtype != nw.String:
        return np.array(series.to_list())
    texts = _texts(series)
    meant = {text: text.strip() for text in dict.fromkeys(texts.tolist())}
    return np.array(list(map(meant.__getitem__, texts.tolist())))


def _refuse_gaps(series: Any, seen: int, what: str, cure: str) -> None:
    rows = [seen + row for row, is_missing in enumerate(series.is_null().to_list(), 1) if is_missing]
    if rows:
        have, noun = ("has", "row") if len(rows) == 1 else ("have", "rows")
        shown = ", ".join(map(str, rows[:SHOWN_ROWS])) + (", ..." if len(rows) > SHOWN_ROWS else "")
        raise DataError(f"{len(rows)} of {seen + len(series)} rows {have} no {what} ({noun} {shown}); {cure}")


def code_labels(given: NDArray[Any], positive: str | None = None) -> tuple[Labels, tuple[Any, Any]]:
    """Labels as 0/1 and the two classes, the positive one second: the one that is named, or the second when sorted."""
    if given.ndim != 1:
        raise DataError(f"expected one label for each row, got an array of {given.ndim} dimensions")
    may_lack = given.dtype.kind not in "Uib"
    if may_lack and (missing := sum(value is None or value != value for value in given.tolist())):
        have = "has" if missing == 1 else "have"
        raise DataError(f"{missing} of {len(given)} rows {have} no label; fill in the labels, or remove those rows")
    try:
        written = _as_written(given)
        classes = np.unique(written)
    except TypeError:
        raise DataError(f"the labels of {len(given)} rows mix texts and numbers; expected two classes") from None
    if len(classes) != 2:
        raise DataError(
            f"expected two classes of labels in {len(given)} rows, got {len(classes)}; is this the label column?"
        )
    first, second = classes.tolist()
    is_second = np.asarray(written == classes[1])
    if positive is None or str(second) == positive:
        return is_second.astype(np.int8), (first, second)
    if str(first) != positive:
        raise DataError(f"--positive {positive}: expected one of the label's two classes, {first} and {second}")
    return (~is_second).astype(np.int8), (second, first)


def _as_written(given: NDArray[Any]) -> NDArray[Any]:
    """The labels that a file holds as text, as the whole numbers, numbers or flags they say."""
    if given.dtype.kind != "U":
        return given
    distinct = set(np.unique(given).tolist())
    if distinct <= set(FLAGS):
        return np.array([text.lower() == "true" for text in given.tolist()])
    if all(re.fullmatch(r"\s*[+-]?\d+\s*", text) for text in distinct):
        return given.astype(np.int64)
    from plumbob.data.cells import is_number  # Late: most labels are 0 and 1.

    return given.astype(np.float64) if all(map(is_number, distinct)) else given
