"""Charts: the values that one shows, and, where matplotlib is installed, their picture.

A picture is an SVG that a page shows as an image: matplotlib styles each element, which the page's policy forbids in
the page itself. The names in it are other people's text. No formula is read from them, and no sign of them breaks the
file. Where matplotlib is missing the table of values stands alone.
"""

import base64
import io
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from plumbob.counting import Written, percent, plain, seconds, size
from plumbob.report.tables import PageTable
from plumbob.report.templates import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as DrawnAxis

Unit = Literal["number", "percent", "bytes", "seconds"]
UNITS: Mapping[Unit, Written] = {"number": plain, "percent": percent, "bytes": size, "seconds": seconds}
LONGEST_NAME = 32
"""Longer names are cut in a picture; the table has them whole."""
WIDTH, HEIGHT, BAR_HEIGHT = 5.2, 2.8, 0.36  # Inches of 72 units: letters of 9 are readable on a telephone's page.
SETTINGS: Any = {
    "text.parse_math": False,
    "svg.fonttype": "none",  # Letters stay letters: small, and drawn with the reader's font.
    "svg.hashsalt": "plumbob",  # The same chart gives the same bytes.
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d9dde3",
    "legend.frameon": False,
}
INK, REFERENCE = "#17202b", "#535e6c"
COLOURS = ("#0b5fa5", "#b4430b", "#006e54", "#86388a", "#735500", "#1f6f8b")
# Shape and dashes differ too, so that nothing rests on colour alone.
MARKERS, DASHES = "os^Dvx", ("-", "--", ":", "-.")
# Settings of matplotlib are the process's, and the lab draws in several threads.
_DRAWING = Lock()


@dataclass(frozen=True)
class Axis:
    """An axis and what is measured along it; its ends come from the data where they are not given."""

    title: str
    low: float | None = None
    high: float | None = None
    unit: Unit = "number"
    is_log: bool = False

    def write(self, value: float | None) -> str:
        """A value as people read it; a dash where there is none."""
        return UNITS[self.unit](value)


@dataclass(frozen=True)
class Series:
    """One line, or one bar per category."""

    name: str
    y: Sequence[float | None]
    """The values; None leaves a gap."""
    x: Sequence[float] = ()
    """The places; empty for bars, whose places are the chart's categories."""
    low: Sequence[float] = ()
    """The lower end of the band around a line, with `high`."""
    high: Sequence[float] = ()
    is_reference: bool = False
    """Whether it is a baseline or a limit, and drawn as such."""

    @property
    def numbers(self) -> list[float]:
        return [math.nan if value is None or not math.isfinite(value) else value for value in self.y]


@dataclass(frozen=True)
class Chart:
    """One chart: its description and its data."""

    title: str
    says: str
    """What the chart shows, in a sentence or two: a description for those who do not see it, a caption for all."""
    x: Axis
    y: Axis
    series: Sequence[Series]
    categories: Sequence[str] = ()
    """The names of horizontal bars, whose values run along `y`; empty where lines are drawn."""

    @property
    def values(self) -> PageTable:
        """Everything that is drawn, as a table."""
        return PageTable([self.x.title or "name", *(series.name for series in self.series)], self._rows())

    def _rows(self) -> list[list[str]]:
        if self.categories:
            columns = [[self.y.write(value) for value in series.y] for series in self.series]
            return [list(row) for row in zip(self.categories, *columns, strict=True)]
        # By value: a place that several lines have has one row.
        cells = [
            {x: _with_band(self.y.write, series, place) for place, x in enumerate(series.x)} for series in self.series
        ]
        places = sorted({x for column in cells for x in column})
        return [[self.x.write(x), *(column.get(x, "-") for column in cells)] for x in places]

    @property
    def picture(self) -> str:
        """The address of the picture: the picture itself; empty where matplotlib is not installed."""
        if find_spec("matplotlib") is None:
            return ""
        return f"data:image/svg+xml;base64,{base64.b64encode(svg(self).encode()).decode()}"


def _with_band(write: Written, series: Series, place: int) -> str:
    band = f" ({write(series.low[place])} to {write(series.high[place])})" if series.low else ""
    return write(series.y[place]) + (band if series.y[place] is not None else "")


def svg(chart: Chart) -> str:
    """The picture as the text of an SVG file; it needs matplotlib."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    file = io.StringIO()
    # A sign that matplotlib's own font lacks is no fault: the reader's browser draws it.
    with _DRAWING, rc_context(SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        height = 0.8 + BAR_HEIGHT * len(chart.categories) if chart.categories else HEIGHT
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots()
        _draw_bars(chart, axes) if chart.categories else _draw_lines(chart, axes)
        if len(chart.series) > 1:
            figure.legend(loc="outside lower center", ncols=2)
        metadata = {"Date": None, "Creator": None, "Title": _cut(chart.title)}
        # Without a ground of its own: a dark page turns the ink around, and keeps its ground.
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
    return file.getvalue()


def _draw_lines(chart: Chart, axes: "Axes") -> None:
    looks = zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False)
    reference_dashes = cycle(DASHES[1:])
    for series in chart.series:
        if series.is_reference:
            dashes = next(reference_dashes)
            axes.plot(series.x, series.numbers, dashes, color=REFERENCE, linewidth=1.2, label=_cut(series.name))
            continue
        colour, marker, dashes = next(looks)
        # A mark now and then tells lines apart; one for each of many points would hide them.
        every = max(1, len(series.x) // 12)
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "markevery": every}
        # A mark at the very end of an axis is whole, too.
        look["clip_on"] = False
        axes.plot(series.x, series.numbers, dashes, label=_cut(series.name), **look)
        if series.low:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.16, linewidth=0)
    _set_axis(axes.xaxis, chart.x, axes.set_xlim, axes.set_xscale, [x for series in chart.series for x in series.x])
    _set_axis(
        axes.yaxis, chart.y, axes.set_ylim, axes.set_yscale, [y for series in chart.series for y in series.numbers]
    )


def _draw_bars(chart: Chart, axes: "Axes") -> None:
    places = range(len(chart.categories))
    drawn = [series for series in chart.series if not series.is_reference]
    for place, (series, colour) in enumerate(zip(drawn, cycle(COLOURS), strict=False)):
        thick = 0.7 / len(drawn)
        at = [row - 0.35 + thick * (place + 0.5) for row in places]
        axes.barh(at, series.numbers, thick * 0.9, color=colour, label=_cut(series.name))
    for series in chart.series:
        if series.is_reference:
            ends = [row - 0.42 for row in places], [row + 0.42 for row in places]
            axes.vlines(series.numbers, *ends, color=INK, linewidth=2, label=_cut(series.name))
    axes.set_yticks(list(places), [_cut(name) for name in chart.categories])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    values = [0.0, *(value for series in chart.series for value in series.numbers)]
    _set_axis(axes.xaxis, chart.y, axes.set_xlim, axes.set_xscale, values)


def _set_axis(
    drawn: "DrawnAxis",
    axis: Axis,
    set_ends: Callable[..., object],
    set_scale: Callable[[str], object],
    values: Sequence[float],
) -> None:
    """Name an axis, give it its ends, and write its ticks in our own style."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    drawn.set_label_text(_cut(axis.title))
    positive = [value for value in values if value > 0]
    if axis.is_log and positive:
        set_scale("log")
        # Within two decades powers of ten alone would leave an axis with a single number.
        is_short = max(positive) < 100 * min(positive)
        drawn.set_major_locator(LogLocator(subs=(1, 2, 5) if is_short else (1,), numticks=7))
        drawn.set_minor_locator(NullLocator())
    else:
        drawn.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    # By our own hand: matplotlib writes powers as formulas, and none is read here.
    drawn.set_major_formatter(lambda value, _place: axis.write(value))
    set_ends(axis.low, axis.high)


def _cut(name: str) -> str:
    """A name as a picture shows it: clean and short."""
    whole = clean(name)
    return whole if len(whole) <= LONGEST_NAME else whole[: LONGEST_NAME - 1].rstrip() + "…"
