"""A party's own rows, as its settings name them and as a plan wants them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plumbob.data import Table, in_agreed_order, newest_rows, read_table, with_slots
from plumbob.data.ids import id_names
from plumbob.data.tables import ColumnChoices
from plumbob.errors import DataError
from plumbob.party.aligned import kept_for
from plumbob.party.home import Home
from plumbob.plan import Plan


def own_table(home: Home, plan: Plan, data: str | Path | None = None, duplicates: str | None = None) -> Table:
    """The table that the settings name; DataError for an arbiter, which has none."""
    _refuse_arbiter(home, plan)
    file = data or home.data_file
    is_label_party = plan.label_party.name == home.identity.name
    label = (home.settings.label_column or None) if is_label_party else None
    if is_label_party and label is None:
        raise DataError("label_column in party.toml: name the column that holds the label")
    reading = home.settings.reading
    choices = replace(reading, duplicates=duplicates or reading.duplicates)
    return with_slots(read_table(file, home.settings.id_column, label, choices=choices), plan)


def own_ids(home: Home, plan: Plan, data: str | Path | None = None, duplicates: str | None = None) -> Table:
    """The table without columns: rows to predict may lack a label, and alignment needs only their ids."""
    _refuse_arbiter(home, plan)
    choices = replace(ids_only(home), duplicates=duplicates or home.settings.reading.duplicates)
    return read_table(data or home.data_file, home.settings.id_column, choices=choices)


def ids_only(home: Home) -> ColumnChoices:
    """Choices that read the id and no other column."""
    reading = home.settings.reading
    names = id_names(home.settings.id_column, reading.types)
    types = {name: kind for name, kind in reading.types.items() if name in names}
    return ColumnChoices(columns=(), types=types, gaps=reading.gaps, duplicates=reading.duplicates)


def place_of(home: Home, plan: Plan) -> int:
    """This party's place among those that have rows."""
    return [party.name for party in plan.learners].index(home.identity.name)


def aligned_table(home: Home, plan: Plan) -> Table:
    """The common rows of this party's table; DataError before there are any."""
    aligned = kept_for(home, plan)
    whole = own_table(home, plan, duplicates=aligned.duplicates)
    common = in_agreed_order(whole, aligned.ids, place=place_of(home, plan))
    if aligned.held_out is not None:
        common = replace(common, held_out=np.isin(np.arange(len(common)), aligned.held_out))
    return common


def choice_of_held_out(
    home: Home, plan: Plan, column: str | None, data: str | Path | None, duplicates: str | None = None
) -> Callable[[tuple[str, ...]], NDArray[np.bool_]] | None:
    """Chooses the newest of the common rows, by a column of this party's file that need not be a feature."""
    if plan.held_out_by != home.identity.name:
        if column is not None:
            raise DataError(
                f"--split-by {column}: the plan does not let {home.identity.name} choose the held-out rows; draft one"
                f" that does, with party propose --held-out-by {home.identity.name} at the label party"
            )
        return None
    if column is None:
        raise DataError("the plan lets this party choose the held-out rows; add --split-by COLUMN")
    reading = home.settings.reading
    ids = ids_only(home)
    types = {**ids.types, **{name: kind for name, kind in reading.types.items() if name == column}}
    choices = replace(ids, columns=(column,), types=types, duplicates=duplicates or reading.duplicates)
    # Before anybody is met: a column that cannot be read is found here.
    table = read_table(data or home.data_file, home.settings.id_column, choices=choices)
    newest_rows(table.columns[0], 0)

    def chosen(ids: tuple[str, ...]) -> NDArray[np.bool_]:
        (times,) = in_agreed_order(table, ids, place=place_of(home, plan)).columns
        return newest_rows(times, plan.held_out(len(ids)))

    return chosen


def is_arbiter(home: Home, plan: Plan) -> bool:
    """Whether this party has a key and no rows."""
    return plan.arbiter is not None and plan.arbiter.name == home.identity.name


def _refuse_arbiter(home: Home, plan: Plan) -> None:
    if is_arbiter(home, plan):
        raise DataError(f"{home.identity.name} is the arbiter of this plan: it has no rows")
