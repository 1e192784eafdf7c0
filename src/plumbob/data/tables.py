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
from plumbob.data.ids import DUPLICATES, have_repeats, in_pieces
from plumbob.errors import DataError

if TYPE_CHECKING:
    from plumbob.data.encoder import FittedColumns

NUMBER, FLAG, DATE, TEXT = "number", "yes/no", "date", "text"
DEFAULT_RARE = 30
UNLABELLED = ("refuse", "drop")


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
    duplicates: str = DUPLICATES[0]
    """What becomes of an id that is on several rows: `ids.DUPLICATES`."""
    unlabelled: str = UNLABELLED[0]
    """What becomes of a row without a label."""
    weight: str | None = None
    """The column that says how much a row counts, from 0 to 1, at the label party; it is no feature."""

    def __post_init__(self) -> None:
        if self.unlabelled not in UNLABELLED:
            raise DataError(f"--unlabelled {self.unlabelled}: expected {' or '.join(UNLABELLED)}")
        if self.duplicates not in DUPLICATES:
            raise DataError(f"--duplicates {self.duplicates}: expected {', '.join(DUPLICATES)}")

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

    missing: str = "refuse"
    categorical: str = "refuse"
    bins: int = 0
    rare: int = DEFAULT_RARE
    plain: bool = False
    """Whether each column of numbers also stands as it is, beside its bins."""


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
    """Columns of that file that are no features: without a name, and empty or a count of the rows."""
    held_out: NDArray[np.bool_] | None = None
    """Which rows are kept for testing, where a party chose them."""
    weights: Vector | None = None
    """How much each row counts in training, from 0 to 1, where the label party says so."""
    unlabelled: int = 0
    """Rows of that file that are left out, because they have no label."""
    repeated: int = 0
    """How many rows of that file have an id that another one has too, beyond the first; `choices` says what became of
    them."""

    def __post_init__(self) -> None:
        if have_repeats(self.ids):
            repeated = len(self.ids) - len(set(self.ids))
            raise DataError(
                f"{repeated} of {len(self)} rows repeat an id that came before; ids must be unique, or say with"
                " --duplicates first, last or repeat which rows count"
            )

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
        if self.held_out is not None:
            digest.update(np.packbits(self.held_out).data)
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
        held_out = None if self.held_out is None else self.held_out[positions]
        weights = None if self.weights is None else self.weights[positions]
        return replace(self, ids=ids, columns=tuple(columns), labels=labels, held_out=held_out, weights=weights)

    def select(self, ids: Iterable[str], advice: str = "", names: tuple[str, ...] | None = None) -> "Table":
        """The rows with these ids, in this order: a party's own table by an agreed list of ids.

        `advice` is for whoever lacks some of them. A row may be taken several times, under `names` that differ.
        """
        wanted = tuple(ids)
        if wanted == self.ids and names is None:
            return self
        position = {identity: row for row, identity in enumerate(self.ids)}
        if absent := sum(identity not in position for identity in wanted):
            found = f"{absent} of {len(wanted)} agreed ids are not in this table of {len(self)} rows"
            raise DataError(f"{found}; {advice}" if advice else found)
        positions = np.fromiter((position[identity] for identity in wanted), dtype=np.intp, count=len(wanted))
        # The caller's own texts: aligned tables share them.
        return self._take(positions, wanted if names is None else names)
