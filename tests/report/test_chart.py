"""Charts: well-formed pictures whatever the names, with all values in a table behind them."""

import base64
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

from plumbob.report import charts
from plumbob.report.charts import Axis, Chart, Series, svg
from plumbob.report.templates import environment
from tests.report.support import bar_chart, hostile_names, line_chart

KINDS = [line_chart, bar_chart]


def texts(chart: Chart) -> list[str]:
    """The words of a picture; an error if it is not well formed."""
    root = ElementTree.fromstring(svg(chart))  # noqa: S314  # What we drew ourselves.
    return [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_are_words_in_the_picture(kind: Callable[[str], Chart]) -> None:
    """Names that would like to be markup or a formula give a well-formed file, and as many words as an honest name."""
    honest = texts(kind("abc"))
    for name in (*hostile_names()[::10], "$x^2$", "\\frac{", "日本語", "a\x00b\u202ec"):
        assert len(texts(kind(name))) == len(honest), name
    assert "$x^2$" in texts(kind("$x^2$"))
    assert "a\ufffdb\ufffdc" in texts(kind("a\x00b\u202ec"))


def test_the_table_has_the_data() -> None:
    """Each value once, a gap as a dash, a band as its ends."""
    assert line_chart().values.header == ["epoch", "label-sign", "with noise", "guessing"]
    assert line_chart().values.rows[:2] == [["1", "50 %", "50 % (40 % to 70 %)", "50 %"], ["2", "70 %", "-", "50 %"]]
    assert bar_chart().values.rows == [
        ["label-sign", "0.9", "0.5"],
        ["label-only", "-", "0.5"],
        ["other", "0.2", "0.5"],
    ]


@pytest.mark.parametrize(
    "values", [[], [None, None], [float("nan")] * 2, [3.0, 3.0], [0.0, 0.0], [-1e9, 1e9], [1e-9, 2e-9]]
)
@pytest.mark.parametrize("is_log", [False, True])
def test_odd_data_are_drawn_too(values: list[float | None], is_log: bool) -> None:
    """Nothing, gaps only, one value, zeros on a log axis, huge and tiny ones: no error, and no formula."""
    places = [float(place) for place, _ in enumerate(values)]
    words = texts(Chart("t", "d", Axis("x"), Axis("y", is_log=is_log), [Series("s", values, places)]))
    assert words
    assert not any("$" in word for word in words)


def test_the_same_chart_gives_the_same_bytes() -> None:
    """A page can be compared with the page of another day."""
    assert svg(line_chart()) == svg(line_chart())


def test_a_page_has_the_picture_and_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture is an image with a name; without matplotlib the table stands alone, unfolded."""
    parts: Any = environment().get_template("parts.html").module
    shown = str(parts.figure(line_chart()))
    assert 'alt="Labels read by label-sign"' in shown
    address = shown.partition('src="')[2].partition('"')[0]
    assert base64.b64decode(address.partition("base64,")[2]).decode() == svg(line_chart())
    assert "<details" in shown
    monkeypatch.setattr(charts, "find_spec", lambda _name: None)
    bare = str(parts.figure(line_chart()))
    assert "<img" not in bare
    assert "<details" not in bare
    assert "40 % to 70 %" in bare
