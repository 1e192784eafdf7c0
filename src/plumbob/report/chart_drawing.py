"""The marks of a chart: legend, axes, lines, points and bars."""

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from plumbob.report import marks
from plumbob.report.chart_data import Chart, Series
from plumbob.report.chart_layout import LONGEST_LABEL, ROOM_FOR_LABELS, Plot, category_height, short_label
from plumbob.report.marks import Box
from plumbob.report.markup import NOTHING, joined, shortened, tag
from plumbob.report.scale import shown

TOUCHING = 26.0
MARKERS = 12
"""Markers on a long line."""


def draw_legend(chart: Chart, plot: Plot) -> Iterator[Markup]:
    """Above the plot, where names do not stand beside what they name."""
    for place, (series, (x, y)) in enumerate(zip(chart.series, plot.legend, strict=False)):
        draw = marks.bar_swatch if chart.kind == "bars" else marks.swatch
        yield draw(place, x, y, series.is_reference)
        yield tag("text", short_label(series.name), class_="label", x=x + 29, y=y + 4)


def draw_axes(chart: Chart, plot: Plot) -> Iterator[Markup]:
    """Grid lines, ticks and what is measured."""
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
    """With the bands around them."""
    bands = (_band_path(series, place, plot) for place, series in enumerate(chart.series) if series.low)
    lines = (_line(series, place, plot) for place, series in enumerate(chart.series))
    labels = NOTHING if plot.is_narrow else _end_labels(chart, plot)
    return joined(*bands, *lines, labels)


def _line(series: Series, place: int, plot: Plot) -> Markup:
    pieces = [" ".join(f"{plot.at_x(x):.1f} {plot.at_y(y):.1f}" for _, x, y in run) for run in series.runs()]
    path = "".join(f"M{piece}" for piece in pieces)
    kind = marks.colour(place, series.is_reference)
    line = tag("path", class_=f"line {kind}", d=path)
    if series.is_reference:
        return line
    points = list(series.drawn())
    every = max(1, math.ceil(len(points) / MARKERS))
    # Lines that run along one another show their markers in turn.
    shown_points = points[(place * every // 3) % every :: every]
    dots = "".join(marks.marker(place, plot.at_x(x), plot.at_y(y)) for _, x, y in shown_points)
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
    return tag("path", class_=f"band {marks.colour(place, series.is_reference)}", d=path)


def _end_labels(chart: Chart, plot: Plot) -> Markup:
    """Each name where its line ends, moved apart where lines end together."""
    ends = {place: list(series.drawn())[-1] for place, series in enumerate(chart.series) if any(series.drawn())}
    heights = marks.spread([plot.at_y(y) for _, _, y in ends.values()], plot.top, plot.bottom)
    drawn = []
    for (place, (_, x, y)), height in zip(ends.items(), heights, strict=True):
        series, left = chart.series[place], plot.right + 14
        way = f"M{plot.at_x(x) + 6:.1f} {plot.at_y(y):.1f}L{left - 3:.1f} {height:.1f}"
        drawn += [
            tag("path", class_="leader", d=way),
            marks.swatch(place, left, height, series.is_reference),
            tag("text", short_label(series.name), class_="label", x=left + 28, y=height + 4),
        ]
    return joined(*drawn)


def draw_points(chart: Chart, plot: Plot) -> Markup:
    """With their names, as far as there is room."""
    placed = [
        (number, plot.at_x(x), plot.at_y(y), series.labels[place] if place < len(series.labels) else "")
        for number, series in enumerate(chart.series)
        for place, x, y in series.drawn()
    ]
    marked = (
        tag(
            "path",
            class_=f"mark big {marks.colour(number, chart.series[number].is_reference)}",
            d=marks.marker(number, x, y, 6.0),
        )
        for number, x, y, _ in placed
    )
    return joined(*marked, *_point_labels([(x, y, name) for _, x, y, name in placed if name], plot))


def _point_labels(points: Sequence[tuple[float, float, str]], plot: Plot) -> Iterator[Markup]:
    """A name beside each point; where many points crowd together, one name for those that nearly touch."""
    near = TOUCHING if len(points) > marks.COLOURS else 0.0
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
        left, base, box = marks.label_spot(x, y, words, taken, paper)
        taken.append(box)
        if abs(base - y) > 20:
            yield tag("path", class_="leader", d=f"M{x:.1f} {y:.1f}L{left:.1f} {base - 4:.1f}")
        yield tag("text", words, class_="label", x=left, y=base)


def draw_bars(chart: Chart, plot: Plot) -> Markup:
    """Lying, a category below the other, with limits across them."""
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
    """Pale up to what it is compared with; what goes beyond stands out."""
    kind, pale_to = f"bar c{number % marks.COLOURS}", max(plot.left, min([end, *limits])) if limits else plot.left
    if pale_to > plot.left:
        yield tag("rect", class_=f"{kind} pale", x=plot.left, y=row, width=pale_to - plot.left, height=13)
    if end > pale_to or pale_to == plot.left:
        yield tag("rect", class_=kind, x=pale_to, y=row, width=max(1.0, end - pale_to), height=13)
