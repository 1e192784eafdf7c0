"""One party's columns as numbers, fitted on its own rows and remembered, so that new rows are read in the same way.

A number in bins and a text in levels are the same thing: a slot for each row. Every slot but one is a column of 0 and
1, and a number may also stand as it is before them.

    a column                      encoded columns
    age, as it is                 age
    age, in bins beside it        age, age=(-inf, 30], age=(30, 45], ..., age=(gap)      all slots but one
    town, in levels               town=Bonn, town=Köln, ..., town=(rare), town=(gap)     all slots but one

The slot that is left out is the reference, the one with most rows: with it the slots would add up to the intercept, and
odds ratios would mean nothing. A column is fitted on all rows of the party's own file, before the parties have found
their common rows and without a look at any label. What was fitted travels with the table, so that any rows of it give
the same columns.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Places, Vector
from plumbob.data import store
from plumbob.data.cells import day_of
from plumbob.data.cuts import cut_points, places_of
from plumbob.data.tables import DATE, Column, ColumnChoices, EncodingChoices, Table
from plumbob.data.whitening import CLIP
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.plan.row_noise import BIN_SCALE

RARE, GAP = "(rare)", "(gap)"
Rows = slice | NDArray[np.intp]
ALL_ROWS = slice(None)
LARGEST_SLOT = CLIP
"""The largest absolute value that a slot's 1, or its 0, is scaled to."""
UNSEEN = -1
"""The slot of a row that has none: training saw nothing like it."""


class ColumnEncoder(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One column as numbers: itself if it stands as it is, and a column of 0 and 1 for each slot but the reference."""

    name: str
    cuts: tuple[float, ...] = ()
    """Of a number: a bin holds what is above one cut and at most the next."""
    levels: tuple[str, ...] | None = None
    """Of a text; None for a number."""
    has_rare: bool = False
    """Whether a slot behind the levels stands for all others."""
    has_gaps: bool = False
    """Whether the last slot stands for a missing value."""
    has_plain: bool = False
    is_date: bool = False
    shares: tuple[float, ...] = ()
    """The share of the rows in each slot."""
    mean: float = 0.0
    """The mean of the number, which a gap stands at where the number stands as it is."""
    factor: float = 0.0
    """One over its deviation; 0 for a constant."""

    def __post_init__(self) -> None:
        # Of a file or of evidence that somebody else wrote: no slot may count more than a party's own rows can make it.
        if len(self.shares) != self.count or not all(0.0 <= share <= 1.0 for share in self.shares):
            raise ValueError("a column's slots and shares do not fit together")
        if not all(low < high for low, high in pairwise((-math.inf, *self.cuts, math.inf))):
            raise ValueError("a column's cuts do not rise")
        if not (math.isfinite(self.mean) and math.isfinite(self.factor) and self.factor >= 0.0):
            raise ValueError("a column's mean or factor is no number")

    def __repr__(self) -> str:
        # Levels and cuts are about people.
        return f"ColumnEncoder({self.name!r}, {self.width} columns)"

    @classmethod
    def fit(cls, column: Column, choices: EncodingChoices) -> "ColumnEncoder":
        """Fit a column on all its rows; the choices are the plan's."""
        if choices.is_paid_for:
            return cls.schema(column, choices)
        missing = column.is_missing
        has_gaps = bool(0 < missing.sum() < len(missing))
        if column.is_text:
            levels, is_rare = _levels(column, choices.rare)
            gaps = bool(missing.any())
            shares = (0.0,) * (len(levels) + is_rare + gaps)
            return cls(column.name, (), levels, is_rare, gaps, shares=shares)._with_shares(column)
        cuts = cut_points(column.numbers, choices.bins) if choices.bins else ()
        has_plain = is_numeric(column) if choices.bins else not is_empty(column)
        mean, factor = _moments(column.numbers) if has_plain else (0.0, 0.0)
        if not (math.isfinite(mean) and math.isfinite(factor)):
            raise DataError(f"column {column.name!r}: its numbers are out of range; divide them by a power of ten")
        shares, is_date = (0.0,) * (len(cuts) + 1 + has_gaps), column.meaning == DATE
        bare = cls(column.name, cuts, None, False, has_gaps, has_plain, is_date, shares, mean, factor)
        return bare._with_shares(column)

    @classmethod
    def schema(cls, column: Column, choices: EncodingChoices) -> "ColumnEncoder":
        """Which slots a column has, where nothing else of it may be told without payment.

        No share, mean or cut of it is looked at: the cuts only hold their places until they are paid for. The plan's
        widths tell the schema, so it is settled before a run and listed as not covered.
        """
        if column.is_text:
            levels, is_rare = _levels(column, choices.rare)
            # One gap more or fewer changes no width: a text always has a slot for them.
            return cls(column.name, (), levels, is_rare, True, shares=(0.5,) * (len(levels) + is_rare + 1))
        missing = column.is_missing
        distinct = len(np.unique(column.numbers[~missing]))
        # Two values are told apart by the column itself.
        cuts = tuple(map(float, range(min(choices.bins, distinct) - 1))) if distinct > 2 else ()
        has_gaps = bool(missing.sum() >= max(1, choices.rare))
        shares, is_date = (0.5,) * (len(cuts) + 1 + has_gaps), column.meaning == DATE
        return cls(column.name, cuts, None, False, has_gaps, True, is_date, shares)

    def with_cuts(self, cuts: tuple[float, ...]) -> "ColumnEncoder":
        """The same with the cuts that were paid for, as many as the schema has."""
        if len(cuts) != len(self.cuts):
            raise DataError(f"column {self.name!r}: expected {len(self.cuts)} cuts, got {len(cuts)}")
        return msgspec.structs.replace(self, cuts=cuts)

    def _with_shares(self, column: Column) -> "ColumnEncoder":
        slots = self.slots(column)
        counts = np.bincount(slots[slots != UNSEEN], minlength=self.count)
        return msgspec.structs.replace(self, shares=tuple((counts / max(len(slots), 1)).tolist()))

    @property
    def is_text(self) -> bool:
        return self.levels is not None

    @property
    def count(self) -> int:
        """How many slots there are."""
        return (len(self.cuts) + 1 if self.levels is None else len(self.levels) + self.has_rare) + self.has_gaps

    @property
    def width(self) -> int:
        """How many encoded columns there are."""
        return self.has_plain + max(self.count - 1, 0)

    @property
    def reference(self) -> int:
        """The slot without a column."""
        if self.levels is None and not self.cuts:
            # However many gaps there are, the column beside the number marks them.
            return 0
        return int(np.argmax(self.shares)) if self.shares else 0

    @property
    def slot_names(self) -> tuple[str, ...]:
        """What each slot holds, in words."""
        gap = (GAP,) if self.has_gaps else ()
        if self.levels is not None:
            return (*self.levels, *((RARE,) if self.has_rare else ()), *gap)
        edges = ["-inf", *(day_of(cut) if self.is_date else _decimal(cut) for cut in self.cuts), "inf"]
        return (*(f"({low}, {high}{')' if high == 'inf' else ']'}" for low, high in pairwise(edges)), *gap)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns, in their order."""
        slots = (f"{self.name}={slot}" for place, slot in enumerate(self.slot_names) if place != self.reference)
        return (*((self.name,) if self.has_plain else ()), *slots)

    @property
    def moments(self) -> Iterator[tuple[float, float]]:
        """(mean, factor) of each encoded column; of a slot, from its share."""
        if self.has_plain:
            yield self.mean, self.factor
        for place, share in enumerate(self.shares):
            if place != self.reference:
                # That a value is missing says what no plain column says: only bins are made smaller beside one.
                is_beside = self.has_plain and place <= len(self.cuts)
                yield share, _slot_factor(share) * (BIN_SCALE if is_beside else 1.0)

    def slots(self, column: Column) -> Places:
        """Each row's slot, or `UNSEEN`."""
        if self.levels is None:
            places = places_of(column.numbers, self.cuts)
            places[np.isnan(column.numbers)] = self._gap
            return places
        if not column.is_text:
            # A column without any value is numbers throughout, all of them gaps.
            return np.full(len(column.values), self._gap, dtype=np.intp)
        others = len(self.levels) if self.has_rare else UNSEEN
        known = {level: place for place, level in enumerate(self.levels)}
        place = {text: known.get(text, others) for text in set(column.texts) if text is not None} | {None: self._gap}
        return np.fromiter(map(place.__getitem__, column.texts), dtype=np.intp, count=len(column.values))

    @property
    def _gap(self) -> int:
        return self.count - 1 if self.has_gaps else UNSEEN

    def write(self, column: Column, out: Matrix) -> None:
        """Write the encoded columns before anything is filled or scaled; NaN where a number stands as it is and lacks.

        A row without a slot is an average one: it holds the slots' shares.
        """
        slots, start = self.slots(column), int(self.has_plain)
        if self.has_plain:
            out[:, 0] = column.numbers
        found = self._column_of_slot[slots]
        out[:, start:] = 0.0
        rows = np.flatnonzero(found >= 0)
        out[rows, found[rows]] = 1.0
        if (is_unseen := slots == UNSEEN).any():
            out[is_unseen, start:] = np.array(self.shares)[self._column_of_slot[:-1] >= 0]

    @cached_property
    def _column_of_slot(self) -> Places:
        """Each slot's encoded column, -1 for the reference; and at the end -1, for rows without a slot."""
        columns = np.arange(self.count + 1) + self.has_plain
        columns[self.reference + 1 :] -= 1
        columns[[self.reference, -1]] = -1
        return columns

    def unseen(self, column: Column) -> int:
        """How many rows hold a level or a gap that training never saw and that has no slot."""
        return int((self.slots(column) == UNSEEN).sum())

    def counted_as_rare(self, column: Column) -> int:
        """How many rows have a level that training did not keep, where it grouped such levels."""
        if not self.has_rare or self.levels is None or not column.is_text:
            return 0
        return int((self.slots(column) == len(self.levels)).sum())


@dataclass(frozen=True)
class RareRows:
    """Rows to predict whose level counts as rare, and how many levels of that column training kept."""

    rows: int
    kept: int


@dataclass(frozen=True, repr=False, eq=False)
class Encoder:
    """`(filled - shift) * factor`, each one number per encoded column."""

    columns: tuple[ColumnEncoder, ...]
    fill: Vector
    shift: Vector
    factor: Vector
    gaps: tuple[str, ...] = ()
    """Which cells the party said to mean a gap: new rows are read in the same way."""

    @property
    def reading(self) -> ColumnChoices:
        """How a file of new rows is read: the model's columns only, each as training had it."""
        texts = tuple(column.name for column in self.columns if column.is_text)
        return ColumnChoices(tuple(column.name for column in self.columns), category=texts, gaps=self.gaps)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns; a category's column is called `column=category`."""
        return tuple(name for column in self.columns for name in column.names)

    def unseen(self, table: Table) -> dict[str, int]:
        """By column: how many rows have a level or gap that training never saw. They are encoded as average rows.

        Where training grouped rare levels, any other level belongs to that group: see `counted_as_rare`.
        """
        counts = {own.name: own.unseen(column) for own, column in self._matching(table)}
        return {name: count for name, count in counts.items() if count}

    def counted_as_rare(self, table: Table) -> dict[str, RareRows]:
        """By column in which training grouped rare levels: the rows whose level is not one of those it kept."""
        counts = {
            own.name: RareRows(own.counted_as_rare(column), len(own.levels or ()))
            for own, column in self._matching(table)
        }
        return {name: rare for name, rare in counts.items() if rare.rows}

    def refuse_unseen(self, table: Table) -> None:
        """Refuse rows with unseen levels, for whoever prefers no score to one of an unusual row."""
        if counts := self.unseen(table):
            listed = ", ".join(f"{name!r} ({count})" for name, count in counts.items())
            raise DataError(f"levels or gaps that training never saw in {len(table)} rows: {listed}; correct them")

    def encode(self, table: Table, rows: Rows = ALL_ROWS) -> Matrix:
        """These rows in the units that training sees; columns are found by name, others are ignored."""
        numbers = self.raw(table, rows)
        numbers = np.where(np.isnan(numbers), self.fill, numbers)
        with np.errstate(over="ignore", invalid="ignore"):
            numbers -= self.shift
            numbers *= self.factor
            is_finite = math.isfinite(numbers.sum()) or bool(np.isfinite(numbers).all())
        if not is_finite:
            self._refuse(
                ~np.isfinite(numbers), "values are out of range after scaling", "correct them, or leave it out"
            )
        return numbers

    def encoded_pieces(self, table: Table, rows: NDArray[np.intp]) -> Iterator[Matrix]:
        """The same as `encode`, some rows at a time and in their order."""
        for piece in store.pieces(len(rows), len(self.shift)):
            yield self.encode(table, rows[piece])

    def raw(self, table: Table, rows: Rows = ALL_ROWS) -> Matrix:
        """These rows before anything is filled or scaled; NaN where a number is missing."""
        matching = [(own, replace(column, values=column.values[rows])) for own, column in self._matching(table)]
        n_rows = len(range(len(table))[rows]) if isinstance(rows, slice) else len(rows)
        numbers, start = np.empty((n_rows, sum(column.width for column in self.columns))), 0
        for own, column in matching:
            own.write(column, numbers[:, start : start + own.width])
            start += own.width
        return numbers

    def in_input_units(self, weights: Vector) -> tuple[Vector, float]:
        """(coefficients, offset) so that `X @ coefficients + offset` equals `encode(X) @ weights`."""
        coefficients = weights * self.factor
        return coefficients, -float(coefficients @ self.shift)

    def _matching(self, table: Table) -> Iterator[tuple[ColumnEncoder, Column]]:
        """Each column with the table's, which must be of the kind that it was fitted on."""
        by_name = {column.name: column for column in table.columns}
        if absent := [own.name for own in self.columns if own.name not in by_name]:
            raise DataError(
                f"{len(absent)} of {len(self.columns)} columns of the model are missing here:"
                f" {', '.join(map(repr, absent))}"
            )
        for own in self.columns:
            column = by_name[own.name]
            if column.is_text != own.is_text and not column.is_missing.all():
                now, then = ("text", "numbers") if column.is_text else ("numbers", "text")
                raise DataError(f"column {own.name!r} holds {now} here and held {then} in training")
            yield own, column

    def _refuse(self, is_bad: NDArray[np.bool_], what: str, cure: str) -> None:
        # A category's own name is a value of the table, so only the column's part of it is shown.
        owners = [column.name for column in self.columns for _ in range(column.width)]
        counts = dict.fromkeys(owners, 0)
        for name, count in zip(owners, is_bad.sum(axis=0).tolist(), strict=True):
            counts[name] = max(counts[name], count)
        bad = ", ".join(f"{name!r} ({count})" for name, count in counts.items() if count)
        raise DataError(f"{what} in {len(is_bad)} rows: {bad}; {cure}")


def fit_encoder(table: Table, plan: Plan) -> Encoder:
    """The encoder of a party's table: what its whole file gave, or, for a table that has no file, its rows."""
    columns = fit_columns(table, choices_of(plan))
    moments = np.array([pair for column in columns for pair in column.moments]).reshape(-1, 2)
    means, factors = moments.T
    if plan.scale == "none":
        shift, factor = np.zeros(len(means)), np.ones(len(means))
    else:
        shift, factor = means, factors
    return Encoder(columns, means, shift, factor, table.choices.gaps)


def with_columns(table: Table, plan: Plan) -> Table:
    """The table with its columns fitted under this plan, so that any rows taken from it give the same columns."""
    choices = choices_of(plan)
    return replace(table, fitted=FittedColumns(columns_under(table, choices), choices))


class FittedColumns(msgspec.Struct, frozen=True):
    """What a whole file gave under a plan's choices; it travels with the table when rows are taken from it."""

    columns: tuple[ColumnEncoder, ...]
    choices: EncodingChoices


def fit_columns(table: Table, choices: EncodingChoices) -> tuple[ColumnEncoder, ...]:
    """How each column becomes numbers; columns that cannot are refused, by name and count."""
    refuse_unfit(table, choices)
    return columns_under(table, choices)


def columns_under(table: Table, choices: EncodingChoices) -> tuple[ColumnEncoder, ...]:
    """How each column becomes numbers: as it was fitted on the whole file, if that was under the same choices."""
    if table.fitted is not None and table.fitted.choices == choices:
        return table.fitted.columns
    return tuple(ColumnEncoder.fit(column, choices) for column in table.columns)


def choices_of(plan: Plan) -> EncodingChoices:
    """What a plan says about how columns become numbers."""
    return EncodingChoices(plan.bins, plan.rare, plan.noise == "rows")


def encoded_width(table: Table, plan: Plan) -> int:
    """How many columns training would see; raises DataError where it would refuse the values."""
    return len(fit_encoder(table, plan).names)


def is_empty(column: Column) -> bool:
    """Whether a column of a table with rows has no value at all: it gives no column."""
    return len(column.values) > 0 and bool(column.is_missing.all())


def is_numeric(column: Column) -> bool:
    """Whether a column holds numbers of more than two values: two are told apart by one column."""
    if column.is_text or column.is_missing.all():
        return False
    values = column.numbers
    return bool(((values > np.nanmin(values)) & (values < np.nanmax(values))).any())


def text_counts(column: Column) -> Counter[str]:
    """How often a column of texts has each of them."""
    return Counter(text for text in column.texts if text is not None)


def _levels(column: Column, rare: int) -> tuple[tuple[str, ...], bool]:
    """(the levels that are kept, whether there are others)."""
    counts = text_counts(column)
    levels = tuple(sorted(level for level, count in counts.items() if count >= rare))
    return levels, len(levels) < len(counts)


def _slot_factor(share: float) -> float:
    """One over the deviation, limited so that no row's 1 or 0 is clipped later: a slot's weight is what it adds."""
    if not 0.0 < share < 1.0:
        return 0.0
    return min(1.0 / math.sqrt(share * (1.0 - share)), LARGEST_SLOT / max(share, 1.0 - share))


def _moments(values: Vector) -> tuple[float, float]:
    """(mean, one over the deviation) of the numbers, gaps at the mean: 0 for a constant, infinite out of range."""
    present = ~np.isnan(values)
    if not present.any():
        return 0.0, 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.where(present, values, 0.0).sum() / present.sum()
        filled = np.where(present, values, mean)
        deviation = float(filled.std())
    # Rounding can give a constant column a deviation of 1e-17, so constancy is read off the values.
    if bool((filled == filled[0]).all()) or deviation < 1.0 / np.finfo(np.float64).max:
        return float(mean), 0.0
    return float(mean), 1.0 / deviation if math.isfinite(deviation) else math.inf


def refuse_unfit(table: Table, choices: EncodingChoices) -> None:
    """Refuse columns that cannot become numbers under the plan's choices, by names and counts."""
    infinite = {column.name: int(np.isinf(column.numbers).sum()) for column in table.columns if not column.is_text}
    if any(infinite.values()):
        listed = ", ".join(f"{name!r} ({count})" for name, count in infinite.items() if count)
        raise DataError(f"values are infinite in {len(table)} rows: {listed}; correct them, or leave the column out")
    # A column without any value gives no column. Under noise its absence would show, unpaid, that nobody has a value.
    if not choices.is_paid_for:
        return
    numbers = [column for column in table.columns if not column.is_text]
    if empty := [column.name for column in numbers if is_empty(column)]:
        listed = ", ".join(map(repr, empty))
        raise DataError(f"columns without any value in {len(table)} rows: {listed}; leave them out with --drop")


def _decimal(cut: float) -> str:
    """The shortest text that gives exactly this number."""
    return repr(cut).removesuffix(".0")
