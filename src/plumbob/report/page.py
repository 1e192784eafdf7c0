"""One self-contained HTML page of headings, sentences and tables.

Titles, party names and column names come from other people's files, so every text is escaped, without exception. The
page loads nothing from anywhere, and its policy forbids a browser to try.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fbfbf9; --line: #d8d9d3; --faint: #5d6673; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ec; --paper: #14181e; --line: #343b46; --faint: #98a2b0; }
}
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--faint); padding-bottom: .4rem; }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
"""


@dataclass(frozen=True)
class Table:
    """What is shown in rows; the first column names them."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A heading with sentences and, below them, a table."""

    heading: str
    sentences: Sequence[str] = ()
    table: Table | None = None


def render(title: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    body = "\n".join(_section(section) for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def as_text(table: Table) -> list[str]:
    """The same table for a terminal: first column to the left, the others to the right."""
    lines = [table.header, *table.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.header))]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _section(section: Section) -> str:
    pieces = [f"<h2>{escape(section.heading)}</h2>", *(f"<p>{escape(text)}</p>" for text in section.sentences)]
    if section.table is not None:
        pieces.append(_table(section.table))
    return f"<section>{''.join(pieces)}</section>"


def _table(table: Table) -> str:
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
