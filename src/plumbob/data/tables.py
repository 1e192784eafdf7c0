"""One party's rows as they came, from a file (`table_files`), a data frame or an array (`frames`), and what it says
about them.

Nothing is repaired and nothing is scaled; what cannot become numbers later is refused by column names and row counts,
never by showing a value. Numbers go where `store` puts them, ids and texts stay in memory.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Labels, Texts, Vector
from plumbob.data import store
from plumbob.data.ids import ONE_ROW_EACH, have_repeats, in_pieces
from plumbob.errors import DataError

if TYPE_CHECKING:
    from plumbob.data.encoder import FittedColumns

NUMBER, FLAG, DATE, TEXT = "number", "yes/no", "date", "text"
DEFAULT_RARE = 30


@dataclass(frozen=True)
class ColumnChoices:
    """What a party says about its own file; empty where it says nothing."""

    columns: tuple[str, ...] | None = None
    """The features, in this order; None for all columns."""
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    """Columns that are text, even if every cell of them is a number."""
    gaps: tuple[str, ...] = ()
    """Cells that mean a gap, besides empty ones, NA and the like."""
    positive: str | None = None
    """The label's class that is predicted; None for the second one in sorted order."""
    weight: str | None = None
    """The column that says how much a row counts, from 0 to 1, at the label party; it is no feature."""

    def about(self, names: Collection[str]) -> "ColumnChoices":
        """The choices about these columns only: those of one file among several."""
        return replace(
            self,
            columns=None if self.columns is None else tuple(name for name in self.columns if name in names),
            drop=tuple(name for name in self.drop if name in names),
            category=tuple(name for name in self.category if name in names),
            weight=self.weight if self.weight in names else None,
        )


@dataclass(frozen=True, repr=False, eq=False)
class Column:
    """Numbers with NaN where a value is missing, or texts with None; one without any value is NaN throughout."""

    name: str
    values: Vector | Texts
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
    def numbers(self) -> Vector:
        """The cells of a column of numbers."""
        return self.values.astype(np.float64, copy=False)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        if self.is_text:
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.numbers)


@dataclass(frozen=True)
class EncodingChoices:
    """What the plan says about how columns become numbers."""

    bins: int = 0
    """Bins per column of numbers, beside the column itself; a gap and each level of a text have a slot anyhow."""
    rare: int = DEFAULT_RARE
    is_paid_for: bool = False
    """Whether whatever depends on rows costs budget, and the file says which slots there are and nothing else."""


@dataclass(frozen=True, repr=False, eq=False)
class Table:
    """One party's own columns, keyed by id; `labels` are 0/1 and only at the label party, 1 being `classes[1]`."""

    ids: tuple[str, ...]
    columns: tuple[Column, ...]
    labels: Labels | None = None
    classes: tuple[Any, Any] | None = None
    fitted: "FittedColumns | None" = None
    """How the columns of the file that these rows come from become numbers, if that was fitted already."""
    choices: ColumnChoices = field(default_factory=ColumnChoices)
    """How that file was read."""
    left_out: tuple[str, ...] = ()
    """Columns of that file that are no features, because they have no name."""
    weights: Vector | None = None
    """How much each row counts in training, from 0 to 1, where the label party says so."""
    unlabelled: int = 0
    """Rows of that file that are left out, because they have no label."""

    def __post_init__(self) -> None:
        if have_repeats(self.ids):
            repeated = len(self.ids) - len(set(self.ids))
            raise DataError(f"{repeated} of {len(self)} rows repeat an id that came before; {ONE_ROW_EACH}")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return (
            f"Table({len(self)} rows, {len(self.columns)} columns, {'with' if self.labels is not None else 'no'} label)"
        )

    def digest(self) -> bytes:
        """A digest of ids, columns and labels, by which a run recognises its rows."""
        return self._digest

    @cached_property
    def _digest(self) -> bytes:
        digest = hashlib.sha256(f"{len(self.ids)},{len(self.columns)}:".encode())
        for piece in in_pieces(self.ids):
            lengths = map("{}:".format, map(len, piece))
            digest.update("".join(chain.from_iterable(zip(lengths, piece, strict=True))).encode())
        for column in self.columns:
            digest.update(f"{len(column.name)}:{column.name}".encode())
            values = column.values
            digest.update(repr(values.tolist()).encode() if column.is_text else np.ascontiguousarray(values).data)
        if self.labels is not None:
            digest.update(np.ascontiguousarray(self.labels).data)
        if self.weights is not None:
            digest.update(b"weights" + np.ascontiguousarray(self.weights).tobytes())
        return digest.digest()

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> "Table":
        """The rows at these positions, in this order."""
        positions = np.asarray(rows, dtype=np.intp)
        if np.array_equal(positions, np.arange(len(self))):
            return self
        return self._take(positions, tuple(self.ids[row] for row in positions))

    def _take(self, positions: NDArray[np.intp], ids: tuple[str, ...]) -> "Table":
        numbers = store.empty(len(self.columns), len(positions))
        columns = []
        for column, room in zip(self.columns, numbers, strict=True):
            if column.is_text:
                columns.append(replace(column, values=column.values[positions]))
                continue
            room[:] = column.values[positions]
            columns.append(replace(column, values=room))
        labels = None if self.labels is None else self.labels[positions]
        weights = None if self.weights is None else self.weights[positions]
        return replace(self, ids=ids, columns=tuple(columns), labels=labels, weights=weights)

    def select(self, ids: Iterable[str], advice: str = "") -> "Table":
        """The rows with these ids, in this order: a party's own table by an agreed list of ids.

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
        return self._take(positions, wanted)
