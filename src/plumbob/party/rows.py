"""A party's own rows, as its settings name them and as a plan wants them, and which of them all parties have."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbob.data import Table, in_agreed_order, newest_rows, read_table, with_columns
from plumbob.data.align import refuse_several_rows_of_one
from plumbob.data.tables import ColumnChoices
from plumbob.errors import DataError
from plumbob.net.identity import make_private_folder, write_over
from plumbob.party.home import ALIGNED, Home
from plumbob.plan import PARTY_NAME, Plan

if TYPE_CHECKING:
    from plumbob.protocol.alignment import Alignment


def whole_table(home: Home) -> Table:
    """The table that the settings name, whatever a plan wants of it."""
    settings = home.settings
    return read_table(home.data_file, settings.id_column, settings.label_column or None, choices=settings.reading)


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
    return with_columns(read_table(file, home.settings.id_column, label, choices=choices), plan)


def own_ids(home: Home, plan: Plan, data: str | Path | None = None, duplicates: str | None = None) -> Table:
    """The table without columns: rows to predict may lack a label, and alignment needs only their ids."""
    _refuse_arbiter(home, plan)
    choices = replace(ids_only(home), duplicates=duplicates or home.settings.reading.duplicates)
    return read_table(data or home.data_file, home.settings.id_column, choices=choices)


def ids_only(home: Home) -> ColumnChoices:
    """Choices that read the id and no other column."""
    reading = home.settings.reading
    return ColumnChoices(columns=(), gaps=reading.gaps, duplicates=reading.duplicates)


def place_of(home: Home, plan: Plan) -> int:
    """This party's place among those that have rows."""
    return [party.name for party in plan.learners].index(home.identity.name)


def aligned_table(home: Home, plan: Plan) -> Table:
    """The common rows of this party's table; DataError before there are any."""
    aligned = aligned_before(home, plan)
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
    choices = replace(ids, columns=(column,), duplicates=duplicates or reading.duplicates)
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


# The rows that were found in common, kept for every run between the same parties.


class Aligned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ids that all parties have, in the agreed order. Not printed: ids are about people."""

    ids: tuple[str, ...]
    order_hash: str
    sizes: dict[str, int]
    held_out: tuple[int, ...] | None = None
    duplicates: str = "refuse"
    """How the table of these rows was read where an id is on several rows."""

    def __repr__(self) -> str:
        return f"Aligned({len(self.ids)} ids)"


def keep_aligned(home: Home, plan: Plan, found: "Alignment", name: str = "", duplicates: str = "refuse") -> Path:
    """Keep what was found for every plan between these parties; `name` tells several tables apart."""
    file = _file(home.aligned, plan, name)
    make_private_folder(file.parent)
    kept = Aligned(found.ids or (), found.order_hash or "", found.sizes, found.held_out, duplicates)
    write_over(file, msgspec.json.encode(kept))
    return file


def aligned_before(home: Home, plan: Plan, name: str = "") -> Aligned:
    """The rows that were aligned before; DataError if none were, or none that this plan may use."""
    file = _file(home.aligned, plan, name)
    try:
        aligned = msgspec.json.decode(file.read_bytes(), type=Aligned)
    except OSError:
        under = f" under the name {name}" if name else ""
        flags = f" --name {name} --data FILE" if name else ""
        raise DataError(
            f"these parties have not aligned their rows{under}; type, on all sides: plumbob party align PLAN{flags}"
        ) from None
    except msgspec.DecodeError:
        raise DataError(f"{file}: expected aligned ids; the file is damaged, align again") from None
    refuse_several_rows_of_one(plan, aligned.duplicates, aligned.ids)
    return aligned


def names_kept(home: Home, plan: Plan) -> list[str]:
    """Of all lists that these parties aligned; that of training has an empty one."""
    parties = _file(home.aligned, plan, "").stem
    found = (file.stem.partition(".") for file in home.aligned.glob("*.json"))
    return sorted(name for those, _, name in found if those == parties)


def rows_kept_in(folder: Path, plan: Plan) -> int:
    """How many rows the parties of this plan have in common, according to this folder; 0 if unknown."""
    try:
        return len(msgspec.json.decode(_file(folder / ALIGNED, plan, "").read_bytes(), type=Aligned).ids)
    except (OSError, msgspec.DecodeError):
        return 0


def checked_list_name(name: str) -> str:
    """Refuse a name that cannot be part of a file's name; both ends must use the same one."""
    if name and not PARTY_NAME.fullmatch(name):
        raise DataError(
            '--name: expected up to 32 letters, digits, "-" and "_", starting with a letter or '
            f'digit, got "{name[:40]}"'
        )
    return name


def _file(folder: Path, plan: Plan, name: str) -> Path:
    parties = "+".join(sorted(party.name for party in plan.learners))
    return folder / f"{parties}{f'.{name}' if name else ''}.json"
