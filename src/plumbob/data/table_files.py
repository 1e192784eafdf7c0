"""Tables from CSV and Parquet files, some rows at a time: a file may be larger than memory."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.data import store
from plumbob.data.csv_files import (
    TextAfterAllError,
    describe_error,
    find_layout,
    first_rows,
    plainly_quoted,
    read_csv,
    readable_names,
)
from plumbob.data.frames import UNNAMED, assemble
from plumbob.data.ids import id_names, is_named_like_an_id
from plumbob.data.tables import Column, ColumnChoices, Table
from plumbob.errors import DataError

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")


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
    """The names of a file's columns, read without its rows."""
    from pyarrow import parquet

    file = _existing(Path(path))
    with _readable(file):
        if file.name.lower().endswith(PARQUET_ENDINGS):
            return tuple(parquet.read_schema(file).names)
        with plainly_quoted(file) as source:
            return readable_names(find_layout(source).names)


def identifying_columns(path: str | Path) -> tuple[str, ...]:
    """Columns that may identify a row, by the file's first rows: text or whole numbers, none missing, none twice.

    Those that are named like an id come first.
    """
    file = _existing(Path(path))
    with _readable(file):
        if file.name.lower().endswith(PARQUET_ENDINGS):
            *_, frame = islice(_read_parquet(file), 2)
        else:
            with plainly_quoted(file) as source:
                frame = first_rows(source, find_layout(source))
    named = [name for name in frame.column_names if not UNNAMED.fullmatch(name)]
    found = [name for name in named if _may_identify(frame.column(name))]
    return tuple(sorted(found, key=lambda name: not is_named_like_an_id(name)))


def _may_identify(cells: Any) -> bool:
    from pyarrow import compute, types

    # pandas stores texts as large ones.
    is_text = types.is_string(cells.type) or types.is_large_string(cells.type)
    if not len(cells) or cells.null_count or not (types.is_integer(cells.type) or is_text):
        return False
    return len(compute.unique(cells)) == len(cells) and not _are_measurements(cells)


def _are_measurements(cells: Any) -> bool:
    """Whether these are numbers with a fraction that happen to differ in every row."""
    from pyarrow import ArrowInvalid, compute, float64, types

    if types.is_integer(cells.type):
        return False
    try:
        numbers = compute.cast(compute.replace_substring(compute.utf8_trim_whitespace(cells), ",", "."), float64())
    except ArrowInvalid:
        return False
    return not compute.all(compute.equal(numbers, compute.floor(numbers))).as_py()


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise DataError(
            f"{file}: expected a file, this is a folder" if file.is_dir() else f"{file}: there is no such file"
        )
    return file


def _read(file: Path, id_column: str | None, label_column: str | None, choices: ColumnChoices) -> Table:
    name = file.name.lower()
    if name.endswith(CSV_ENDINGS):
        with _readable(file), plainly_quoted(file) as source:
            return _read_csv(source, id_column, label_column, choices)
    if name.endswith(PARQUET_ENDINGS):
        with _readable(file):
            return assemble(_release_after(_read_parquet(file)), id_column, label_column, choices)
    raise DataError(f"{file}: expected a name that ends in .csv, .csv.gz or .parquet")


def _read_csv(file: Path, id_column: str | None, label_column: str | None, choices: ColumnChoices) -> Table:
    layout = find_layout(file)
    # Ids are read as text: 007 must stay 007, as it is in the peer's table.
    ids = () if id_column is None else id_names(id_column, layout.names)
    texts = {column for column in (*ids, label_column, *choices.types) if column is not None}

    def read(texts: set[str]) -> Table:
        frames = _release_after(read_csv(file, layout, texts, choices.gaps))
        with _readable(file, layout.names):
            return assemble(frames, id_column, label_column, choices, layout.separator != ",")

    try:
        return read(texts)
    except TextAfterAllError as late:
        # A column looked like numbers for many rows, and its texts are gone by then.
        return read(texts | late.names)


@contextmanager
def _readable(file: Path, names: tuple[str, ...] = ()) -> Iterator[None]:
    try:
        yield
    except DataError:
        # It says what is wrong already.
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{file}: could not be read as a table ({describe_error(error, names)})") from None


def _release_after(source: Iterator[Any]) -> Iterator[Any]:
    from pyarrow import default_memory_pool

    yield from source
    # Arrow keeps what it used for the next file, and there is none.
    default_memory_pool().release_unused()


def _read_parquet(file: Path) -> Iterator[Any]:
    """The file's frames after an empty one, so that there is at least one."""
    from pyarrow import Table as ArrowTable
    from pyarrow import parquet

    # Mapped, because a row group is often the whole file.
    with parquet.ParquetFile(file, memory_map=True) as reader:
        yield reader.schema_arrow.empty_table()
        for batch in reader.iter_batches(batch_size=store.ROWS_AT_ONCE):
            yield ArrowTable.from_batches([batch])


def _refuse_infinite(columns: Sequence[Column]) -> None:
    """Refuse all columns with infinite numbers in one message, so that one correction is enough."""
    found = [
        (column.name, where) for column in columns if not column.is_text and (where := np.isinf(column.numbers)).any()
    ]
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
