"""A list of findings that shows itself: as text in a terminal and as a table in a notebook."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from html import escape
from importlib import import_module
from typing import Any, SupportsIndex, overload

from plumbob.checking.facts import SaidWhere, said
from plumbob.checking.figures import Figures
from plumbob.checking.headlines import counts, headlines
from plumbob.checking.judgement import Headlines, aligned
from plumbob.checking.row_notes import noise_notes
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS, MEANINGS, ORDER
from plumbob.counting import decimal, share
from plumbob.errors import DataError
from plumbob.plan.encodings import few_rows
from plumbob.record import Finding

# A colour beside the word, never instead of it.
COLOURS = {LEAKS: "#c2410c", DEGRADES: "#a16207", BLOCKED: "#15803d"}
Cell = Callable[[Finding], str]
NAMED: dict[str, Cell] = {
    "verdict": lambda one: one.verdict,
    "assumes": lambda one: one.assumes,
    "attack": lambda one: one.attack,
    "by": lambda one: one.by,
    "against": lambda one: one.against,
    "target": lambda one: one.target,
}
MEASURED: dict[str, Cell] = {
    "rate": lambda one: share(one.rate),
    "baseline": lambda one: share(one.baseline),
    "AUC": lambda one: decimal(one.auc),
    "AUC baseline": lambda one: decimal(one.baseline_auc),
    "advantage": lambda one: decimal(one.advantage),
}


class Findings(list[Finding]):
    """A list of findings, the worst first; it prints as two headlines and a table, and a notebook shows the same."""

    def __init__(self, findings: Iterable[Finding] = (), figures: Figures | None = None) -> None:
        super().__init__(findings)
        self.figures = figures

    @overload
    def __getitem__(self, place: SupportsIndex) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> "Findings": ...
    def __getitem__(self, place: SupportsIndex | slice) -> "Finding | Findings":
        if isinstance(place, slice):
            return Findings(super().__getitem__(place), self.figures)
        return super().__getitem__(place)

    @property
    def leaking(self) -> "Findings":
        """The findings above the plan's tolerance."""
        return Findings((one for one in self if one.verdict == LEAKS), self.figures)

    @property
    def more(self) -> str:
        """How many findings there are, and what shows them."""
        lines = sum(len(block.lines) + len(block.unprevented) for block in self.headlines.blocks)
        return f"--verbose shows the reasons and notes. {counts(self, lines)}"

    @property
    def headlines(self) -> Headlines:
        """Both headlines: what findings come to if everyone keeps to the protocol, and if someone cheats."""
        return headlines(self, self.figures)

    @property
    def notes(self) -> list[str]:
        """Notes that have no verdict: what no finding covers, and those beside the findings in any case."""
        return [] if self.figures is None else [*said(SaidWhere.NOTES, self.figures), *self.short_notes]

    @property
    def short_notes(self) -> list[str]:
        """What noise promises and costs, and what findings take for granted."""
        return [] if self.figures is None else [*noise_notes(self.figures), *_assumptions(self.figures)]

    def to_frame(self) -> Any:
        """One row per finding, as a pandas DataFrame; DataError where pandas is not installed."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise DataError(
                "to_frame needs pandas, which is not installed; type: pip install pandas, or use "
                "[dataclasses.asdict(one) for one in findings]"
            ) from None
        return pandas.DataFrame([asdict(one) for one in self], columns=list(Finding.__dataclass_fields__))

    def __repr__(self) -> str:
        return "\n".join([*self.headlines.lines(), *(["", *table_lines(self)] if self else [])])

    def _repr_html_(self) -> str:
        """A table without scripts; every cell is escaped, because party names come from other people's plans."""
        cells: dict[str, Cell] = {**_columns(self), "why": lambda one: one.why, "to stop it": lambda one: one.fix}
        head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in cells)
        rows = "".join(
            f"<tr>{''.join(_html_cell(name, show(one)) for name, show in cells.items())}</tr>" for one in self
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if self else ""
        return f"<div><pre>{escape(chr(10).join(self.headlines.lines()))}</pre>{table}</div>"


def _assumptions(figures: Figures) -> Iterator[str]:
    if figures.is_assumed:
        yield f"The plan does not say how many rows there are: {figures.aligned:,} are assumed; --rows says how many."
    elif few := few_rows(figures.rows, figures.plan.columns):
        yield few[0].upper() + few[1:] + "."
    if figures.plan.seed:
        yield (
            "The plan fixes the seed: batches and starting weights are known to everybody before the run. "
            "Use seed = 0 for anything but an experiment."
        )


def worst_first(findings: Iterable[Finding], figures: Figures | None = None) -> Findings:
    """The same findings, those that leak first."""
    return Findings(sorted(findings, key=lambda finding: ORDER.index(finding.verdict)), figures)


def lines_of(findings: Findings, told: Headlines | None = None) -> list[str]:
    """Both headlines, a table of verdicts, the numbers behind those that matter, and what the verdicts mean."""
    given = {finding.verdict for finding in findings}
    meanings = [f"{verdict}: {MEANINGS[verdict]}." for verdict in ORDER if verdict in given]
    headlines = (told or findings.headlines).lines()
    return [*headlines, "", *table_lines(findings), "", *reasons(findings), "", *meanings]


def reasons(findings: Iterable[Finding]) -> Iterator[str]:
    """A sentence or two for each finding: why, and what to type against it."""
    for one in findings:
        fix = f" To stop it: {one.fix}" if one.fix else ""
        yield f"{one.attack} by {one.by} against {one.against}, {one.verdict}: {one.why} ({one.reference}){fix}"


def _columns(findings: Sequence[Finding]) -> dict[str, Cell]:
    """The columns of the table; those that were measured are shown only after a run."""
    return {**NAMED, **(MEASURED if any(one.rate is not None for one in findings) else {})}


def table_lines(findings: Sequence[Finding]) -> list[str]:
    """The table for a terminal: verdicts to the left, the rest to the right."""
    cells = _columns(findings)
    return aligned([list(cells), *([show(one) for show in cells.values()] for one in findings)])


def _html_cell(name: str, text: str) -> str:
    colour = f";color:{COLOURS[text]};font-weight:600;white-space:nowrap" if name == "verdict" else ""
    return f'<td style="text-align:left;vertical-align:top{colour}">{escape(text)}</td>'
