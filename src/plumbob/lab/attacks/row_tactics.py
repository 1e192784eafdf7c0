"""What a party multiplies a peer's ciphertexts with to read chosen rows, and what the sums say.

`label_chosen_rows` uses it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto import Encoded, Encoding
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.crypto.packing import centred
from plumbob.lab.attacks.integers import exact_product

WIDEST_ENTRY = 61  # Bits of a matrix entry, sign included, that an engine takes.


class Tactic(Protocol):
    """What one step multiplies the peer's ciphertexts with, and what its sums then say."""

    @property
    def matrix(self) -> Encoded: ...

    @property
    def places(self) -> NDArray[np.intp]:
        """Of the batch, in the order in which they are read."""

    def read(self, sums: Sequence[int]) -> tuple[list[int], list[int] | None]:
        """(residuals of the chosen rows, the honest sums as far as they can be had)."""


@dataclass(frozen=True, repr=False, eq=False)
class OneTargetAColumn:
    """In column k the honest features, lifted above the residual of the k-th chosen place."""

    matrix: Encoded
    places: NDArray[np.intp]
    low_bits: int
    coarser: tuple[int, ...]
    """For each used column, how many of the features' lowest bits were given up."""

    @classmethod
    def of(cls, honest: Encoded, places: NDArray[np.intp], residual: Encoding, sum_bits: int) -> "OneTargetAColumn":
        """At most one place a column; a sum has `sum_bits` bits, sign included."""
        values, coarser = honest.values.copy(), []
        for column, place in enumerate(places):
            spare = _spare_bits(honest.values[:, column], residual, sum_bits)
            shift = max(0, -spare, honest.bits + residual.bits - WIDEST_ENTRY)
            values[:, column] = _rounded_shift(honest.values[:, column], shift) << residual.bits
            values[place, column] += 1
            coarser.append(shift)
        entries = Encoding(0, min(WIDEST_ENTRY, honest.bits + residual.bits) - 1)
        return cls(Encoded(values, entries), places, residual.bits, tuple(coarser))

    def read(self, sums: Sequence[int]) -> tuple[list[int], list[int]]:
        residuals, honest = [], list(sums)
        for column, shift in enumerate(self.coarser):
            residuals.append(centred(sums[column], 1 << self.low_bits))
            honest[column] = ((sums[column] - residuals[-1]) >> self.low_bits) << shift
        return residuals, honest


def _spare_bits(column: NDArray[np.int64], residual: Encoding, sum_bits: int) -> int:
    """Bits that are left above a residual and the largest sum that this column can honestly have."""
    largest = int(np.abs(column).sum()) << (residual.bits - 1)
    return sum_bits - residual.bits - (largest.bit_length() + 1)


def _rounded_shift(column: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    return (column + (1 << shift >> 1)) >> shift


@dataclass(frozen=True, repr=False, eq=False)
class Superincreasing:
    """The chosen places are spread over the columns, each with a power of two of its own."""

    matrix: Encoded
    honest: Encoded
    places: NDArray[np.intp]
    counts: tuple[int, ...]
    """Places in each column."""
    unit: int
    """Every residual is this number or minus this number."""

    @classmethod
    def of(cls, honest: Encoded, places: NDArray[np.intp], unit: int, sum_bits: int) -> "Superincreasing":
        """For all places of a batch, or the first ones of them that fit."""
        per_column = min(sum_bits - unit.bit_length(), WIDEST_ENTRY - 1)
        counts = spread(len(places), honest.values.shape[1], per_column)
        values = powers_of_two(honest.values.shape, places, counts)
        return cls(Encoded(values, Encoding(0, max(counts))), honest, places, counts, unit)

    def read(self, sums: Sequence[int]) -> tuple[list[int], list[int] | None]:
        columns = zip(sums, self.counts, strict=True)
        residuals = [sign * self.unit for total, count in columns for sign in signs_in(total // self.unit, count)]
        if len(residuals) < len(self.places):
            return residuals, None
        return residuals, exact_product(residuals, self.honest.values[self.places])


def spread(places: int, columns: int, per_column: int) -> tuple[int, ...]:
    """Places, as many as fit, over columns as evenly as possible."""
    fitting = min(places, columns * per_column)
    return tuple(fitting // columns + (column < fitting % columns) for column in range(columns))


def powers_of_two(shape: tuple[int, ...], places: NDArray[np.intp], counts: Sequence[int]) -> IntegerMatrix:
    """Place after place goes to one column until that is full; its entries there are 1, 2, 4, ..."""
    values, used = np.zeros(shape, dtype=np.int64), 0
    for column, count in enumerate(counts):
        values[places[used : used + count], column] = 1 << np.arange(count, dtype=np.int64)
        used += count
    return values


def signs_in(total: int, count: int) -> list[int]:
    """The only signs with total = sum of sign_j 2**j."""
    binary = (total + (1 << count) - 1) >> 1
    return [1 if binary >> place & 1 else -1 for place in range(count)]
