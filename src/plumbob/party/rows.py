"""A party's own rows, as its settings name them and as a plan wants them, and which of them all parties have."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from plumbob.data import Table, read_table
from plumbob.data.encoder import with_columns
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
    return read_table(home.data_file, settings.id, settings.label or None, choices=settings.reading)


def own_table(home: Home, plan: Plan, data: str | Path | None = None) -> Table:
    """The table that the settings name, as the plan wants it."""
    file = data or home.data_file
    is_label_party = plan.label_party.name == home.identity.name
    label = (home.settings.label or None) if is_label_party else None
    if is_label_party and label is None:
        raise DataError("label in party.toml: name the column that holds the label")
    return with_columns(read_table(file, home.settings.id, label, choices=home.settings.reading), plan)


def own_ids(home: Home, plan: Plan, data: str | Path | None = None) -> Table:
    """The table without columns: rows to predict may lack a label, and alignment needs only their ids."""
    return read_table(data or home.data_file, home.settings.id, choices=ids_only(home))


def ids_only(home: Home) -> ColumnChoices:
    """Choices that read the id and no other column."""
    return ColumnChoices(columns=(), gaps=home.settings.reading.gaps)


def aligned_table(home: Home, plan: Plan) -> Table:
    """The common rows of this party's table; DataError before there are any."""
    return own_table(home, plan).select(common_rows(home, plan).ids)


# The rows that were found in common, kept for every run between the same parties.


class CommonRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ids that all parties have, in the agreed order. Not printed: ids are about people."""

    ids: tuple[str, ...]
    order_hash: str
    sizes: dict[str, int]

    def __repr__(self) -> str:
        return f"CommonRows({len(self.ids)} ids)"


def keep_common_rows(home: Home, plan: Plan, found: "Alignment", name: str = "") -> Path:
    """Keep what was found for every plan between these parties; `name` tells several tables apart."""
    file = _file(home.aligned, plan, name)
    make_private_folder(file.parent)
    kept = CommonRows(found.ids or (), found.order_hash or "", found.sizes)
    write_over(file, msgspec.json.encode(kept))
    return file


def common_rows(home: Home, plan: Plan, name: str = "") -> CommonRows:
    """The rows that were aligned before; DataError if none were, or none that this plan may use."""
    file = _file(home.aligned, plan, name)
    try:
        aligned = msgspec.json.decode(file.read_bytes(), type=CommonRows)
    except OSError:
        under = f" under the name {name}" if name else ""
        flags = f" --name {name} --data FILE" if name else ""
        raise DataError(
            f"these parties have not aligned their rows{under}; type, on all sides: plumbob party align PLAN{flags}"
        ) from None
    except msgspec.DecodeError:
        raise DataError(f"{file}: expected aligned ids; the file is damaged, align again") from None
    return aligned


def list_names(home: Home, plan: Plan) -> list[str]:
    """The names of all lists that these parties aligned; the list of training has an empty name."""
    parties = _file(home.aligned, plan, "").stem
    found = (file.stem.partition(".") for file in home.aligned.glob("*.json"))
    return sorted(name for those, _, name in found if those == parties)


def count_common_rows(folder: Path, plan: Plan) -> int:
    """How many rows the parties of this plan have in common, according to this folder; 0 if unknown."""
    try:
        return len(msgspec.json.decode(_file(folder / ALIGNED, plan, "").read_bytes(), type=CommonRows).ids)
    except (OSError, msgspec.DecodeError):
        return 0


def check_list_name(name: str) -> str:
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
