"""Where a column of numbers is cut into bins: by its own rows, at home, always at the same places for the same rows.

The cut points are exact: the column's distinct values and how often each occurs decide, so a table that was streamed
from disk and one in memory are cut alike. A value that fills a bin alone keeps a bin of its own, and the others share
the bins that are left. A cut is the shortest decimal number between two neighbouring values: it is easy to read, and
seldom a cell of the table.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Places, Vector

MOST_DIGITS = 17
"""How many significant decimal digits tell any two floating-point numbers apart."""
MOST_CUTS_COMPARED = 32
"""Up to this many cuts, comparing a column with every cut is faster than searching each number's place."""


@dataclass(frozen=True)
class PlacedColumn:
    """What was learned from a column of numbers, and paid for: its middle, its factor and its cuts into bins."""

    middle: float
    factor: float
    cuts: tuple[float, ...] = ()


def cut_points(values: Vector, bins: int) -> tuple[float, ...]:
    """At most `bins - 1` rising cuts; a bin holds what is above one cut and at most the next. Gaps (NaN) do not count.

    Memory: two copies of this one column.
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    last_places = range(len(distinct) - 1) if len(distinct) <= bins else _last_places(np.cumsum(counts), bins)
    return tuple(_shortest_between(float(distinct[place]), float(distinct[place + 1])) for place in last_places)


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


def places_of(values: Vector, cuts: tuple[float, ...]) -> Places:
    """Which bin each number falls into, from 0; where a gap falls means nothing, and the caller must tell it apart."""
    if len(cuts) > MOST_CUTS_COMPARED:
        return np.searchsorted(np.array(cuts, dtype=np.float64), values, side="left")
    places = np.zeros(len(values), dtype=np.uint8)
    for cut in cuts:
        places += values > cut
    return places.astype(np.intp)
