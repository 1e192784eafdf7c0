"""Charts as static SVG, with their data in a table beside them.

One implementation for the report, the lab and the paper's figures. A chart is drawn here, once for wide pages and once
for narrow ones, and needs no script; it is an image with a name and a description for those who do not see it. Its
values stand in one table, which people may open and from which a small script reads what it shows under the pointer.
Nothing carries a style attribute, which a strict policy would forbid: looks come from assets/chart.css.

Colours come from the style sheet, by class: `c0` to `c5` for series and `ref` for what they are compared with. Shape
and dashes differ too, so that nothing rests on colour alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from plumbob.report.chart import Axis, AxisScale, Chart, Series, shown
from plumbob.report.marks import COLOURS, LINE, Box, bar_swatch, colour, label_spot, marker, spread, swatch, width_of
from plumbob.report.markup import NOTHING, asset, joined, shortened, tag

WIDE, NARROW = 880.0, 360.0
HEIGHT = {WIDE: 320.0, NARROW: 270.0}
# Longer names are cut in a drawing; the table has them whole.
LONGEST_LABEL = 28
ROOM_FOR_LABELS = 22.0
"""Room above points that lie at the upper end."""


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
    """The start of each series' swatch, if they stand above the plot."""

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
    """The scales of both directions, with the same ends at every width; values of horizontal bars run along `x`."""
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
    """One scale; a narrow drawing may have fewer ticks but no other ends, because the table serves both drawings."""
    wide = axis.scale(values, ticks[0])
    return replace(axis, low=wide.low, high=wide.high).scale(values, ticks[1]) if is_narrow else wide


def _is_labelled(chart: Chart, is_narrow: bool) -> bool:
    """Whether names stand beside what they name, so that no legend is needed."""
    if chart.kind == "lines":
        return not is_narrow
    return len(chart.series) == 1 or (chart.kind == "points" and all(series.labels for series in chart.series))


def _right_margin(chart: Chart, is_narrow: bool) -> float:
    if chart.kind == "lines" and not is_narrow:
        return 50 + max((width_of(short_label(series.name)) for series in chart.series), default=0.0)
    return 62.0 if chart.kind == "bars" else 22.0


def _left_margin(chart: Chart, y: AxisScale, is_narrow: bool) -> float:
    if chart.kind == "bars":
        return 2.0 if is_narrow else 12 + max((width_of(short_label(name)) for name in chart.categories), default=0.0)
    return 12 + max((width_of(shown(tick, chart.y.unit)) for tick in y.ticks), default=0.0)


def category_height(chart: Chart, is_narrow: bool) -> float:
    """The height that a category of bars takes; on a narrow page its name stands above it."""
    bars = sum(not series.is_reference for series in chart.series)
    return 16.0 * max(bars, 1) + (30 if is_narrow else 14)


def _legend_places(chart: Chart, width: float, above: float) -> tuple[list[tuple[float, float]], float]:
    places, x, y = [], 0.0, above + 10
    for series in chart.series:
        needed = 48 + width_of(short_label(series.name))
        if x and x + needed > width:
            x, y = 0.0, y + LINE
        places.append((x, y))
        x += needed
    return places, y + 6 - above


def short_label(name: str) -> str:
    """A name cut to the length that fits a drawing."""
    return shortened(name, LONGEST_LABEL)


TOUCHING = 26.0
MARKERS = 12
"""Most markers on a long line."""


def draw_legend(chart: Chart, plot: Plot) -> Iterator[Markup]:
    """Draw the legend above the plot, where names do not stand beside what they name."""
    for place, (series, (x, y)) in enumerate(zip(chart.series, plot.legend, strict=False)):
        draw = bar_swatch if chart.kind == "bars" else swatch
        yield draw(place, x, y, series.is_reference)
        yield tag("text", short_label(series.name), class_="label", x=x + 29, y=y + 4)


def draw_axes(chart: Chart, plot: Plot) -> Iterator[Markup]:
    """Draw grid lines, ticks and what is measured."""
    x_unit = chart.y.unit if chart.kind == "bars" else chart.x.unit
    for tick in plot.y.ticks:
        y = plot.at_y(tick)
        yield tag("path", class_="grid", d=f"M{plot.left:.1f} {y:.1f}h{plot.across:.1f}")
        yield tag("text", shown(tick, chart.y.unit), class_="tick end", x=plot.left - 8, y=y + 4)
    for tick in plot.x.ticks:
        x = plot.at_x(tick)
        if chart.kind != "lines":
            yield tag("path", class_="grid", d=f"M{x:.1f} {plot.top:.1f}v{plot.down:.1f}")
        yield tag("text", shown(tick, x_unit), class_="tick middle", x=x, y=plot.bottom + 18)
    yield tag("path", class_="axis", d=f"M{plot.left:.1f} {plot.bottom:.1f}h{plot.across:.1f}")
    below = chart.y.title if chart.kind == "bars" else chart.x.title
    yield tag("text", below, class_="name end", x=plot.right, y=plot.bottom + 38)
    if chart.kind != "bars":
        above = 12.0 if chart.kind == "lines" else 12.0 + ROOM_FOR_LABELS
        yield tag("text", chart.y.title, class_="name", x=0, y=plot.top - above)


def draw_lines(chart: Chart, plot: Plot) -> Markup:
    """Draw lines with the bands around them."""
    bands = (_band_path(series, place, plot) for place, series in enumerate(chart.series) if series.low)
    lines = (_line(series, place, plot) for place, series in enumerate(chart.series))
    labels = NOTHING if plot.is_narrow else _end_labels(chart, plot)
    return joined(*bands, *lines, labels)


def _line(series: Series, place: int, plot: Plot) -> Markup:
    pieces = [" ".join(f"{plot.at_x(x):.1f} {plot.at_y(y):.1f}" for _, x, y in run) for run in series.runs()]
    path = "".join(f"M{piece}" for piece in pieces)
    kind = colour(place, series.is_reference)
    line = tag("path", class_=f"line {kind}", d=path)
    if series.is_reference:
        return line
    points = list(series.drawn())
    every = max(1, math.ceil(len(points) / MARKERS))
    # Lines that run along one another show their markers in turn.
    shown_points = points[(place * every // 3) % every :: every]
    dots = "".join(marker(place, plot.at_x(x), plot.at_y(y)) for _, x, y in shown_points)
    return joined(line, tag("path", class_=f"mark {kind}", d=dots))


def _band_path(series: Series, place: int, plot: Plot) -> Markup:
    path = ""
    for run in series.runs():
        ends = [(x, series.low[at], series.high[at]) for at, x, _ in run]
        known = [
            (plot.at_x(x), plot.at_y(low), plot.at_y(high))
            for x, low, high in ends
            if low is not None and high is not None
        ]
        if known:
            there = " ".join(f"{x:.1f} {high:.1f}" for x, _, high in known)
            back = " ".join(f"{x:.1f} {low:.1f}" for x, low, _ in reversed(known))
            path += f"M{there} {back}z"
    return tag("path", class_=f"band {colour(place, series.is_reference)}", d=path)


def _end_labels(chart: Chart, plot: Plot) -> Markup:
    """Each name where its line ends, moved apart where lines end together."""
    ends = {place: list(series.drawn())[-1] for place, series in enumerate(chart.series) if any(series.drawn())}
    heights = spread([plot.at_y(y) for _, _, y in ends.values()], plot.top, plot.bottom)
    drawn = []
    for (place, (_, x, y)), height in zip(ends.items(), heights, strict=True):
        series, left = chart.series[place], plot.right + 14
        way = f"M{plot.at_x(x) + 6:.1f} {plot.at_y(y):.1f}L{left - 3:.1f} {height:.1f}"
        drawn += [
            tag("path", class_="leader", d=way),
            swatch(place, left, height, series.is_reference),
            tag("text", short_label(series.name), class_="label", x=left + 28, y=height + 4),
        ]
    return joined(*drawn)


def draw_points(chart: Chart, plot: Plot) -> Markup:
    """Draw points with their names, as far as there is room."""
    placed = [
        (number, plot.at_x(x), plot.at_y(y), series.labels[place] if place < len(series.labels) else "")
        for number, series in enumerate(chart.series)
        for place, x, y in series.drawn()
    ]
    marked = (
        tag(
            "path",
            class_=f"mark big {colour(number, chart.series[number].is_reference)}",
            d=marker(number, x, y, 6.0),
        )
        for number, x, y, _ in placed
    )
    return joined(*marked, *_point_labels([(x, y, name) for _, x, y, name in placed if name], plot))


def _point_labels(points: Sequence[tuple[float, float, str]], plot: Plot) -> Iterator[Markup]:
    """A name beside each point; where many points crowd together, one name for those that nearly touch."""
    near = TOUCHING if len(points) > COLOURS else 0.0
    crowds: list[list[tuple[float, float, str]]] = []
    for point in points:
        crowd = next((one for one in crowds if math.dist(one[0][:2], point[:2]) < near), None)
        if crowd is None:
            crowds.append([point])
        else:
            crowd.append(point)
    taken = [Box(x - 7, y - 7, x + 7, y + 7) for x, y, _ in points]
    paper = Box(plot.left, plot.top - ROOM_FOR_LABELS, plot.right + 12, plot.bottom)
    for crowd in crowds:
        x, y, name = crowd[0]
        more = f" and {len(crowd) - 1} more" if len(crowd) > 1 else ""
        words = shortened(name, (22 if plot.is_narrow else LONGEST_LABEL) - len(more)) + more
        left, base, box = label_spot(x, y, words, taken, paper)
        taken.append(box)
        if abs(base - y) > 20:
            yield tag("path", class_="leader", d=f"M{x:.1f} {y:.1f}L{left:.1f} {base - 4:.1f}")
        yield tag("text", words, class_="label", x=left, y=base)


def draw_bars(chart: Chart, plot: Plot) -> Markup:
    """Draw horizontal bars, one category below the other, with limits across them."""
    band = category_height(chart, plot.is_narrow)
    drawn = []
    for at, name in enumerate(chart.categories):
        top = plot.top + at * band + 7
        if plot.is_narrow:
            drawn.append(tag("text", shortened(name, 44), class_="label", x=plot.left, y=top + 10))
            top += 17
        else:
            middle = top + (band - 14) / 2 + 4
            drawn.append(tag("text", short_label(name), class_="label end", x=plot.left - 10, y=middle))
        drawn += _bars_of_category(chart, plot, at, top)
    return joined(*drawn)


def _bars_of_category(chart: Chart, plot: Plot, at: int, top: float) -> Iterator[Markup]:
    limits = [
        plot.at_x(value) for series in chart.series if series.is_reference and (value := series.value(at)) is not None
    ]
    row = top
    for number, series in enumerate(chart.series):
        if series.is_reference:
            continue
        value = series.value(at)
        end = plot.left if value is None else plot.at_x(value)
        if value is not None:
            yield from _bar(plot, number, row, end, limits)
        # A number does not lie under a limit's mark.
        right = max([end, *(limit for limit in limits if end - 4 < limit < end + 46)])
        yield tag("text", shown(value, chart.y.unit), class_="tick", x=right + 6, y=row + 11)
        row += 16
    yield from (tag("path", class_="limit", d=f"M{limit:.1f} {top - 4:.1f}V{row + 2:.1f}") for limit in limits)


def _bar(plot: Plot, number: int, row: float, end: float, limits: Sequence[float]) -> Iterator[Markup]:
    """One bar: pale up to what it is compared with, so that what goes beyond stands out."""
    kind, pale_to = f"bar c{number % COLOURS}", max(plot.left, min([end, *limits])) if limits else plot.left
    if pale_to > plot.left:
        yield tag("rect", class_=f"{kind} pale", x=plot.left, y=row, width=pale_to - plot.left, height=13)
    if end > pale_to or pale_to == plot.left:
        yield tag("rect", class_=kind, x=pale_to, y=row, width=max(1.0, end - pale_to), height=13)


def details(chart: Chart) -> Markup:
    """The table of values, folded until somebody opens it."""
    scroll = tag(
        "div",
        tag("table", *_table(chart)),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=f"{chart.title}: data",
    )
    return tag("details", tag("summary", "The data as a table"), scroll, class_="data")


def _table(chart: Chart) -> Iterator[Markup]:
    """The table's rows; cells carry where they are drawn, as shares of the plot, for the script."""
    header, rows = {"lines": _lines_table, "points": _points_table, "bars": _bars_table}[chart.kind](chart)
    yield tag("thead", tag("tr", *(tag("th", name, scope="col") for name in header)))
    yield tag("tbody", *rows)


def _row(name: str, *cells: Markup, x: float | None = None, y: float | None = None) -> Markup:
    """One row of the table, which begins with what it is about."""
    places = {place: f"{share:.4f}" for place, share in (("data_x", x), ("data_y", y)) if share is not None}
    return tag("tr", tag("th", name, scope="row"), *cells, **places)


def _lines_table(chart: Chart) -> tuple[list[str], list[Markup]]:
    x, y = scales(chart, is_narrow=False)
    places = sorted({at for series in chart.series for _, at, _ in series.drawn()})
    found = [{at: place for place, at, _ in series.drawn()} for series in chart.series]
    rows = [
        _row(
            shown(at, chart.x.unit),
            *(_cell(series, known.get(at), chart, y) for series, known in zip(chart.series, found, strict=True)),
            x=x.fraction(at),
        )
        for at in places
    ]
    return [chart.x.title, *(series.name for series in chart.series)], rows


def _cell(series: Series, place: int | None, chart: Chart, y: AxisScale) -> Markup:
    value = None if place is None else series.y[place]
    if place is None or value is None:
        return tag("td", shown(None))
    words = shown(value, chart.y.unit)
    if series.low and series.high:
        words += f" ({shown(series.low[place], chart.y.unit)} to {shown(series.high[place], chart.y.unit)})"
    return tag("td", words, data_y=f"{y.fraction(value):.4f}")


def _points_table(chart: Chart) -> tuple[list[str], list[Markup]]:
    x, y = scales(chart, is_narrow=False)
    rows = [
        _row(
            series.labels[place] if place < len(series.labels) else series.name,
            tag("td", shown(across, chart.x.unit)),
            tag("td", shown(height, chart.y.unit)),
            x=x.fraction(across),
            y=y.fraction(height),
        )
        for series in chart.series
        for place, across, height in series.drawn()
    ]
    return ["name", chart.x.title, chart.y.title], rows


def _bars_table(chart: Chart) -> tuple[list[str], list[Markup]]:
    rows = [
        _row(
            name,
            *(tag("td", shown(series.y[at], chart.y.unit)) for series in chart.series),
            y=1 - (at + 0.5) / len(chart.categories),
        )
        for at, name in enumerate(chart.categories)
    ]
    return ["name", *(series.name for series in chart.series)], rows


EDGE = 14.0
"""The margin around a drawing in its own file."""


def figure(chart: Chart, key: str) -> Markup:
    """A chart for a page: caption, both drawings, and the table. `key` starts its ids, unique on the page."""
    drawings = (svg(chart, f"{key}-{kind}", width, kind) for kind, width in (("wide", WIDE), ("narrow", NARROW)))
    caption = tag("figcaption", tag("strong", chart.title), " ", tag("span", chart.says))
    plot = tag("div", *drawings, class_="plot")
    return tag("figure", caption, plot, details(chart), class_="chart", id=key)


def standalone(chart: Chart, width: float = 720.0) -> str:
    """A chart as a file, with a visible title and its own colours, for light and dark."""
    return str(svg(chart, "chart", width, "file", is_alone=True)) + "\n"


def svg(chart: Chart, key: str, width: float = WIDE, name: str = "wide", is_alone: bool = False) -> Markup:
    """The drawing: an image with a name and a description."""
    plot = Plot.of(chart, width, room_above=30.0 if is_alone else 0.0)
    drawn = {"lines": draw_lines, "points": draw_points, "bars": draw_bars}[chart.kind](chart, plot)
    heading = tag("text", shortened(chart.title, int(width / 8)), class_="title", x=0, y=16) if is_alone else NOTHING
    edge = EDGE if is_alone else 0.0
    style = tag("style", Markup(asset("chart.css"))) if is_alone else NOTHING  # noqa: S704  # Our own file.
    return tag(
        "svg",
        tag("title", chart.title, id=f"{key}-title"),
        tag("desc", chart.says, id=f"{key}-desc"),
        style,
        heading,
        *draw_legend(chart, plot),
        *draw_axes(chart, plot),
        drawn,
        xmlns="http://www.w3.org/2000/svg" if is_alone else None,
        class_=f"drawing {name}",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        viewBox=f"{-edge:g} {-edge:g} {width + 2 * edge:g} {plot.height + 2 * edge:g}",
        width=width + 2 * edge if is_alone else None,
        height=plot.height + 2 * edge if is_alone else None,
        data_plot=f"{plot.left:.1f} {plot.top:.1f} {plot.across:.1f} {plot.down:.1f}",
    )
