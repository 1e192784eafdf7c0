"""Scaling that somebody else decides on: where every look at the rows is paid for, this room only applies the result.

Under `noise = "rows"` ranges and moments come with noise and cost budget, which this room knows nothing of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.data.encoder import Encoder, choices_of, fit_sources, raw_numbers
from plumbob.data.encoding import AnySource, Levels, Source
from plumbob.data.tables import Table
from plumbob.data.whitening import Whitening
from plumbob.plan import Plan


@dataclass(frozen=True, repr=False, eq=False)
class FittedRows:
    """What was learned from rows, and paid for: each column's middle and factor, and how to whiten them."""

    middle: Vector
    factor: Vector
    whitening: Whitening | None


class RowTreatment(Protocol):
    """How one party's rows are scaled and limited."""

    def fit(self, numbers: Matrix, is_category: Sequence[bool]) -> FittedRows:
        """From the training rows' numbers, with NaN for gaps; a category's columns are 0 or 1."""

    def limited(self, scaled: Matrix) -> Matrix:
        """Rows as training sees them: none longer than agreed."""


def fit_treated(
    table: Table, training_rows: NDArray[np.intp], plan: Plan, treatment: RowTreatment
) -> tuple[Encoder, Whitening | None]:
    """The encoder whose middles and factors the treatment decided on; a gap becomes the middle."""
    sources = tuple(_without_shares(source) for source in fit_sources(table, training_rows, choices_of(plan)))
    is_category = [not isinstance(source, Source) or source.is_text for source in sources for _ in range(source.width)]
    fitted = treatment.fit(raw_numbers(table, sources, training_rows), is_category)
    return Encoder(sources, fitted.middle, fitted.middle, fitted.factor), fitted.whitening


def _without_shares(source: AnySource) -> AnySource:
    """Which level is left out, and what an unknown one becomes, must not depend on how many rows have which."""
    if not isinstance(source, Levels):
        return source
    return replace(source, reference=0, shares=tuple(0.5 for _ in source.shares))
