"""A party's own table on the command line: which columns, read how; and what it gives."""

from collections.abc import Sequence
from pathlib import Path

from plumbob.commands.table_flags import TableFlags
from plumbob.data import ColumnChoices, read_table
from plumbob.data.shapes import EncodingChoices
from plumbob.data.summary import TableSummary, summarise
from plumbob.errors import DataError

SUGGESTED_BINS = 10
"""Of a plan that is drafted from tables: real tables have text and gaps, and bins take both."""
SUGGESTED_TEST_SHARE = 0.2
"""Of a plan that is drafted from tables: without held-out rows nobody learns how good the model is."""


def chosen(flags: TableFlags, earlier: ColumnChoices | None = None) -> ColumnChoices:
    """What the flags say; where one says nothing, what was said earlier."""
    before = earlier or ColumnChoices()
    return ColumnChoices(
        _names(flags.columns) or before.columns,
        _names(flags.drop) or before.drop,
        {**before.types, **dict(map(_type, flags.types))},
        flags.gaps or before.gaps,
        _names(flags.steps) or before.stepped,
        _names(flags.monotone) or before.monotone,
        flags.positive or before.positive,
    )


def described(
    data: Path, id_column: str | None, label_column: str | None, reading: ColumnChoices, encoding: EncodingChoices
) -> TableSummary:
    """What a file gives."""
    return summarise(read_table(data, id_column, label_column, choices=reading), encoding)


def _names(words: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas, or given one by one."""
    return tuple(name.strip() for word in words for name in word.split(",") if name.strip())


def _type(word: str) -> tuple[str, str]:
    name, separator, kind = word.partition("=")
    if not separator or not kind:
        raise DataError(f"--as {word}: expected COLUMN=TYPE, such as postcode=category or opened=date")
    return name, kind
