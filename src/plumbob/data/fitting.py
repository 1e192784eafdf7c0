"""From a table to how many slots its columns have, and from these and the training rows to their encodings."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Places
from plumbob.data.binning import cut_points, stated_cuts
from plumbob.data.encoding import Bins, EncodedColumn, Levels, Marked, PlainColumn
from plumbob.data.slots import ColumnSlots, EncodingChoices, TableSlots
from plumbob.data.tables import Column, Table


def find_slots(table: Table, choices: EncodingChoices) -> TableSlots:
    """By all rows of the table."""
    found = {column.name: _slots_of(column, choices) for column in table.columns}
    return TableSlots({name: slots for name, slots in found.items() if slots is not None}, choices)


def _categories(column: Column) -> tuple[str, ...]:
    return tuple(sorted({text for text in column.texts if text is not None}))


def _slots_of(column: Column, choices: EncodingChoices) -> ColumnSlots | None:
    if column.is_text and not choices.refuses_texts:
        return _slots_of_levels(column, choices.rare)
    if not column.is_text and choices.bins and choices.is_public:
        return ColumnSlots(
            bins=len(stated_cuts(column.stated, choices.bins)) + 1, has_gaps=True, is_monotone=column.is_monotone
        )
    if not column.is_text and choices.bins:
        values = column.values.astype(np.float64, copy=False)
        gaps = int(np.isnan(values).sum())
        # A column without any value has one bin and no column: there is nothing to learn from it.
        bins = len(cut_points(values, choices.bins)) + 1
        return ColumnSlots(bins=bins, has_gaps=0 < gaps < len(values), is_monotone=column.is_monotone)
    if not column.is_text and choices.marks_gaps and 0 < column.is_missing.sum() < len(column.values):
        return ColumnSlots(is_marked=True, has_gaps=True)
    return None


def _slots_of_levels(column: Column, rare: int) -> ColumnSlots:
    counts = Counter(column.values.tolist())
    gaps = counts.pop(None, 0)
    levels = tuple(sorted(level for level, count in counts.items() if count >= rare))
    return ColumnSlots(levels=levels, has_rare=len(levels) < len(counts), has_gaps=gaps > 0)


def fit_encoding(
    column: Column, slots: ColumnSlots | None, training_rows: NDArray[np.intp], choices: EncodingChoices
) -> EncodedColumn:
    """A column's source: cuts, shares and the reference from the training rows."""
    if slots is None:
        return PlainColumn(column.name, _categories(column) if column.is_text else None)
    training = Column(column.name, column.values[training_rows])
    if slots.is_marked:
        return Marked(column.name, float(training.is_missing.mean()) if len(training_rows) else 0.0)
    if slots.levels is not None:
        draft = Levels(column.name, slots.levels, slots.has_rare, slots.has_gaps, 0, ())
        shares = _shares(draft.places, training, slots)
        return Levels(column.name, slots.levels, slots.has_rare, slots.has_gaps, _largest(shares), shares)
    cuts = (
        stated_cuts(column.stated, slots.bins)
        if choices.is_public
        else _pad_cuts(cut_points(training.values.astype(np.float64, copy=False), slots.bins), slots.bins)
    )
    binned = Bins(column.name, cuts, slots.has_gaps, 0, ())
    shares = _shares(binned.places, training, slots)
    reference = 0 if column.is_stepped else _largest(shares)
    return Bins(column.name, cuts, slots.has_gaps, reference, shares, column.is_stepped, slots.is_monotone)


def _pad_cuts(cuts: tuple[float, ...], bins: int) -> tuple[float, ...]:
    """As many cuts as there are to be, although training rows gave fewer: the bins between equal cuts stay empty."""
    return cuts + (cuts[-1] if cuts else 0.0,) * (bins - 1 - len(cuts))


def _shares(places_of_column: Callable[[Column], Places], training: Column, slots: ColumnSlots) -> tuple[float, ...]:
    places = places_of_column(training)
    counts = np.bincount(places[places >= 0], minlength=slots.count)
    return tuple((counts / max(len(places), 1)).tolist())


def _largest(shares: Sequence[float]) -> int:
    return int(np.argmax(shares)) if shares else 0
