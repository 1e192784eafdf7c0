"""A party's own table on the command line: which columns, read how."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from plumbob.commands.table_flags import TableFlags
from plumbob.data import ColumnChoices
from plumbob.data.ids import BY_PLACE, IdColumns, id_column_of
from plumbob.errors import DataError
from plumbob.privacy.ranges import proposed_ranges


def chosen(flags: TableFlags) -> ColumnChoices:
    """What the flags say."""
    return ColumnChoices(
        _names(flags.columns) or None,
        _names(flags.drop),
        dict(map(_type, flags.types)),
        tuple(flags.gaps),
        _names(flags.steps),
        _names(flags.monotone),
        {**_ranges_from_dictionary(flags.dictionary), **dict(map(_range, flags.ranges))},
        flags.positive,
        flags.duplicates,
    )


def id_columns(words: Sequence[str]) -> IdColumns:
    """From `--id`: one name for every file, or one for each party; None where nothing was said."""
    if not words:
        return None
    if not any("=" in word for word in words):
        # As with any flag that is given twice, the last one counts.
        return words[-1]
    columns: dict[str, str] = {}
    for word in words:
        party, _, column = word.partition("=")
        if not party or not column:
            raise DataError(f"--id {word}: expected one COLUMN for all files, or PARTY=COLUMN for each party")
        if party in columns:
            raise DataError(f"--id {word}: a second id column for {party}; expected one")
        columns[party] = column
    return columns


def pairing_of(words: Sequence[str], is_by_place: bool) -> IdColumns:
    """From `--id` and `--by-place`: how the rows of all parties' files are paired."""
    if words and is_by_place:
        raise DataError("--by-place pairs rows without an id, and --id names one; give one of the two")
    return BY_PLACE if is_by_place else id_columns(words)


def own_id_column(words: Sequence[str], party: str) -> str | None:
    """From `--id`: this party's, named alone or as PARTY=COLUMN, so that one command line serves every side."""
    columns = id_columns(words)
    if not isinstance(columns, Mapping):
        return id_column_of(columns, party)
    if party not in columns:
        raise DataError(f"--id: no id column for {party}, only for {', '.join(columns)}; add --id {party}=COLUMN")
    return columns[party]


def _names(words: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas, or given one by one."""
    return tuple(name.strip() for word in words for name in word.split(",") if name.strip())


def _type(word: str) -> tuple[str, str]:
    name, separator, kind = word.partition("=")
    if not separator or not kind:
        raise DataError(f"--as {word}: expected COLUMN=TYPE, such as postcode=category or opened=date")
    return name, kind


def _range(word: str) -> tuple[str, tuple[float, ...]]:
    name, _, ends = word.partition("=")
    try:
        return name, tuple(float(end) for end in ends.split(":"))
    except ValueError:
        raise DataError(f"--range {word}: expected COLUMN=LOW:HIGH, such as age=0:100") from None


def _ranges_from_dictionary(dictionary: Path | None) -> dict[str, tuple[float, ...]]:
    """Ranges from what a data dictionary says in words; columns about which it says too little have none."""
    if dictionary is None:
        return {}
    try:
        with dictionary.open(newline="", encoding="utf-8-sig") as file:
            header = file.readline()
            file.seek(0)
            separator = max(",;\t|", key=header.count)
            described = {row[0].strip(): " ".join(row[1:]) for row in csv.reader(file, delimiter=separator) if row}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{dictionary}: expected a CSV file of columns and their descriptions ({type(error).__name__})"
        ) from None
    found = proposed_ranges(described)
    return {name: (item.low, item.high) for name, item in found.items() if item is not None}
