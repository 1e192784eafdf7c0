"""Charts as static SVG, with their data in a table beside them.

One implementation for the report, the lab and the paper's figures. A chart is drawn here, once for wide pages and once
for narrow ones, and needs no script; it is an image with a name and a description for those who do not see it. Its
values stand in one table, which people may open and from which a small script reads what it shows under the pointer.
Nothing carries a style attribute, which a strict policy would forbid: looks come from assets/chart.css.
"""

from functools import cache
from pathlib import Path

from markupsafe import Markup

from plumbob.report.chart_data import Chart, Series
from plumbob.report.chart_drawing import draw_axes, draw_bars, draw_legend, draw_lines, draw_points
from plumbob.report.chart_layout import NARROW, WIDE, Plot
from plumbob.report.chart_table import details
from plumbob.report.markup import NOTHING, shortened, tag
from plumbob.report.scale import Axis, Unit, shown

__all__ = ["Axis", "Chart", "Series", "Unit", "figure", "shown", "standalone", "svg"]

ASSETS = Path(__file__).parent / "assets"
EDGE = 14.0
"""Around a drawing that is a file of its own."""


def figure(chart: Chart, key: str) -> Markup:
    """For a page: caption, both drawings, and the table. `key` is the start of its ids, unique on the page."""
    drawings = (svg(chart, f"{key}-{kind}", width, kind) for kind, width in (("wide", WIDE), ("narrow", NARROW)))
    caption = tag("figcaption", tag("strong", chart.title), " ", tag("span", chart.says))
    plot = tag("div", *drawings, class_="plot")
    return tag("figure", caption, plot, details(chart), class_="chart", id=key)


def standalone(chart: Chart, width: float = 720.0) -> str:
    """As a file: with its title in sight and its own colours, for light and dark."""
    return str(svg(chart, "chart", width, "file", is_alone=True)) + "\n"


def svg(chart: Chart, key: str, width: float = WIDE, name: str = "wide", is_alone: bool = False) -> Markup:
    """The drawing: an image with a name and a description."""
    plot = Plot.of(chart, width, room_above=30.0 if is_alone else 0.0)
    drawn = {"lines": draw_lines, "points": draw_points, "bars": draw_bars}[chart.kind](chart, plot)
    heading = tag("text", shortened(chart.title, int(width / 8)), class_="title", x=0, y=16) if is_alone else NOTHING
    edge = EDGE if is_alone else 0.0
    style = tag("style", Markup(_style())) if is_alone else NOTHING  # noqa: S704  # Our own file.
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


@cache
def _style() -> str:
    return (ASSETS / "chart.css").read_text(encoding="utf-8")
