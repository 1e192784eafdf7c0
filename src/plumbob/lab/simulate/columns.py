"""Which party owns which columns of a joint X: by counts from the left, or by a frame's column names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike

from plumbob.arrays import Matrix, Vector
from plumbob.data import ColumnChoices, Table, table_from
from plumbob.data.same_rows import column_counts
from plumbob.errors import DataError
from plumbob.plan import suggestion

Split = Sequence[int] | Sequence[Sequence[str]] | Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Owners:
    """The places of each party's columns in X, label party first."""

    names: tuple[str, ...]
    """The names of all columns of X, in order."""
    places: tuple[tuple[int, ...], ...]
    parties: tuple[str, ...] = ()
    """The parties' names, if the split gives them."""

    @classmethod
    def of(cls, split: Split | None, names: Sequence[str] | None, columns: int) -> "Owners":
        """The owners by counts, by lists of names, or by lists of names by party; `names` is None where X has none."""
        known = tuple(names) if names is not None else tuple(f"x{place}" for place in range(columns))
        if split is None or not _is_by_name(split):
            counts = column_counts(columns, _counts(split, columns))
            starts = [end - count for end, count in zip(accumulate(counts), counts, strict=True)]
            places = (tuple(range(start, start + count)) for start, count in zip(starts, counts, strict=True))
            return cls(known, tuple(places))
        if names is None:
            raise DataError("split names columns, and this X has no names; pass a data frame, or count the columns")
        parties = tuple(split) if isinstance(split, Mapping) else ()
        lists = list(split.values()) if isinstance(split, Mapping) else list(split)
        return cls(known, _places_of(lists, known), parties)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(map(len, self.places))

    def names_of(self, party: int) -> list[str]:
        """The columns of one party, by its place in the split."""
        return [self.names[place] for place in self.places[party]]

    def tables_of_numbers(self, X: Matrix, labels: ArrayLike | None) -> tuple[Table, ...]:
        """One table per party; a row's place is its id."""
        whole = table_from(X, labels=labels)
        columns = [replace(column, name=name) for column, name in zip(whole.columns, self.names, strict=True)]
        own = [tuple(columns[place] for place in places) for places in self.places]
        first = replace(whole, columns=own[0])
        return (first, *(Table(whole.ids, columns) for columns in own[1:]))

    def tables_of_frame(
        self, frame: Any, labels: ArrayLike | None, readings: Sequence[ColumnChoices] | None = None
    ) -> tuple[Table, ...]:
        """One table per party from a frame with texts; `readings` say how training read each party's columns."""
        chosen = readings or [_reading(frame, self.names_of(party)) for party in range(len(self.places))]
        return tuple(
            table_from(frame, labels=labels if party == 0 else None, choices=reading)
            for party, reading in enumerate(chosen)
        )

    def in_order_of_input(self, values: Sequence[Vector]) -> Vector:
        """Each party's numbers, one per column, at their places in X."""
        whole = np.empty(len(self.names))
        for places, own in zip(self.places, values, strict=True):
            whole[list(places)] = own
        return whole


def has_texts(X: Any) -> bool:
    """Whether X is a frame with columns that are not numbers."""
    frame = _frame(X)
    return frame is not None and any(not (kind.is_numeric() or kind == nw.Boolean) for kind in frame.schema.values())


def has_gaps(X: Any) -> bool:
    """Whether X is a frame in which values are missing."""
    frame = _frame(X)
    return frame is not None and any(
        column.is_null().any() or (column.dtype.is_float() and column.is_nan().any()) for column in frame.iter_columns()
    )


def is_frame(X: Any) -> bool:
    """Whether X is a frame."""
    return _frame(X) is not None


def _frame(X: Any) -> "nw.DataFrame[Any] | None":
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except (TypeError, ValueError):
        return None
    return frame if isinstance(frame, nw.DataFrame) else None


def _reading(frame: Any, names: Sequence[str]) -> ColumnChoices:
    """The choices for a party's columns: what its owner made a category is one, even if levels look like numbers."""
    kinds = nw.from_native(frame, eager_only=True).schema
    return ColumnChoices(
        tuple(names), category=tuple(name for name in names if kinds[name] in (nw.Categorical, nw.Enum))
    )


def deviations(tables: Sequence[Table]) -> list[Vector]:
    """The standard deviation of every column; NaN for texts."""
    return [np.array([_deviation(column) for column in table.columns]) for table in tables]


def _deviation(column: Any) -> float:
    if column.is_text or column.is_missing.all():
        return float("nan")
    return float(np.nanstd(column.values.astype(np.float64)))


def _is_by_name(split: Split) -> bool:
    return isinstance(split, Mapping) or any(isinstance(own, Sequence) for own in split)


def _counts(split: Any, columns: int) -> Any:
    """The split as given; without one, half and half, and a single column belongs to the second party."""
    return split if split is not None or columns > 1 else (0, 1)


def _places_of(lists: Sequence[Any], names: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    if any(isinstance(own, str) or not isinstance(own, Sequence) for own in lists):
        raise DataError("split: expected a list of column names for each party, label party first")
    named = [name for own in lists for name in own]
    if unknown := [name for name in named if name not in names]:
        close = suggestion(str(unknown[0]), names)
        raise DataError(f"split names {unknown[0]!r}, which is no column of X{close}")
    if repeated := next((name for name in named if named.count(name) > 1), None):
        raise DataError(f"split names {repeated!r} more than once; each column has one owner")
    if left := [name for name in names if name not in named]:
        listed = ", ".join(map(repr, left[:3])) + (", ..." if len(left) > 3 else "")
        raise DataError(f"split gives {len(left)} columns of X to nobody ({listed}); name their owner or drop them")
    if len(lists) < 2 or any(not own for own in lists[1:]):
        raise DataError("split: expected at least two parties, each but the first with at least one column")
    return tuple(tuple(names.index(name) for name in own) for own in lists)
