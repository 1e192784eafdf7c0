"""Where the parts of a chart are: margins, scales, the plot inside them and the legend above it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from plumbob.report import marks
from plumbob.report.chart_data import Chart
from plumbob.report.markup import shortened
from plumbob.report.scale import Axis, AxisScale, shown

WIDE, NARROW = 880.0, 360.0
HEIGHT = {WIDE: 320.0, NARROW: 270.0}
# Longer names are cut in a drawing; the table has them whole.
LONGEST_LABEL = 28
ROOM_FOR_LABELS = 22.0
"""Above points that lie at the upper end."""


@dataclass(frozen=True)
class Plot:
    """The drawing's size, the part of it that holds the data, and the two scales."""

    width: float
    height: float
    left: float
    top: float
    across: float
    down: float
    x: AxisScale
    y: AxisScale
    legend: tuple[tuple[float, float], ...] = ()
    """Where each series' swatch begins, if they stand above."""

    @classmethod
    def of(cls, chart: Chart, width: float, room_above: float) -> "Plot":
        is_narrow = width < WIDE / 2
        x, y = scales(chart, is_narrow)
        right = _right_margin(chart, is_narrow)
        left = _left_margin(chart, y, is_narrow)
        legend, legend_height = (
            _legend_places(chart, width, room_above) if not _is_labelled(chart, is_narrow) else ((), 0)
        )
        top = room_above + legend_height + {"bars": 10.0, "lines": 30.0, "points": 30.0 + ROOM_FOR_LABELS}[chart.kind]
        down = category_height(chart, is_narrow) * len(chart.categories)
        if chart.kind != "bars":
            down = HEIGHT[NARROW if is_narrow else WIDE] - 78
        return cls(width, top + down + 48, left, top, width - left - right, down, x, y, tuple(legend))

    @property
    def is_narrow(self) -> bool:
        return self.width < WIDE / 2

    @property
    def right(self) -> float:
        return self.left + self.across

    @property
    def bottom(self) -> float:
        return self.top + self.down

    def at_x(self, value: float) -> float:
        return self.left + self.x.fraction(value) * self.across

    def at_y(self, value: float) -> float:
        return self.bottom - self.y.fraction(value) * self.down


def scales(chart: Chart, is_narrow: bool) -> tuple[AxisScale, AxisScale]:
    """Of both directions, with the same ends at every width; of bars, which lie, values run along `x`."""
    heights = [
        value
        for series in chart.series
        for column in (series.y, series.low, series.high)
        for value in column
        if value is not None
    ]
    if chart.kind == "bars":
        from_zero = chart.y if chart.y.low is not None else replace(chart.y, low=0.0)
        return _scale(from_zero, heights, (6, 3), is_narrow), AxisScale(0.0, 1.0, ())
    places = [x for series in chart.series for _, x, _ in series.drawn()]
    along = chart.x
    if chart.kind == "lines" and not along.is_log and places:
        # Lines fill the whole width: they begin and end where the data do.
        low, high = min(places), max(places)
        along = replace(
            along, low=low if along.low is None else along.low, high=high if along.high is None else along.high
        )
    return _scale(along, places, (8, 4), is_narrow), _scale(chart.y, heights, (5, 4), is_narrow)


def _scale(axis: Axis, values: Sequence[float], ticks: tuple[int, int], is_narrow: bool) -> AxisScale:
    """The table says where values lie in both drawings, so a narrow one may have fewer ticks, but no other ends."""
    wide = axis.scale(values, ticks[0])
    return replace(axis, low=wide.low, high=wide.high).scale(values, ticks[1]) if is_narrow else wide


def _is_labelled(chart: Chart, is_narrow: bool) -> bool:
    """Whether names stand beside what they name, so that no legend is needed."""
    if chart.kind == "lines":
        return not is_narrow
    return len(chart.series) == 1 or (chart.kind == "points" and all(series.labels for series in chart.series))


def _right_margin(chart: Chart, is_narrow: bool) -> float:
    if chart.kind == "lines" and not is_narrow:
        return 50 + max((marks.width_of(short_label(series.name)) for series in chart.series), default=0.0)
    return 62.0 if chart.kind == "bars" else 22.0


def _left_margin(chart: Chart, y: AxisScale, is_narrow: bool) -> float:
    if chart.kind == "bars":
        return (
            2.0
            if is_narrow
            else 12 + max((marks.width_of(short_label(name)) for name in chart.categories), default=0.0)
        )
    return 12 + max((marks.width_of(shown(tick, chart.y.unit)) for tick in y.ticks), default=0.0)


def category_height(chart: Chart, is_narrow: bool) -> float:
    """The height that a category of bars takes; on a narrow page its name stands above it."""
    bars = sum(not series.is_reference for series in chart.series)
    return 16.0 * max(bars, 1) + (30 if is_narrow else 14)


def _legend_places(chart: Chart, width: float, above: float) -> tuple[list[tuple[float, float]], float]:
    places, x, y = [], 0.0, above + 10
    for series in chart.series:
        needed = 48 + marks.width_of(short_label(series.name))
        if x and x + needed > width:
            x, y = 0.0, y + marks.LINE
        places.append((x, y))
        x += needed
    return places, y + 6 - above


def short_label(name: str) -> str:
    """Cut where it is too long for a drawing."""
    return shortened(name, LONGEST_LABEL)
