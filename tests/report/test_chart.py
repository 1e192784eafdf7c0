"""Charts: well formed whatever the names, with a name and a description, and their data in one table."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from plumbob.report.chart import Axis, Chart, Series
from plumbob.report.drawing import NARROW, figure, standalone, svg
from plumbob.report.marks import colour, marker
from tests.report.support import bar_chart, hostile_names, line_chart, point_chart

KINDS = [line_chart, point_chart, bar_chart]
SVG = "{http://www.w3.org/2000/svg}"


class Cells(HTMLParser):
    """The text of a table's rows, and where the script will find them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.places: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.places.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def parsed(drawing: str) -> ElementTree.Element:
    """A drawing's elements; an error if it is not well formed."""
    return ElementTree.fromstring(drawing)  # noqa: S314  # What we drew ourselves.


def table_of(chart: Chart) -> list[list[str]]:
    """The contents of the chart's table."""
    parser = Cells()
    parser.feed(re.sub(r"^.*<table>", "<table>", figure(chart, "c"), flags=re.DOTALL).split("</table>")[0])
    return parser.rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_well_formed(kind: Callable[[], Chart]) -> None:
    """A drawing of its own is XML: an image with a name, a description and its colours, without style attributes."""
    root = parsed(standalone(kind()))
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == kind().title  # type: ignore[union-attr]  # A missing one fails as it should.
    assert root.find(f"{SVG}desc").text == kind().says  # type: ignore[union-attr]
    assert "--c0" in (root.find(f"{SVG}style").text or "")  # type: ignore[union-attr]
    assert all(element.get("style") is None for element in root.iter())


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_leave_the_drawing_as_it_is(kind: Callable[[str], Chart]) -> None:
    """200 names that would like to be markup give the same elements as an honest name, in well-formed XML."""
    honest = elements_of(kind("abc"))
    assert len(hostile_names()) == 200
    for name in hostile_names():
        assert elements_of(kind(name)) == honest


def elements_of(chart: Chart) -> list[str]:
    """What is drawn; but for the lines from labels to their points, which depend on how long a name is."""
    return [one.tag for one in parsed(svg(chart, "c")).iter() if one.get("class") != "leader"]


def test_the_table_has_the_data() -> None:
    """Each value once, a gap as a dash, a band as its ends; what is drawn is where the script looks for it."""
    assert table_of(line_chart())[:3] == [
        ["epoch", "label-sign", "with noise", "guessing"],
        ["1", "50 %", "50 % (40 % to 70 %)", "50 %"],
        ["2", "70 %", "-", "50 %"],
    ]
    assert table_of(point_chart())[1:3] == [["shares", "0.1", "0.9"], ["twice", "0.1", "0.9"]]
    assert table_of(bar_chart()) == [
        ["name", "attack", "baseline"],
        ["label-sign", "0.9", "0.5"],
        ["label-only", "-", "0.5"],
        ["other", "0.2", "0.5"],
    ]
    drawn = '<tr data-x="0.2500"><th scope="row">2</th><td data-y="0.7000">70 %</td><td>-</td>'
    assert drawn in figure(line_chart(), "c")


def test_a_value_is_drawn_where_it_belongs() -> None:
    """A line goes through its points, to the tenth of a pixel, within the plot that the script is told of."""
    root = parsed(svg(line_chart(), "c"))
    left, top, across, down = (float(part) for part in root.get("data-plot", "").split())
    path = next(one.get("d", "") for one in root.iter("path") if one.get("class") == "line c0")
    numbers = [float(part) for part in re.findall(r"[\d.]+", path)]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    expected = [
        (left + across * at / 4, top + down * (1 - rate)) for at, rate in enumerate([0.5, 0.7, 0.9, 0.95, 0.99])
    ]
    assert points == [pytest.approx(one, abs=0.11) for one in expected]


def test_a_gap_breaks_the_line() -> None:
    """What was not measured is not drawn as if it had been."""
    root = parsed(svg(line_chart(), "c"))
    path = next(one.get("d", "") for one in root.iter("path") if one.get("class") == "line c1")
    assert path.count("M") == 2


def test_lines_differ_without_colour() -> None:
    """Every series has a marker of another shape, and the style sheet other dashes."""
    looks = {(colour(place, False), marker(place, 10.0, 10.0)) for place in range(36)}
    assert len(looks) == 36
    assert len({shape for _, shape in looks}) == 6
    dashes = re.findall(r"\.line\.c[1-5] \{[^}]*stroke-dasharray: ([\d ]+)", standalone(line_chart()))
    assert len(set(dashes)) == 5


@pytest.mark.parametrize(
    "values", [[], [None, None], [float("nan")] * 2, [3.0, 3.0], [0.0, 0.0], [-1e9, 1e9], [1e-9, 2e-9]]
)
@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("width", [NARROW, 880.0])
def test_odd_data_are_drawn_too(values: list[float | None], is_log: bool, width: float) -> None:
    """Nothing, gaps only, one value, zeros on a log axis, huge and tiny ones: no error, and no number that is none."""
    places = [float(place) for place, _ in enumerate(values)]
    chart = Chart("t", "d", Axis("x"), Axis("y", is_log=is_log), [Series("s", values, places)])
    drawn = svg(chart, "c", width)
    parsed(drawn)
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_labels_keep_apart() -> None:
    """Lines that end in the same place have their names one below the other, in sight."""
    chart = Chart("t", "d", Axis("x"), Axis("y", 0.0, 1.0), [Series(f"s{n}", [0.0, 0.0], [0, 1]) for n in range(5)])
    root = parsed(svg(chart, "c"))
    heights = sorted(float(one.get("y", "0")) for one in root.iter("text") if one.get("class") == "label")
    assert min(later - earlier for earlier, later in pairwise(heights)) >= 17
    assert heights[-1] <= float(root.get("viewBox", "").split()[3])


def test_a_crowd_has_one_name() -> None:
    """Many points in one place are named together; few are named each, however near."""
    many = Series("s", [0.9] * 8 + [0.1], [0.5] * 8 + [0.9], labels=[f"n{place}" for place in range(9)])
    assert names_in(many) == ["n0 and 7 more", "n8"]
    few = Series("s", [0.9, 0.9], [0.5, 0.5], labels=["one", "two"])
    assert names_in(few) == ["one", "two"]


def names_in(series: Series) -> list[str | None]:
    """The labels of a chart of points."""
    chart = Chart("t", "d", Axis("x", 0.0, 1.0), Axis("y", 0.0, 1.0), [series], "points")
    return [one.text for one in parsed(svg(chart, "c")).iter("text") if one.get("class") == "label"]
