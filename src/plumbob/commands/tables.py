"""A party's own table on the command line: which columns, read how."""

from collections.abc import Sequence

from plumbob.commands.table_flags import TableFlags
from plumbob.data import ColumnChoices
from plumbob.errors import DataError


def chosen(flags: TableFlags) -> ColumnChoices:
    """What the flags say."""
    return ColumnChoices(
        _names(flags.columns) or None,
        _names(flags.drop),
        dict(map(_type, flags.types)),
        flags.gaps,
        _names(flags.steps),
        _names(flags.monotone),
        flags.positive,
    )


def _names(words: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas, or given one by one."""
    return tuple(name.strip() for word in words for name in word.split(",") if name.strip())


def _type(word: str) -> tuple[str, str]:
    name, separator, kind = word.partition("=")
    if not separator or not kind:
        raise DataError(f"--as {word}: expected COLUMN=TYPE, such as postcode=category or opened=date")
    return name, kind
