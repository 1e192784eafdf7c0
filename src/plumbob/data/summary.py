"""What a party's own table gives: for each column its kind, gaps, levels and encoded columns. It stays at home."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from plumbob.arrays import Labels
from plumbob.counting import counted, percent
from plumbob.data.cells import ends_of
from plumbob.data.encoder import ColumnEncoder, columns_under, is_numeric, text_counts
from plumbob.data.tables import DEFAULT_RARE, TEXT, Column, EncodingChoices, Table
from plumbob.plan.encodings import ENCODING_KEYS, TableSize

MANY_LEVELS = 0.5
"""Share of different texts among the rows from which on a column looks like a name or an id."""
MOSTLY_RARE = 0.9
"""Share of rare levels' rows among those with a text from which on a column says next to nothing."""
ENDS = 5
"""The place of the lowest and the highest value in a line of the printed table."""


@dataclass(frozen=True)
class ColumnSummary:
    """One column, in numbers; no cell of it is shown but its lowest and highest number, to its owner."""

    name: str
    kind: str
    rows: int
    gaps: int
    different: int
    rare_levels: int
    encoded: int
    rare_rows: int = 0
    """How many rows have a level that is grouped with others."""
    lowest: str = ""
    """The lowest value as it was read, if asked for: it shows a wrong decimal sign or a day taken for a month."""
    highest: str = ""
    says_the_label: bool = False
    """Whether it has two values, one for each class, without an exception."""

    @property
    def remark(self) -> str:
        """What the column's owner should know, if anything."""
        if self.different == 0:
            return "no value at all: it gives no column"
        if self.says_the_label:
            return "tells the label of every row: is it the label under another name? leave it out with --drop"
        if self.different == 1 and not self.gaps:
            return "constant: it gives no column" if not self.encoded else "constant"
        if self._has_own_texts:
            return "nearly every row has its own text: a name or an id? leave it out with --drop"
        if self.rare_levels:
            return f"{self.rare_levels} rare levels grouped" if self.rare_levels > 1 else "1 rare level grouped"
        return ""

    @property
    def advice(self) -> str:
        """One sentence for a column that is left with its rare levels only, which are told apart from gaps at most."""
        if self.rare_levels < 2 or self._has_own_texts or self.rare_rows < MOSTLY_RARE * (self.rows - self.gaps):
            return ""
        flag = f"--drop {shlex.quote(self.name)}"
        return (
            f"{self.name}: {self.rare_levels} of {self.different} levels have too few rows and are grouped into one, so"
            f" the column says next to nothing; leave it out with {flag}, or shorten it in your file (a postcode to its"
            " first two digits, for example)"
        )

    @property
    def _has_own_texts(self) -> bool:
        return self.kind == "text" and self.different > MANY_LEVELS * (self.rows - self.gaps)

    @property
    def cells(self) -> list[str]:
        """The cells of this column's line in the printed table."""
        gaps = f"{percent(self.gaps / self.rows)}" if self.gaps else "none"
        ends = [self.lowest, self.highest]
        return [self.name, self.kind, str(self.different), gaps, str(self.encoded), *ends, self.remark]


@dataclass(frozen=True)
class TableSummary:
    """What a party learns about its own table before anything is sent."""

    rows: int
    columns: tuple[ColumnSummary, ...]
    left_out: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many columns training will see."""
        return sum(column.encoded for column in self.columns)

    def lines(self) -> list[str]:
        """A table of the columns, and what their owner should know of them."""
        columns = self.columns
        head = ["column", "kind", "distinct", "gaps", "encoded", "lowest", "highest", ""]
        cells = [head, *(column.cells for column in columns)] if columns else []
        if not any(column.lowest for column in columns):
            cells = [[*row[:ENDS], *row[ENDS + 2 :]] for row in cells]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        total = f"{counted(self.rows, 'row')}, {counted(len(self.columns), 'column')}, {self.width:,} after encoding"
        unnamed = [f"left out, as they have no name: {', '.join(self.left_out)}"] if self.left_out else []
        return [*table, total, *unnamed, *(column.advice for column in self.columns if column.advice)]

    def to_dict(self) -> dict[str, object]:
        columns = [{**asdict(column), "remark": column.remark, "advice": column.advice} for column in self.columns]
        return {"rows": self.rows, "width": self.width, "columns": columns, "left_out": list(self.left_out)}


def summarise(table: Table, choices: EncodingChoices, has_ends: bool = False) -> TableSummary:
    """Summarise a table under these choices.

    With `has_ends`, for the owner's eyes only, each column of numbers has its lowest and highest value.
    """
    pairs = zip(table.columns, columns_under(table, choices), strict=True)
    columns = tuple(_summary(column, own, table.labels, has_ends) for column, own in pairs)
    return TableSummary(len(table), columns, table.left_out)


def says_the_label(column: Column, labels: Labels | None) -> bool:
    """Whether a column has two values, one for each class, in every row."""
    if labels is None or column.is_missing.any():
        return False
    values = np.asarray(column.texts if column.is_text else column.numbers)
    is_first = np.asarray(values == values[0]) if len(values) else np.zeros(0, dtype=bool)
    agrees = is_first == (labels == labels[0])
    others = set(values[~is_first].tolist())
    return bool(agrees.all()) and len(others) == 1


def _summary(column: Column, own: ColumnEncoder, labels: Labels | None, has_ends: bool) -> ColumnSummary:
    counts = text_counts(column) if column.is_text else Counter()
    gaps = int(column.is_missing.sum())
    rare = [count for text, count in counts.items() if text not in (own.levels or ())]
    lowest, highest = ends_of(column) if has_ends else ("", "")
    return ColumnSummary(
        name=column.name,
        kind=TEXT if column.is_text else column.meaning,
        rows=len(column.values),
        gaps=gaps,
        different=len(counts) if column.is_text else len(np.unique(column.numbers)) - (gaps > 0),
        rare_levels=len(rare),
        encoded=own.width,
        rare_rows=sum(rare),
        lowest=lowest,
        highest=highest,
        says_the_label=says_the_label(column, labels),
    )


def class_in_words(table: Table) -> str:
    """A sentence on which class of the label is predicted; empty for a table without labels."""
    if table.labels is None or table.classes is None:
        return ""
    other, predicted = table.classes
    rows = int(table.labels.sum())
    return f"the model predicts the class {predicted!s} ({rows:,} of {len(table):,} rows); the other class is {other!s}"


# What the rule for drafted plans (`plumbob.plan.encodings`) may know of a table: three numbers.


def size_of(table: Table, rare: int = DEFAULT_RARE, is_paid_for: bool = False) -> TableSize:
    """The part of a table that the rule for drafted plans may know."""
    numeric = sum(map(is_numeric, table.columns))
    as_they_are = EncodingChoices(0, rare, is_paid_for)
    return TableSize(len(table), numeric, width_with(table, as_they_are) - numeric)


def width_with(table: Table, choices: EncodingChoices) -> int:
    """How many columns a table gives under these choices."""
    return sum(ColumnEncoder.fit(column, choices).width for column in table.columns)


def sizes_of(tables: Iterable[Table], keys: Mapping[str, Any]) -> list[TableSize]:
    """The sizes of several tables; nothing is counted where somebody chose an encoding."""
    if ENCODING_KEYS & keys.keys():
        return []
    return [size_of(table, keys.get("rare", DEFAULT_RARE), keys.get("noise") == "rows") for table in tables]
