"""What charts are made of: series, axes with their ends and ticks, how numbers read, markers, swatches and labels.

Colours come from the style sheet, by class: `c0` to `c5` for series and `ref` for what they are compared with. Shape
and dashes differ too, so that nothing rests on colour alone.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from markupsafe import Markup

from plumbob.counting import Written, percent, plain, seconds, size
from plumbob.report.markup import joined, tag

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


# Markers that differ in shape, swatches, and labels that keep out of each other's way.

COLOURS = 6
CHARACTER = 7.0
"""A generous guess at a character's width: the reader's own font is not known here."""
LINE = 18.0
SIZE = 4.2
_SHAPES = (
    "M{l} {y}a{s} {s} 0 1 0 {d} 0a{s} {s} 0 1 0 -{d} 0z",  # circle
    "M{l} {t}h{d}v{d}h-{d}z",  # square
    "M{x} {t}L{r} {b}H{l}z",  # triangle
    "M{x} {t}L{r} {y}L{x} {b}L{l} {y}z",  # diamond
    "M{x} {b}L{r} {t}H{l}z",  # triangle on its head
    "M{l} {t}H{r}L{l} {b}H{r}z",  # hourglass
)


@dataclass(frozen=True)
class Box:
    """A rectangle, for labels and what they must not cover."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def is_inside(self, other: "Box") -> bool:
        return (
            self.left >= other.left
            and self.top >= other.top
            and self.right <= other.right
            and self.bottom <= other.bottom
        )


def colour(place: int, is_reference: bool) -> str:
    """The class of a series."""
    return "ref" if is_reference else f"c{place % COLOURS}"


def marker(place: int, x: float, y: float, size: float = SIZE) -> str:
    """The path of a series' marker around a point."""
    corners = {"x": x, "y": y, "l": x - size, "r": x + size, "t": y - size, "b": y + size, "s": size, "d": 2 * size}
    # When colours begin again, shapes begin one further: no two of three dozen series look the same.
    shape = _SHAPES[(place + place // COLOURS) % len(_SHAPES)]
    return shape.format(**{name: f"{value:.1f}" for name, value in corners.items()})


def swatch(place: int, x: float, y: float, is_reference: bool) -> Markup:
    """A series' line and marker, to stand before its name; `x` is its left end."""
    line = tag("path", class_=f"line {colour(place, is_reference)}", d=f"M{x:.1f} {y:.1f}h22")
    if is_reference:
        return line
    return joined(line, tag("path", class_=f"mark {colour(place, False)}", d=marker(place, x + 11, y)))


def bar_swatch(place: int, x: float, y: float, is_reference: bool) -> Markup:
    """A series' swatch for bars: a piece of one, or the mark across them."""
    if is_reference:
        return tag("path", class_="limit", d=f"M{x + 16:.1f} {y - 7:.1f}v14")
    return tag("rect", class_=f"bar {colour(place, False)}", x=x, y=y - 6, width=22, height=12, rx=2)


def width_of(words: str) -> float:
    """About how wide a label will be."""
    return len(words) * CHARACTER


def spread(wanted: Sequence[float], low: float, high: float, gap: float = LINE) -> list[float]:
    """Places as near as possible to the wanted ones, in their order, none nearer to the next than the gap."""
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    places = [wanted[place] for place in order]
    for place in range(1, len(places)):
        places[place] = max(places[place], places[place - 1] + gap)
    # What was pushed past the end pushes back.
    for place in reversed(range(len(places))):
        limit = high if place == len(places) - 1 else places[place + 1] - gap
        places[place] = min(places[place], limit)
    shift = max(0.0, low - places[0]) if places else 0.0
    found = dict(zip(order, (place + shift for place in places), strict=True))
    return [found[place] for place in range(len(wanted))]


def label_spot(x: float, y: float, words: str, taken: Sequence[Box], paper: Box) -> tuple[float, float, Box]:
    """Left end, base line and box of a point's label: the nearest place around it that is free."""
    width = width_of(words)
    choices = [
        (x + across if across > 0 else x + across - width, y + down)
        for down in (4.0, -9.0, 17.0, -24.0, 32.0, -40.0, 48.0, -56.0, 64.0)
        for across in (11.0, -11.0)
    ]
    boxes = [(left, base, Box(left - 2, base - 12, left + width + 2, base + 4)) for left, base in choices]
    inside = [one for one in boxes if one[2].is_inside(paper)] or boxes
    return next((one for one in inside if not any(one[2].meets(box) for box in taken)), inside[0])
