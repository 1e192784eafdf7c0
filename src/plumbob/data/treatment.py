"""Scaling that somebody else decides on: where every look at the rows is paid for, this room only applies the result.

Under `noise = "rows"` ranges and moments come with noise and cost budget, which this room knows nothing of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data.encoder import Encoder, choices_of, fit_sources, raw_numbers, reading_of
from plumbob.data.encoding import Bins, EncodedColumn, Levels, PlainColumn
from plumbob.data.tables import Table
from plumbob.data.whitening import Whitening
from plumbob.plan import Plan


@dataclass(frozen=True, repr=False, eq=False)
class FittedRows:
    """What was learned from rows, and paid for: each column's middle and factor, and how to whiten them."""

    middle: Vector
    factor: Vector
    whitening: Whitening | None


@dataclass(frozen=True)
class TreatedColumn:
    """What is known of an encoded column without looking at a row."""

    name: str
    is_category: bool
    """It holds 0 and 1 only."""
    stated: tuple[float, ...] = ()
    """The range that its party stated beforehand, if it did."""


class RowTreatment(Protocol):
    """How one party's rows are scaled and limited."""

    def fit(self, numbers: Matrix, columns: Sequence[TreatedColumn]) -> FittedRows:
        """From the training rows' numbers, with NaN for gaps; a category's columns are 0 or 1."""

    def limited(self, scaled: Matrix) -> Matrix:
        """Rows as training sees them: none longer than agreed."""


def fit_treated(
    table: Table, training_rows: NDArray[np.intp], plan: Plan, treatment: RowTreatment
) -> tuple[Encoder, Whitening | None]:
    """The encoder whose middles and factors the treatment decided on; a gap becomes the middle."""
    stated = {column.name: column.stated for column in table.columns}
    fitted_sources = fit_sources(table, training_rows, choices_of(plan))
    sources = tuple(_without_rows(source, stated[source.name]) for source in fitted_sources)
    columns = [
        TreatedColumn(name, not isinstance(source, PlainColumn) or source.is_text, stated[source.name])
        for source in sources
        for name in source.encoded_names
    ]
    fitted = treatment.fit(raw_numbers(table, sources, training_rows), columns)
    types, gaps = reading_of(table, sources)
    return Encoder(sources, fitted.middle, fitted.middle, fitted.factor, types, gaps), fitted.whitening


def _without_rows(source: EncodedColumn, stated: tuple[float, ...]) -> EncodedColumn:
    """Which level is left out, and what an unknown one becomes, must not depend on how many rows have which."""
    if not isinstance(source, Levels | Bins):
        return source
    without = replace(source, reference=0, shares=tuple(0.5 for _ in source.shares))
    if not isinstance(without, Bins) or not without.means:
        return without
    edges = (stated[0], *without.cuts, stated[-1])
    return replace(without, means=tuple((low + high) / 2 for low, high in pairwise(edges)))
