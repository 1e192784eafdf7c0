"""A table of texts, for a page and for a terminal alike."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.checking.judgement import aligned

WORDS = 40
"""Longer cells are sentences: they are set as such, and may break."""
ROOMY_COLUMNS = 7
"""Tables with more columns are set closer, so that they fit a desktop's page."""
FEW_COLUMNS, ROOM_OF_A_TELEPHONE = 2, 32
"""Columns that are always side by side, and characters that are."""
_NUMBER = re.compile(r"-|[-+]?[\d.,]+(e[-+]\d+)?(\s?(%|[kMG]?B|s))?( \([\d.]+ to [\d.]+\))?")
"""A number, with its unit and its interval."""


@dataclass(frozen=True)
class PageTable:
    """A table as rows; the first column names them."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def kinds(self) -> list[str]:
        """The layout of each column: numbers to the right, sentences with room, the rest to the left."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.header)
        return [_kind(cells) for cells in columns]

    @property
    def is_wide(self) -> bool:
        """Whether it needs more room than a telephone has; its rows become cards there."""
        widths = [max(map(len, cells)) for cells in zip(self.header, *self.rows, strict=True)]
        return len(widths) > FEW_COLUMNS and sum(widths) > ROOM_OF_A_TELEPHONE

    @property
    def is_dense(self) -> bool:
        return len(self.header) > ROOMY_COLUMNS


def _kind(cells: Sequence[str]) -> str:
    if cells and all(_NUMBER.fullmatch(cell) for cell in cells):
        return "number"
    return "words" if any(len(cell) > WORDS for cell in cells) else ""


def as_text(table: PageTable) -> list[str]:
    """The table for a terminal."""
    return aligned([table.header, *table.rows])
