"""What a chart shows: its series, its axes with their ends and ticks, and how numbers read. `drawing` draws it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from plumbob.counting import Written, percent, plain, seconds, size

Unit = Literal["number", "percent", "bytes", "seconds"]

# Beyond this many decades only whole powers of ten are marked.
FEW_DECADES = 2
SMALLEST = 1e-300
"""The smallest value that an axis can show; on a linear one, less is 0."""
UNITS: Mapping[Unit, Written] = {"number": plain, "percent": percent, "bytes": size, "seconds": seconds}
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """An axis and what is measured along it; its ends come from the data where they are not given."""

    title: str
    low: float | None = None
    high: float | None = None
    unit: Unit = "number"
    is_log: bool = False

    def scale(self, values: Iterable[float], ticks: int) -> "AxisScale":
        """The axis for these values, with about this many ticks."""
        finite = [value if abs(value) > SMALLEST else 0.0 for value in values if math.isfinite(value)]
        if self.is_log:
            finite = [value for value in finite if value > 0]
        low = min(finite, default=1.0 if self.is_log else 0.0) if self.low is None else self.low
        high = max(finite, default=1.0) if self.high is None else self.high
        if self.is_log:
            return _log_scale(low, high)
        if high <= low:
            # A single value stands in the middle of some room.
            room = abs(low) or 1.0
            low, high = (low if self.low is not None else low - room / 2), high + room / 2
        step = nice_step((high - low) / ticks)
        if self.unit == "number" and all(value == int(value) for value in finite):
            # Nobody counts half an epoch.
            step = max(1.0, float(math.ceil(step)))
        start = low if self.low is not None else math.floor(low / step + 1e-9) * step
        end = high if self.high is not None else math.ceil(high / step - 1e-9) * step
        first = math.ceil(start / step - 1e-9)
        count = math.floor(end / step + 1e-9) - first + 1
        return AxisScale(start, end, tuple(_rounded((first + place) * step) for place in range(count)))


@dataclass(frozen=True)
class AxisScale:
    """The ends of an axis and its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def fraction(self, value: float) -> float:
        """The place of a value: 0 at the low end, 1 at the high one; what lies outside is put on the end."""
        if value <= self.low:
            return 0.0
        if self.is_log:
            return min(1.0, math.log(value / self.low) / math.log(self.high / self.low))
        return min(1.0, (value - self.low) / (self.high - self.low))


def nice_step(rough: float) -> float:
    """The next larger of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in STEPS if step * power >= rough * (1 - 1e-9))


def _log_scale(low: float, high: float) -> AxisScale:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(max(high, low)))
    last = max(last, first + 1)
    factors = (1, 2, 5) if last - first <= FEW_DECADES else (1,)
    every = max(1, (last - first) // 6)
    marks = [factor * 10.0**power for power in range(first, last, every) for factor in factors]
    return AxisScale(10.0**first, 10.0**last, (*marks, 10.0**last), is_log=True)


def _rounded(value: float) -> float:
    return float(f"{value:.12g}") + 0.0


def shown(value: float | None, unit: Unit = "number") -> str:
    """A value as people read it; a dash where there is none."""
    return UNITS[unit](value)


@dataclass(frozen=True)
class Series:
    """One line, one set of points, or one bar per category."""

    name: str
    y: Sequence[float | None]
    """The values; None leaves a gap."""
    x: Sequence[float] = ()
    """The places; empty for bars, whose places are the chart's categories."""
    low: Sequence[float | None] = ()
    """The lower end of the band around a line, with `high`."""
    high: Sequence[float | None] = ()
    labels: Sequence[str] = ()
    is_reference: bool = False
    """Whether it is a baseline or a limit, and drawn as such."""

    def value(self, at: int) -> float | None:
        """The value at a place, if it is a number."""
        value = self.y[at]
        return value if value is not None and math.isfinite(value) else None

    def drawn(self) -> Iterator[tuple[int, float, float]]:
        """(place, x, y) of every value that can be drawn."""
        for place, (x, y) in enumerate(zip(self.x, self.y, strict=True)):
            if y is not None and math.isfinite(y) and math.isfinite(x):
                yield place, x, y

    def runs(self) -> Iterator[list[tuple[int, float, float]]]:
        """The values of `drawn`, cut into runs where there is a gap."""
        # Within a run, place minus rank among the drawn stays the same.
        ranked = enumerate(self.drawn())
        for _, run in groupby(ranked, key=lambda one: one[1][0] - one[0]):
            yield [point for _, point in run]


@dataclass(frozen=True)
class Chart:
    """One chart: its description and its data."""

    title: str
    says: str
    """What the chart shows, in a sentence or two: a description for those who do not see it, a caption for all."""
    x: Axis
    y: Axis
    series: Sequence[Series]
    kind: Literal["lines", "points", "bars"] = "lines"
    categories: Sequence[str] = ()
    """The names of horizontal bars, whose values run along `y`."""
