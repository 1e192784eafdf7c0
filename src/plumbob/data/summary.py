"""What a party's own table gives: for each column its kind, gaps, levels and encoded columns. It stays at home."""

from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np

from plumbob.data.encoding import find_shapes
from plumbob.data.shapes import EncodingChoices, TableSlots
from plumbob.data.tables import Column, Table

MANY_LEVELS = 0.5
"""Share of different texts among the rows from which on a column looks like a name or an id."""


@dataclass(frozen=True)
class ColumnSummary:
    """One column, in numbers; no cell of it is shown."""

    name: str
    kind: str
    rows: int
    gaps: int
    different: int
    rare_levels: int
    encoded: int

    @property
    def remark(self) -> str:
        """What its owner should know, if anything."""
        if self.different == 0:
            return "no value at all: it gives no column"
        if self.different == 1 and not self.gaps:
            return "constant: it gives no column" if not self.encoded else "constant"
        if self.kind == "text" and self.different > MANY_LEVELS * (self.rows - self.gaps):
            return "nearly every row has its own text: a name or an id? leave it out with --drop"
        if self.rare_levels:
            return f"{self.rare_levels} rare levels grouped" if self.rare_levels > 1 else "1 rare level grouped"
        return ""

    @property
    def cells(self) -> list[str]:
        """For a printed table."""
        gaps = f"{self.gaps / self.rows:.1%}" if self.gaps else "none"
        return [self.name, self.kind, str(self.different), gaps, str(self.encoded), self.remark]


@dataclass(frozen=True)
class TableSummary:
    """A whole table."""

    rows: int
    columns: tuple[ColumnSummary, ...]
    left_out: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Columns after encoding."""
        return sum(column.encoded for column in self.columns)

    def lines(self) -> list[str]:
        """For people."""
        head = ["column", "kind", "different", "gaps", "gives", ""]
        cells = [head, *(column.cells for column in self.columns)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        total = f"{self.rows} rows, {len(self.columns)} columns, {self.width} after encoding"
        unnamed = (
            [f"left out, as they have no name and say nothing: {', '.join(self.left_out)}"] if self.left_out else []
        )
        return [*table, total, *unnamed]

    def to_dict(self) -> dict[str, object]:
        """For programs."""
        columns = [{**asdict(column), "remark": column.remark} for column in self.columns]
        return {"rows": self.rows, "width": self.width, "columns": columns, "left_out": list(self.left_out)}


def summarise(table: Table, choices: EncodingChoices) -> TableSummary:
    """Of a table under these choices; text and gaps that they refuse are counted all the same."""
    shapes = find_shapes(table, choices)
    return TableSummary(len(table), tuple(_summary(column, shapes) for column in table.columns), table.left_out)


def _summary(column: Column, shapes: TableSlots) -> ColumnSummary:
    shape = shapes.by_name.get(column.name)
    counts = Counter(column.values.tolist()) if column.is_text else None
    gaps = int(column.is_missing.sum())
    different = len(counts) - (gaps > 0) if counts is not None else _different_numbers(column)
    rare = different - len(shape.levels) if shape is not None and shape.levels is not None else 0
    width = 1 if shape is None and counts is None else different if shape is None else shape.width
    kind = "text" if counts is not None else "number"
    return ColumnSummary(column.name, kind, len(column.values), gaps, different, rare, width)


def _different_numbers(column: Column) -> int:
    values = column.values.astype(np.float64, copy=False)
    return len(np.unique(values[~np.isnan(values)]))
