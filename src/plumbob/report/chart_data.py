"""What a chart shows: its series, its axes and what they are called."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from plumbob.report.scale import Axis


@dataclass(frozen=True)
class Series:
    """One line, one set of points, or one bar a category."""

    name: str
    y: Sequence[float | None]
    """None leaves a gap."""
    x: Sequence[float] = ()
    """Not for bars, whose places are the chart's categories."""
    low: Sequence[float | None] = ()
    """With `high` the band around a line."""
    high: Sequence[float | None] = ()
    labels: Sequence[str] = ()
    """Of points, one each."""
    is_reference: bool = False
    """A baseline or a limit, drawn as such."""

    def value(self, at: int) -> float | None:
        """The value at a place, if it is a number."""
        value = self.y[at]
        return value if value is not None and math.isfinite(value) else None

    def drawn(self) -> Iterator[tuple[int, float, float]]:
        """(place, x, y) of what can be drawn."""
        for place, (x, y) in enumerate(zip(self.x, self.y, strict=True)):
            if y is not None and math.isfinite(y) and math.isfinite(x):
                yield place, x, y

    def runs(self) -> Iterator[list[tuple[int, float, float]]]:
        """The same, cut where there is a gap."""
        # Within a run, place minus rank among the drawn stays the same.
        ranked = enumerate(self.drawn())
        for _, run in groupby(ranked, key=lambda one: one[1][0] - one[0]):
            yield [point for _, point in run]


@dataclass(frozen=True)
class Chart:
    """What is to be seen, and the data."""

    title: str
    says: str
    """What it shows, in a sentence or two: its description for those who do not see it, its caption for all."""
    x: Axis
    y: Axis
    series: Sequence[Series]
    kind: Literal["lines", "points", "bars"] = "lines"
    categories: Sequence[str] = ()
    """Of bars, which lie; their values run along `y`."""
