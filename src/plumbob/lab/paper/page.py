"""The results of the paper's experiments as a page, as figures in files, and as tables."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from plumbob import counting
from plumbob.lab.paper.frames import COLUMNS, Frame, PaperClaim, agreement
from plumbob.report import templates
from plumbob.report.charts import Chart, svg
from plumbob.report.quality import Fact


@dataclass(frozen=True)
class Group:
    """Figures that belong together."""

    heading: str
    frames: Sequence[Frame]

    @property
    def charts(self) -> list[Chart]:
        return [frame.chart for frame in self.frames]


@dataclass(frozen=True)
class Chapter:
    """The results for one reading, or for one theorem."""

    heading: str
    sentences: Sequence[str]
    groups: Sequence[Group]
    claims: Sequence[PaperClaim] = ()
    """The claims that stand beside these figures."""

    @property
    def statements(self) -> list[list[PaperClaim]]:
        return by_statement(self.claims)


@dataclass(frozen=True)
class Book:
    """All results of one command."""

    name: str
    title: str
    about: str
    chapters: Sequence[Chapter]
    loose: Sequence[PaperClaim] = ()
    """The claims that stand in no chapter."""
    tables: Sequence[Frame] = ()
    """The curves of curves.csv; empty where these are the ones that are drawn."""

    @property
    def claims(self) -> list[PaperClaim]:
        return [*self.loose, *(claim for chapter in self.chapters for claim in chapter.claims)]

    @property
    def frames(self) -> list[Frame]:
        """The figures that are drawn, in order."""
        return [frame for chapter in self.chapters for group in chapter.groups for frame in group.frames]


@dataclass(frozen=True)
class PaperPage:
    """Everything that the page shows."""

    title: str
    about: str
    in_short: Sequence[str]
    facts: Sequence[Fact]
    statements: Sequence[Sequence[PaperClaim]]
    """The claims of each statement of the paper that stands in no chapter, one for each reading."""
    own_statements: Sequence[Sequence[PaperClaim]]
    """The same of each statement of ours."""
    chapters: Sequence[Chapter]


def page_of(book: Book, seconds: float) -> str:
    """The reproduced figures and claims as one HTML page."""
    page = PaperPage(
        title=book.title,
        about=book.about,
        in_short=[*in_short(book), f"This call took {counting.seconds(seconds)}."],
        facts=[
            Fact("statements of the paper that agree", agreement(book.claims, of_the_paper=True), "of those tried"),
            Fact("statements of ours that agree", agreement(book.claims, of_the_paper=False), "beyond the paper"),
        ],
        statements=by_statement([claim for claim in book.loose if claim.is_the_papers]),
        own_statements=by_statement([claim for claim in book.loose if not claim.is_the_papers]),
        chapters=book.chapters,
    )
    return templates.page_of("paper.html", page, "plumbob.lab.paper")


def by_statement(claims: Sequence[PaperClaim]) -> list[list[PaperClaim]]:
    """The claims of each statement, one for each reading."""
    names = dict.fromkeys(claim.name for claim in claims)
    return [[claim for claim in claims if claim.name == name] for name in names]


def in_short(book: Book) -> Iterator[str]:
    """A sentence on how many statements agree, of the paper and of ours, and one on each that does not."""
    papers, ours = (agreement(book.claims, of_the_paper) for of_the_paper in (True, False))
    yield f"What was measured agrees with {papers} of the paper's statements, and with {ours} of our own."
    for claim in book.claims:
        if claim.verdict == "disagrees":
            yield f"Not so ({claim.reading}): {claim.says}"


def lines_of(book: Book) -> list[str]:
    """What a terminal shows: each claim with its verdict, and all in short."""
    claims = [f"{claim.verdict:9} {claim.name} ({claim.reading}): {claim.measured}" for claim in book.claims]
    return [*claims, "", *in_short(book)]


def write(book: Book, out: Path, seconds: float) -> list[Path]:
    """Write every file of a book; returns its figures'."""
    figures = {out / "figures" / f"{frame.name}.svg": svg(frame.chart) for frame in book.frames}
    claims = [asdict(claim) for claim in book.claims]
    files = {
        out / "index.html": page_of(book, seconds),
        out / "claims.csv": claims_csv(book.claims),
        out / "claims.json": json.dumps(claims, indent=2, allow_nan=False) + "\n",
        out / "curves.csv": _csv(COLUMNS, [row for frame in book.tables or book.frames for row in frame.rows()]),
        **figures,
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return list(figures)


def claims_csv(claims: Sequence[PaperClaim]) -> str:
    """The claims as the text of claims.csv."""
    rows = [{**asdict(claim), "values": json.dumps(dict(claim.values), sort_keys=True)} for claim in claims]
    return _csv([one.name for one in fields(PaperClaim)], rows)


def _csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="raise")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
