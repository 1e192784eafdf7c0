"""The flags that say how a party's own table is read: one list for every verb that reads one."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "How the table is read"


@dataclass(frozen=True)
class TableFlags:
    """As they were typed; `commands.tables.chosen` makes choices of them."""

    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    monotone: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    dictionary: Path | None = None
    positive: str | None = None

    def __bool__(self) -> bool:
        return self != TableFlags()


def with_table_flags(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb these flags; they arrive together, as `table`."""
    signature = inspect.signature(verb)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "table"]

    @functools.wraps(verb)
    def called(**values: Any) -> None:
        flags = TableFlags(
            tuple(values.pop("columns")),
            tuple(values.pop("drop")),
            tuple(values.pop("types")),
            tuple(values.pop("gaps")),
            tuple(values.pop("steps")),
            tuple(values.pop("monotone")),
            tuple(values.pop("ranges")),
            values.pop("dictionary"),
            values.pop("positive"),
        )
        verb(**values, table=flags)

    keyword_only = [one for one in own if one.kind is inspect.Parameter.KEYWORD_ONLY]
    others = [one for one in own if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    # Typer reads the parameters of a verb from here.
    parameters = [*others, *_flags(), *keyword_only]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # Typer reads it.
    return called


def _flags() -> list[inspect.Parameter]:
    return [
        _many("columns", "--columns", "Columns to use, in this order, separated by commas (default: all).", "NAMES"),
        _many("drop", "--drop", "Columns to leave out, separated by commas.", "NAMES"),
        _many(
            "types",
            "--as",
            "Type of a column: number, category, boolean, date, date:FORMAT, or its levels in order (low<mid<high);"
            " may be repeated.",
            "COLUMN=TYPE",
        ),
        _many("gaps", "--na", "Cell that means a gap, besides empty ones and NA; may be repeated.", "MARK"),
        _many("steps", "--steps", "Columns whose bins are encoded step by step, separated by commas.", "NAMES"),
        _many(
            "monotone",
            "--monotone",
            "Columns along which the score may only rise, or only fall, separated by commas.",
            "NAMES",
        ),
        _many(
            "ranges",
            "--range",
            'Lowest and highest value of a column, for scale = "public", stated before you look at the rows; cuts for'
            " bins may stand between them; may be repeated.",
            "COLUMN=LOW:HIGH",
        ),
        inspect.Parameter(
            "dictionary",
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                Path | None,
                typer.Option(
                    "--dictionary",
                    help="Data dictionary (CSV: column, description), whose words give round ranges for --range.",
                    rich_help_panel=PANEL,
                ),
            ],
        ),
        inspect.Parameter(
            "positive",
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(
                    "--positive",
                    help="Class to predict (default: the label's second class when sorted).",
                    metavar="CLASS",
                    rich_help_panel=PANEL,
                ),
            ],
        ),
    ]


def _many(name: str, flag: str, text: str, metavar: str) -> inspect.Parameter:
    option = typer.Option(flag, help=text, metavar=metavar, rich_help_panel=PANEL, show_default=False)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=[], annotation=Annotated[list[str], option])
