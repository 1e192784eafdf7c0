"""One self-contained HTML page: a heading, sections, charts and tables.

Titles, party names and column names come from other people's files, so that every text goes through `markup.text`,
without exception. The page loads nothing from anywhere, and its policy forbids a browser to try: it runs the styles and
the script whose hashes it names, and nothing else.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from markupsafe import Markup

from plumbob.checking.judgement import aligned
from plumbob.counting import size
from plumbob.errors import DataError
from plumbob.report.chart import Chart
from plumbob.report.drawing import figure
from plumbob.report.markup import NOTHING, asset, joined, tag

# Longer cells are sentences: they are set as such, and may break.
WORDS = 40
# Tables with more columns are set closer, so that they fit a desktop's page.
ROOMY_COLUMNS = 7
_TYPED = re.compile(r"`([a-z][a-z -]*)`")
_NUMBER = re.compile(r"-|[-+]?[\d.,]+(e[-+]\d+)?(\s?(%|[kMG]?B|s))?")


@dataclass(frozen=True)
class PageTable:
    """A table as rows; the first column names them."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A heading with any of sentences, special markup, charts, a table, and the rest, in this order."""

    heading: str
    sentences: Sequence[str] = ()
    table: PageTable | None = None
    charts: Sequence[Chart] = ()
    special: Markup = NOTHING
    rest: Markup = NOTHING


class ReportPage:
    """A page as an object, which loads nothing: a notebook shows it in the cell, and anybody can save it."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | Path) -> Path:
        """Write the page; DataError where that cannot be done."""
        target = Path(path)
        try:
            target.write_text(self.html, encoding="utf-8")
        except OSError as error:
            raise DataError(f"{target}: the report cannot be written ({type(error).__name__})") from error
        return target

    def __repr__(self) -> str:
        return f"ReportPage({size(len(self.html.encode()))}; a notebook shows it, .save(path) writes it)"

    def _repr_html_(self) -> str:
        """The page in its own frame, so that neither page's styles nor scripts reach the other."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="Plumbob report" '
            'style="width:100%;height:720px;border:1px solid #9aa5b1"></iframe>'
        )


def render(title: str, sections: Sequence[Section], about: str = "", styles: Sequence[str] = ()) -> str:
    """The whole page, with links to its sections."""
    links = (tag("li", tag("a", one.heading, href=f"#part-{place}")) for place, one in enumerate(sections, 1))
    masthead = tag(
        "header",
        tag("p", "Plumbob", class_="brand"),
        tag("h1", title),
        tag("p", about, class_="about") if about else NOTHING,
        tag("nav", tag("ul", *links), aria_label="Sections") if len(sections) > 1 else NOTHING,
        class_="masthead",
    )
    body = tag("main", *(section_of(one, f"part-{place}") for place, one in enumerate(sections, 1)), id="main")
    skip = tag("a", "Skip to the findings", class_="skip", href="#main")
    footer = tag("footer", "This page is self-contained: it loads nothing and works offline.")
    return frame(title, joined(skip, masthead, body, footer), styles)


def frame(title: str, body: Markup, styles: Sequence[str] = ()) -> str:
    """A document around a body. More styles (their text) come after our own; the script is there for charts alone."""
    all_styles = [asset("chart.css"), asset("page.css"), *styles]
    scripts = [asset("chart.js")] if "<svg" in body else []
    rules = {
        "default-src": "'none'",
        "style-src": " ".join(_hash(style) for style in all_styles),
        "script-src": " ".join(_hash(script) for script in scripts) or "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    written = "; ".join(f"{name} {value}" for name, value in rules.items())
    head = joined(
        Markup('<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Markup('<meta http-equiv="Content-Security-Policy" content="{}">\n').format(Markup(written)),  # noqa: S704  # Ours.
        Markup('<meta name="color-scheme" content="light dark">\n'),
        tag("title", title),
        *(_raw("style", style) for style in all_styles),
    )
    page = joined(tag("head", head), "\n", tag("body", body, *(_raw("script", script) for script in scripts)))
    return f"<!DOCTYPE html>\n{tag('html', page, lang='en')}\n"


def _drawn(chart: Chart, key: str) -> Markup:
    return figure(chart, key)


def section_of(section: Section, key: str) -> Markup:
    """A section as markup; `key` is its id, and the start of its charts'."""
    charts = (_drawn(chart, f"{key}-chart-{place}") for place, chart in enumerate(section.charts, 1))
    return tag(
        "section",
        tag("h2", section.heading),
        *(tag("p", prose(sentence)) for sentence in section.sentences),
        section.special,
        *charts,
        table_of(section.table, section.heading) if section.table is not None else NOTHING,
        section.rest,
        id=key,
    )


def table_of(table: PageTable, name: str) -> Markup:
    """A table as markup, in a box that scrolls where it is too wide; a keyboard reaches the box, and it has a name."""
    kinds = [_kind([row[place] for row in table.rows]) for place in range(len(table.header))]
    head = (tag("th", cell, scope="col", class_=kind) for cell, kind in zip(table.header, kinds, strict=True))
    note = tag("p", table.caption, class_="note") if table.caption else NOTHING
    rows = (_row(row, kinds) for row in table.rows)
    dense = "dense" if len(table.header) > ROOMY_COLUMNS else None
    written = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows), class_=dense)
    return joined(tag("div", written, class_="scroll", tabindex=0, role="region", aria_label=f"Table: {name}"), note)


def bullets(lines: Iterable[str]) -> Markup:
    """Sentences, one below the other."""
    return tag("ul", *(tag("li", prose(line)) for line in lines), class_="plain")


def prose(sentence: str) -> Markup:
    """A sentence as markup, in which a word between backticks is something to type."""
    parts = _TYPED.split(sentence)
    return joined(*(tag("code", part) if place % 2 else part for place, part in enumerate(parts)))


def folded(name: str, content: Markup) -> Markup:
    """Content that is folded until somebody opens it."""
    return tag("details", tag("summary", name), content, data_name=name)


def facts_list(facts: Iterable[tuple[str, str, str]]) -> Markup:
    """Large numbers: (what, value, remark) each."""
    boxes = [tag("div", tag("dt", what), tag("dd", value, tag("small", remark))) for what, value, remark in facts]
    return tag("dl", *boxes, class_="facts") if boxes else NOTHING


def as_text(table: PageTable) -> list[str]:
    """The table for a terminal."""
    return aligned([table.header, *table.rows])


def _kind(cells: Sequence[str]) -> str | None:
    """The layout of a column: numbers to the right, sentences with room, the rest to the left."""
    if cells and all(_NUMBER.fullmatch(cell) for cell in cells):
        return "number"
    is_words = any(len(cell) > WORDS for cell in cells if not isinstance(cell, Markup))
    return "words" if is_words else None


def _row(row: Sequence[str], kinds: Sequence[str | None]) -> Markup:
    first = tag("th", row[0], scope="row", class_=kinds[0])
    return tag("tr", first, *(tag("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)))


def _raw(name: str, content: str) -> Markup:
    """A style or a script: our own text, unescaped, so that its hash holds."""
    if f"</{name}" in content:
        raise ValueError(f"a {name} must not contain its own end")
    return Markup(f"<{name}>{content}</{name}>\n")  # noqa: S704  # Our own files.


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
