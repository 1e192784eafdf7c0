"""A chart's data as a table, from which a small script reads what it shows under the pointer."""

from collections.abc import Iterator

from markupsafe import Markup

from plumbob.report.chart_data import Chart, Series
from plumbob.report.chart_layout import scales
from plumbob.report.markup import tag
from plumbob.report.scale import AxisScale, shown


def details(chart: Chart) -> Markup:
    """The table, folded away until somebody opens it."""
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
    """Cells carry where they are drawn, as shares of the plot, for the script that shows them."""
    x, y = scales(chart, is_narrow=False)
    if chart.kind == "points":
        header, rows = _points_table(chart, x, y)
    elif chart.kind == "bars":
        header = ["name", *(series.name for series in chart.series)]
        rows = [_bars_row(chart, at) for at in range(len(chart.categories))]
    else:
        header = [chart.x.title, *(series.name for series in chart.series)]
        rows = _lines_rows(chart, x, y)
    yield tag("thead", tag("tr", *(tag("th", name, scope="col") for name in header)))
    yield tag("tbody", *rows)


def _lines_rows(chart: Chart, x: AxisScale, y: AxisScale) -> list[Markup]:
    places = sorted({at for series in chart.series for _, at, _ in series.drawn()})
    found = [{at: place for place, at, _ in series.drawn()} for series in chart.series]
    return [
        tag(
            "tr",
            tag("th", shown(at, chart.x.unit), scope="row"),
            *(_cell(series, known.get(at), chart, y) for series, known in zip(chart.series, found, strict=True)),
            data_x=f"{x.fraction(at):.4f}",
        )
        for at in places
    ]


def _cell(series: Series, place: int | None, chart: Chart, y: AxisScale) -> Markup:
    value = None if place is None else series.y[place]
    if place is None or value is None:
        return tag("td", shown(None))
    words = shown(value, chart.y.unit)
    if series.low and series.high:
        ends = (shown(series.low[place], chart.y.unit), shown(series.high[place], chart.y.unit))
        words += f" ({ends[0]} to {ends[1]})"
    return tag("td", words, data_y=f"{y.fraction(value):.4f}")


def _points_table(chart: Chart, x: AxisScale, y: AxisScale) -> tuple[list[str], list[Markup]]:
    rows = [
        tag(
            "tr",
            tag("th", series.labels[place] if place < len(series.labels) else series.name, scope="row"),
            tag("td", shown(across, chart.x.unit)),
            tag("td", shown(height, chart.y.unit)),
            data_x=f"{x.fraction(across):.4f}",
            data_y=f"{y.fraction(height):.4f}",
        )
        for series in chart.series
        for place, across, height in series.drawn()
    ]
    return ["name", chart.x.title, chart.y.title], rows


def _bars_row(chart: Chart, at: int) -> Markup:
    cells = (tag("td", shown(series.y[at], chart.y.unit)) for series in chart.series)
    middle = 1 - (at + 0.5) / len(chart.categories)
    return tag("tr", tag("th", chart.categories[at], scope="row"), *cells, data_y=f"{middle:.4f}")
