"""Finds how many slots a table's columns have, and fits their encodings on the training rows.

A column of numbers is cut into bins by its own rows, at home, always at the same places for the same rows. The cut
points are exact: the column's distinct values and how often each occurs decide, so a table that was streamed from disk
and one in memory are cut alike. A value that fills a bin alone keeps a bin of its own, and the others share the bins
that are left. A cut is the shortest decimal number between two neighbouring values: it is easy to read, and seldom a
cell of the table.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Places, Vector
from plumbob.data.encoding import Bins, EncodedColumn, Levels, Marked, PlainColumn
from plumbob.data.tables import Column, ColumnSlots, EncodingChoices, Table, TableSlots

TWO_VALUES = 2
MOST_DIGITS = 17
"""How many significant decimal digits tell any two floating-point numbers apart."""


def find_slots(table: Table, choices: EncodingChoices) -> TableSlots:
    """Find how many slots each column has, by all rows of the table."""
    found = {column.name: _slots_of(column, choices) for column in table.columns}
    return TableSlots({name: slots for name, slots in found.items() if slots is not None}, choices)


def _slots_of(column: Column, choices: EncodingChoices) -> ColumnSlots | None:
    if column.is_text:
        return None if choices.refuses_texts else _slots_of_levels(column, choices.rare)
    if not choices.bins:
        return ColumnSlots(is_marked=True, has_gaps=True) if choices.marks_gaps and _has_gaps(column) else None
    if choices.is_public:
        bins = len(stated_cuts(column.stated, choices.bins)) + 1
        return ColumnSlots(bins, has_gaps=True, has_plain=choices.plain and bins > TWO_VALUES)
    # A column without any value has one bin and no column: there is nothing to learn from it.
    bins = len(cut_points(column.numbers, choices.bins)) + 1
    return ColumnSlots(bins, has_gaps=_has_gaps(column), has_plain=choices.plain and is_numeric(column))


def _has_gaps(column: Column) -> bool:
    return bool(0 < column.is_missing.sum() < len(column.values))


def is_numeric(column: Column) -> bool:
    """Whether a column holds numbers of more than two values: two are told apart by one column."""
    if column.is_text or column.is_missing.all():
        return False
    values = column.numbers
    return bool(((values > np.nanmin(values)) & (values < np.nanmax(values))).any())


def width_of(column: Column, slots: TableSlots) -> int:
    """How many encoded columns a column gives."""
    own = slots.by_name.get(column.name)
    return 1 if own is None else own.width


def _slots_of_levels(column: Column, rare: int) -> ColumnSlots:
    counts = Counter(column.values.tolist())
    gaps = counts.pop(None, 0)
    levels = tuple(sorted(level for level, count in counts.items() if count >= rare))
    return ColumnSlots(levels=levels, has_rare=len(levels) < len(counts), has_gaps=gaps > 0)


def fit_encodings(
    column: Column, slots: ColumnSlots | None, training_rows: NDArray[np.intp], choices: EncodingChoices
) -> tuple[EncodedColumn, ...]:
    """A column's sources: itself where it stands beside its bins, then what its slots are."""
    plain = (PlainColumn(column.name),) if slots is not None and slots.has_plain else ()
    return *plain, _fit_encoding(column, slots, training_rows, choices)


def _fit_encoding(
    column: Column, slots: ColumnSlots | None, training_rows: NDArray[np.intp], choices: EncodingChoices
) -> EncodedColumn:
    """Fit cuts, shares and the reference on the training rows."""
    if slots is None:
        return PlainColumn(column.name)
    training = Column(column.name, column.values[training_rows])
    if slots.is_marked:
        return Marked(column.name, float(training.is_missing.mean()) if len(training_rows) else 0.0)
    if slots.levels is not None:
        levels = Levels(column.name, slots.levels, slots.has_rare, slots.has_gaps, 0, ())
        shares = _shares(levels.places(training), slots)
        return replace(levels, reference=_largest(shares), shares=shares)
    cuts = (
        stated_cuts(column.stated, slots.bins)
        if choices.is_public
        else _pad_cuts(cut_points(training.numbers, slots.bins), slots.bins)
    )
    bins = Bins(column.name, cuts, slots.has_gaps, 0, ())
    shares = _shares(bins.places(training), slots)
    return replace(
        bins, reference=_largest(shares), shares=shares, means=_means(bins, training) if slots.has_plain else ()
    )


def _means(binned: Bins, training: Column) -> tuple[float, ...]:
    """The mean of the training rows in each bin; an empty bin has the mean of all."""
    values, bins = training.numbers, len(binned.cuts) + 1
    places, is_known = binned.places(training), ~np.isnan(values)
    counts = np.bincount(places[is_known], minlength=bins)
    sums = np.bincount(places[is_known], weights=values[is_known], minlength=bins)
    mean = float(sums.sum() / max(counts.sum(), 1))
    return tuple(np.where(counts > 0, sums / np.maximum(counts, 1), mean).tolist())


def _pad_cuts(cuts: tuple[float, ...], bins: int) -> tuple[float, ...]:
    """Add cuts where training rows gave fewer than there must be: the bins between equal cuts stay empty."""
    return cuts + (cuts[-1] if cuts else 0.0,) * (bins - 1 - len(cuts))


def _shares(places: Places, slots: ColumnSlots) -> tuple[float, ...]:
    counts = np.bincount(places[places >= 0], minlength=slots.count)
    return tuple((counts / max(len(places), 1)).tolist())


def _largest(shares: Sequence[float]) -> int:
    return int(np.argmax(shares)) if shares else 0


# Where a column is cut.


def cut_points(values: Vector, bins: int) -> tuple[float, ...]:
    """At most `bins - 1` rising cuts; a bin holds what is above one cut and at most the next. Gaps (NaN) do not count.

    Memory: two copies of this one column.
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    last_places = range(len(distinct) - 1) if len(distinct) <= bins else _last_places(np.cumsum(counts), bins)
    return tuple(_shortest_between(float(distinct[place]), float(distinct[place + 1])) for place in last_places)


def stated_cuts(stated: tuple[float, ...], bins: int) -> tuple[float, ...]:
    """Cuts that depend on no row: those between the stated ends, or else as many bins of equal width as asked for."""
    if len(stated) != 2:
        return stated[1:-1]
    low, high = stated
    return tuple(low + (high - low) * place / bins for place in range(1, bins))


def _last_places(running: NDArray[np.intp], bins: int) -> list[int]:
    """The place of each bin's last value; each bin takes its share of the rows that are left."""
    ends: list[int] = []
    first, done = 0, 0
    for left in range(bins, 1, -1):
        end = _nearest_end(running, first, done + (int(running[-1]) - done) / left)
        if end >= len(running) - 1:
            break
        ends.append(end)
        first, done = end + 1, int(running[end])
    return ends


def _nearest_end(running: NDArray[np.intp], first: int, wanted: float) -> int:
    """The place, from `first` on, up to which the rows come nearest to the number wanted; not the very last if it can
    be helped.
    """
    place = max(int(np.searchsorted(running, wanted)), first)
    if place == first:
        return place
    is_last = place >= len(running) - 1
    return place - 1 if is_last or wanted - running[place - 1] <= running[place] - wanted else place


def _shortest_between(low: float, high: float) -> float:
    """The decimal number with the fewest digits from `low` up to, and not at, `high`."""
    middle = low / 2 + high / 2
    if not math.isfinite(middle):
        return low
    for digits in range(1, MOST_DIGITS + 1):
        rounded = float(f"{middle:.{digits}g}")
        if low <= rounded < high:
            return rounded
    return low
