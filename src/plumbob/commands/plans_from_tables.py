"""`plan new --data`: a plan whose columns are those that tables give, one party's own or everybody's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plumbob.commands.flags import plan_from
from plumbob.commands.plans import new as new_plan
from plumbob.commands.table_flags import TableFlags
from plumbob.commands.tables import chosen
from plumbob.data import Table, column_names, read_table
from plumbob.data.encoder import choices_of
from plumbob.data.fitting import sizes_of
from plumbob.data.ids import IdColumns, id_column_of, refuse_other_parties
from plumbob.data.summary import TableSummary, summarise
from plumbob.errors import DataError
from plumbob.plan import suggested_keys

PEER = 1  # Columns of a party whose table is not here, until it says how many.


@dataclass(frozen=True)
class Files:
    """The tables, as the command line names them."""

    data: Sequence[str]
    id_columns: IdColumns
    label_column: str | None
    flags: TableFlags


def new(keys: Mapping[str, Any], names: str | None, out: Path | None, files: Files) -> dict[str, object]:
    """The plan, and what each table gives under it."""
    tables = dict(_party_and_file(word, place) for place, word in enumerate(files.data))
    if files.label_column is not None:
        tables = dict(sorted(tables.items(), key=lambda named: files.label_column not in column_names(named[1])))
    refuse_other_parties(files.id_columns, tables)
    read = {name: _read(name, file, files) for name, file in tables.items()}
    keys, drafted = suggested_keys(keys, sizes_of(read.values(), keys))
    plan = plan_from(None, {"features": [PEER] * max(2, len(tables)), **keys})
    summaries = {name: summarise(table, choices_of(plan)) for name, table in read.items()}
    widths = [summary.width for summary in summaries.values()]
    if len(tables) == 1:
        # Without the label this party is the second one.
        widths = [*widths, PEER] if files.label_column is not None else [PEER, *widths]
    named = names if names is not None or len(tables) == 1 else ",".join(tables)
    remark = "" if drafted is None else drafted.sentence
    result = new_plan({**keys, "features": widths}, named, out, remark=remark)
    shown = [line for name, summary in summaries.items() for line in (f"# {name}", *_as_comments(summary))]
    missing = "# the other party's columns are not known here: `plumbob party propose` asks for them"
    lines = [*shown, *([missing] if len(tables) == 1 else []), *_lines(result)]
    return {**result, "tables": {name: summary.to_dict() for name, summary in summaries.items()}, "lines": lines}


def _party_and_file(word: str, place: int) -> tuple[str, Path]:
    """PARTY=FILE, or a file alone, which is this party's own."""
    party, separator, file = word.partition("=")
    if separator:
        return party, Path(file)
    if place:
        raise DataError(f"--data {word}: expected PARTY=FILE where there is more than one table")
    return "own table", Path(word)


def _read(party: str, file: Path, files: Files) -> Table:
    known = column_names(file)
    label = files.label_column if files.label_column in known else None
    reading = chosen(files.flags).about(known)
    if label is None:
        reading = replace(reading, positive=None)
    return read_table(file, id_column_of(files.id_columns, party), label, choices=reading)


def _as_comments(summary: TableSummary) -> list[str]:
    return [f"#   {line}" for line in summary.lines()]


def _lines(result: Mapping[str, object]) -> list[str]:
    lines = result["lines"]
    return [str(line) for line in lines] if isinstance(lines, list) else []
