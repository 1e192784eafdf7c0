"""One column of a data frame: as a feature, as ids, or as labels."""

import sys
from datetime import date
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Texts
from plumbob.data.csv_files import NOT_UTF8
from plumbob.data.dates import day_number
from plumbob.data.tables import DATE, FLAG, NUMBER, Column
from plumbob.errors import DataError

SHOWN_ROWS = 5


def read_column(name: str, series: Any) -> Column:
    """A feature; DataError for kinds of values that cannot become numbers or texts."""
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
    """As texts; `seen` rows came before these."""
    if missing := int(series.is_null().sum()):
        rows = _row_list(series.is_null(), seen)
        have = "has" if missing == 1 else "have"
        raise DataError(
            f"{missing} of {seen + len(series)} rows {have} no id ({rows}); fill in the ids, or remove those rows"
        )
    if series.dtype.is_float():
        if not bool((series == series.round(0)).all()):
            raise DataError(f"the id column {series.name!r} holds fractions; store ids as whole numbers or text")
        series = series.cast(nw.Int64)
    return tuple(map(str, series.to_list()))


def read_labels(series: Any, seen: int) -> NDArray[Any]:
    """As they came, texts without blanks around them; `seen` rows came before these."""
    if missing := int(series.is_null().sum()):
        rows = _row_list(series.is_null(), seen)
        have = "has" if missing == 1 else "have"
        raise DataError(
            f"{missing} of {seen + len(series)} rows {have} no label ({rows}); fill in the labels, or leave these"
            " rows out with --unlabelled drop"
        )
    if series.dtype == nw.Binary:
        raise DataError(f"the label column {series.name!r} {NOT_UTF8}")
    if series.dtype != nw.String:
        return np.array(series.to_list())
    texts = _texts(series)
    meant = {text: text.strip() for text in dict.fromkeys(texts.tolist())}
    return np.array(list(map(meant.__getitem__, texts.tolist())))


def _row_list(is_missing: Any, seen: int) -> str:
    rows = [seen + row for row, missing in enumerate(is_missing.to_list(), 1) if missing]
    more = ", ..." if len(rows) > SHOWN_ROWS else ""
    return f"row{'' if len(rows) == 1 else 's'} {', '.join(map(str, rows[:SHOWN_ROWS]))}{more}"
