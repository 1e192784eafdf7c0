"""The flags about a party's own table: which columns, and how they are read. Every verb that reads one has them."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plumbob.errors import DataError

if TYPE_CHECKING:
    from plumbob.data import ColumnChoices
    from plumbob.data.ids import IdColumns

PANEL = "How the table is read"


def _option(flag: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(flag, help=text, metavar=metavar, rich_help_panel=PANEL, show_default=False)


@dataclass(frozen=True)
class TableFlags:
    """The flags about a table, as they were typed."""

    columns: Annotated[
        Sequence[str],
        _option("--columns", "Columns to use, in this order, separated by commas (default: all).", "NAMES"),
    ] = ()
    drop: Annotated[Sequence[str], _option("--drop", "Columns to leave out, separated by commas.", "NAMES")] = ()
    types: Annotated[
        Sequence[str],
        _option(
            "--as",
            "Type of a column: number, category, boolean, date, date:FORMAT, or its levels in order (low<mid<high);"
            " may be repeated.",
            "COLUMN=TYPE",
        ),
    ] = ()
    gaps: Annotated[
        Sequence[str], _option("--na", "Cell that means a gap, besides empty ones and NA; may be repeated.", "MARK")
    ] = ()
    steps: Annotated[
        Sequence[str],
        _option(
            "--steps", "Columns whose bins are encoded as steps (at least this much), separated by commas.", "NAMES"
        ),
    ] = ()
    monotone: Annotated[
        Sequence[str],
        _option(
            "--monotone", "Columns with which the score may only rise, or only fall, separated by commas.", "NAMES"
        ),
    ] = ()
    ranges: Annotated[
        Sequence[str],
        _option(
            "--range",
            'Lowest and highest value of a column for scale = "public", stated before you look at the rows, with cuts'
            " for bins between them if you like; may be repeated.",
            "COLUMN=LOW:HIGH",
        ),
    ] = ()
    dictionary: Annotated[
        Path | None,
        _option(
            "--dictionary", "Data dictionary (CSV: column, description) from which round ranges for --range are taken."
        ),
    ] = None
    positive: Annotated[
        str | None,
        _option("--positive", "Class to predict (default: the label's second class when sorted).", "CLASS"),
    ] = None
    duplicates: Annotated[
        str,
        _option(
            "--duplicates",
            "What to do with an id that is on several rows: refuse it (default), use its first or its last row, or"
            " repeat: pair each of its rows with each of the peers', which shows them how often it occurs and which all"
            " sides must ask for.",
            "refuse|first|last|repeat",
        ),
    ] = "refuse"
    unlabelled: Annotated[
        str, _option("--unlabelled", "What to do with rows that have no label (default: refuse).", "refuse|drop")
    ] = "refuse"

    weight: Annotated[
        str | None,
        _option(
            "--weight", "Column of the label party that says how much a row counts in training, from 0 to 1.", "COLUMN"
        ),
    ] = None

    def choices(self) -> "ColumnChoices":
        """The choices about a table that the flags make."""
        # Late: whoever asks for help does not wait for numpy.
        from plumbob.data import ColumnChoices

        return ColumnChoices(
            _names(self.columns) or None,
            _names(self.drop),
            dict(map(_type, self.types)),
            tuple(self.gaps),
            _names(self.steps),
            _names(self.monotone),
            {**_ranges_from_dictionary(self.dictionary), **dict(map(_range, self.ranges))},
            self.positive,
            self.duplicates,
            self.unlabelled,
            self.weight,
        )


NOTHING_SAID = TableFlags()


def id_columns(words: Sequence[str]) -> "IdColumns":
    """The id columns from `--id`: one name for every file, or one for each party; None where nothing was said."""
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


def pairing_of(words: Sequence[str], is_by_place: bool) -> "IdColumns":
    """How the rows of all parties' files are paired, from `--id` and `--by-place`."""
    if words and is_by_place:
        raise DataError("--by-place pairs rows without an id, and --id names one; give one of the two")
    from plumbob.data.ids import BY_PLACE

    return BY_PLACE if is_by_place else id_columns(words)


def own_id_column(words: Sequence[str], party: str) -> str | None:
    """This party's id column from `--id`, alone or as PARTY=COLUMN, so that one command line serves every side."""
    from plumbob.data.ids import id_column_of

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
    from plumbob.privacy.home import proposed_ranges

    found = proposed_ranges(described)
    return {name: (item.low, item.high) for name, item in found.items() if item is not None}
