"""The flags that say how a party's own table is read: one list for every verb that reads one."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "How the table is read"


def _option(flag: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(flag, help=text, metavar=metavar, rich_help_panel=PANEL, show_default=False)


@dataclass(frozen=True)
class TableFlags:
    """As they were typed; `commands.tables.chosen` makes choices of them."""

    columns: Annotated[
        list[str],
        _option("--columns", "Columns to use, in this order, separated by commas (default: all).", "NAMES"),
    ] = field(default_factory=list)
    drop: Annotated[list[str], _option("--drop", "Columns to leave out, separated by commas.", "NAMES")] = field(
        default_factory=list
    )
    types: Annotated[
        list[str],
        _option(
            "--as",
            "Type of a column: number, category, boolean, date, date:FORMAT, or its levels in order (low<mid<high);"
            " may be repeated.",
            "COLUMN=TYPE",
        ),
    ] = field(default_factory=list)
    gaps: Annotated[
        list[str], _option("--na", "Cell that means a gap, besides empty ones and NA; may be repeated.", "MARK")
    ] = field(default_factory=list)
    steps: Annotated[
        list[str],
        _option(
            "--steps", "Columns whose bins are encoded as steps (at least this much), separated by commas.", "NAMES"
        ),
    ] = field(default_factory=list)
    monotone: Annotated[
        list[str],
        _option(
            "--monotone", "Columns with which the score may only rise, or only fall, separated by commas.", "NAMES"
        ),
    ] = field(default_factory=list)
    ranges: Annotated[
        list[str],
        _option(
            "--range",
            'Lowest and highest value of a column for scale = "public", stated before you look at the rows, with cuts'
            " for bins between them if you like; may be repeated.",
            "COLUMN=LOW:HIGH",
        ),
    ] = field(default_factory=list)
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

    def __bool__(self) -> bool:
        return self != TableFlags()
