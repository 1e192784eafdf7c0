"""How one column of a table becomes columns of numbers: as it is, in bins, or one column for each level.

    source                      encoded columns
    PlainColumn("age")          age
    Marked("age", ...)          age, age=(gap)
    Bins("age", ...)            age=(-inf, 30], age=(30, 45], ..., age=(gap)      all but one of them
    both of these               age, age=(-inf, 30], ...                          with `plain`
    Levels("town", ...)         town=Bonn, town=Köln, ..., town=(rare), town=(gap)      all but one of them

The slot that is left out is the reference: the one with most training rows. Without it the columns of one source would
add up to the intercept, and odds ratios would mean nothing. How many slots there are is decided on all rows
of the party's own file, so that it is known before the parties have found their common rows; where the cuts lie, and
which slot is the reference, on the training rows. A slot that has no training row stays, as a constant column.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import numpy as np

from plumbob.arrays import Places, Vector
from plumbob.data.tables import Column
from plumbob.errors import DataError

RARE, GAP = "(rare)", "(gap)"
MOST_CUTS_COMPARED = 32
"""Up to this many cuts, comparing a column with every cut is faster than searching each number's place."""
Slot = TypeVar("Slot")


class EncodedColumn(ABC):
    """A column of the party's table and how it becomes encoded columns."""

    name: str

    @property
    def is_text(self) -> bool:
        return False

    @property
    @abstractmethod
    def encoded_names(self) -> tuple[str, ...]:
        """The names of the encoded columns, in their order."""

    @property
    def width(self) -> int:
        """How many encoded columns there are."""
        return len(self.encoded_names)

    @property
    def column_shares(self) -> tuple[float, ...] | None:
        """The share of the training rows with a 1 in each column, if columns hold 0 and 1 only; None for others."""
        return None

    @property
    def is_slotted(self) -> bool:
        """Whether every row has a single 1 in its columns, or none where its slot is the reference."""
        return False

    def columns(self, column: Column) -> Iterator[Vector]:
        """The encoded columns of a source without slots, one by one; NaN where a value is missing."""
        yield column.numbers

    def ones(self, column: Column) -> Places:
        """The column of each row's 1, for a slotted source.

        `width` stands for the reference and -1 for a row without a slot, which holds `column_shares`.
        """
        raise DataError(f"{self.name}: a column without slots has no column of 1s; ask for `columns`")

    def unseen(self, column: Column) -> int:
        """How many rows hold a level or a gap that training never saw and that has no slot."""
        return 0


@dataclass(frozen=True, repr=False, eq=False)
class PlainColumn(EncodedColumn):
    """A number as it is."""

    name: str

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True, repr=False, eq=False)
class Marked(EncodedColumn):
    """A number as it is, filled where it is missing, and a column that says where that was."""

    name: str
    share: float
    """The share of the training rows that have no value."""

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return self.name, f"{self.name}={GAP}"

    def columns(self, column: Column) -> Iterator[Vector]:
        yield from super().columns(column)
        yield column.is_missing.astype(np.float64)

    def unseen(self, column: Column) -> int:
        return 0 if self.share else int(column.is_missing.sum())


@dataclass(frozen=True, repr=False, eq=False)
class Bins(EncodedColumn):
    """A number in bins; `shares` are the training rows' shares of the slots: the bins in order, then the gaps."""

    name: str
    cuts: tuple[float, ...]
    has_gaps: bool
    reference: int
    shares: tuple[float, ...]
    means: tuple[float, ...] = ()
    """The mean of the training rows in each bin, where the column also stands as it is; a scorecard needs them."""

    @property
    def slots(self) -> tuple[str, ...]:
        """What each slot holds, in words."""
        edges = ["-inf", *map(_decimal, self.cuts), "inf"]
        bins = [f"({low}, {high}{')' if high == 'inf' else ']'}" for low, high in pairwise(edges)]
        return _make_distinct([*bins, *([GAP] if self.has_gaps else [])])

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={slot}" for slot in _without(self.slots, self.reference))

    @property
    def width(self) -> int:
        return len(self.cuts) + self.has_gaps

    @property
    def column_shares(self) -> tuple[float, ...]:
        return _without(self.shares, self.reference)

    @property
    def is_slotted(self) -> bool:
        return True

    def ones(self, column: Column) -> Places:
        return _columns_of_places(self.places(column), len(self.cuts) + 1 + self.has_gaps, self.reference)

    def unseen(self, column: Column) -> int:
        return 0 if self.has_gaps else int(column.is_missing.sum())

    def places(self, column: Column) -> Places:
        """Each row's slot; -1 for a gap where training had none."""
        numbers = column.numbers
        places = places_of(numbers, self.cuts)
        places[np.isnan(numbers)] = len(self.cuts) + 1 if self.has_gaps else -1
        return places


@dataclass(frozen=True, repr=False, eq=False)
class Levels(EncodedColumn):
    """A text by levels; slots are the levels in order, then the rare ones together, then the gaps."""

    name: str
    levels: tuple[str, ...]
    has_rare: bool
    has_gaps: bool
    reference: int
    shares: tuple[float, ...]

    @property
    def is_text(self) -> bool:
        return True

    @property
    def is_slotted(self) -> bool:
        return True

    @property
    def slots(self) -> tuple[str, ...]:
        """What each slot holds, in words."""
        return (*self.levels, *([RARE] if self.has_rare else []), *([GAP] if self.has_gaps else []))

    @property
    def encoded_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={slot}" for slot in _without(self.slots, self.reference))

    @property
    def width(self) -> int:
        return max(len(self.levels) + self.has_rare + self.has_gaps - 1, 0)

    @property
    def column_shares(self) -> tuple[float, ...]:
        return _without(self.shares, self.reference)

    def ones(self, column: Column) -> Places:
        return _columns_of_places(self.places(column), len(self.slots), self.reference)

    def unseen(self, column: Column) -> int:
        values = column.texts if column.is_text else [None] * len(column.values)
        gaps = 0 if self.has_gaps else sum(value is None for value in values)
        return gaps + (0 if self.has_rare else self._outside(values))

    def counted_as_rare(self, column: Column) -> int:
        """How many rows have a level that training did not keep, where it grouped such levels."""
        return self._outside(column.texts) if self.has_rare and column.is_text else 0

    def _outside(self, values: Sequence[str | None]) -> int:
        known = {*self.levels, None}
        return sum(value not in known for value in values)

    def places(self, column: Column) -> Places:
        """Each row's slot; -1 where training saw nothing like it, and there is no slot for the rare ones."""
        gap = len(self.levels) + self.has_rare if self.has_gaps else -1
        if not column.is_text:
            # A column without any value is numbers throughout, all of them gaps.
            return np.full(len(column.values), gap, dtype=np.intp)
        others = len(self.levels) if self.has_rare else -1
        texts = column.texts
        known: dict[str | None, int] = {level: index for index, level in enumerate(self.levels)}
        place = {text: known.get(text, others) for text in dict.fromkeys(texts)} | {None: gap}
        return np.fromiter(map(place.__getitem__, texts), dtype=np.intp, count=len(texts))


def places_of(values: Vector, cuts: tuple[float, ...]) -> Places:
    """Which bin each number falls into, from 0; where a gap falls means nothing, and the caller must tell it apart."""
    if len(cuts) > MOST_CUTS_COMPARED:
        return np.searchsorted(np.array(cuts, dtype=np.float64), values, side="left")
    places = np.zeros(len(values), dtype=np.uint8)
    for cut in cuts:
        places += values > cut
    return places.astype(np.intp)


# As they are kept in a party's part of a model.


KINDS: dict[str, type[PlainColumn | Marked | Bins | Levels]] = {
    "as it is": PlainColumn,
    "marked": Marked,
    "bins": Bins,
    "levels": Levels,
}


def store_encoding(source: EncodedColumn) -> dict[str, Any]:
    """The encoding as values for a file; `restore_encoding` reads them."""
    kind = next(kind for kind, type_ in KINDS.items() if isinstance(source, type_))
    return {"kind": kind, **vars(source)}


def restore_encoding(stored: Mapping[str, Any]) -> EncodedColumn:
    """The inverse of `store_encoding`; ValueError for anything else."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    kind = KINDS.get(str(values.pop("kind", "")))
    if kind is None or not values.keys() <= {item.name for item in fields(kind)}:
        raise ValueError("no such kind of source")
    source: EncodedColumn = msgspec.convert(values, kind, strict=True)
    if isinstance(source, Bins | Levels) and not (
        len(source.shares) == len(source.slots) and 0 <= source.reference < len(source.slots)
    ):
        raise ValueError("a source's slots, shares and reference do not fit together")
    return source


def _columns_of_places(places: Places, slots: int, reference: int) -> Places:
    """The column of each place; the reference has none: its place becomes their number, later ones move up."""
    columns = np.arange(slots + 1, dtype=np.intp)
    columns[reference + 1 :] -= 1
    columns[reference] = slots - 1
    # A row without a slot has the place -1, which is the last one.
    columns[-1] = -1
    return columns[places]


def _without(slots: Sequence[Slot], reference: int) -> tuple[Slot, ...]:
    return tuple(slot for place, slot in enumerate(slots) if place != reference)


def _decimal(cut: float) -> str:
    """The shortest text that gives exactly this number."""
    return repr(cut).removesuffix(".0")


def _make_distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Number names that occur twice: a bin that no training row fills has the cuts of another one."""
    seen = Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} (empty {seen[name] - 1})")
    return tuple(told)
