"""The rows that were found in common, kept at a party for every run between the same parties."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from plumbob.errors import DataError
from plumbob.net.identity import make_private_folder, write_over
from plumbob.party.home import ALIGNED, Home
from plumbob.plan import PARTY_NAME, Plan

if TYPE_CHECKING:
    from plumbob.protocol.alignment import Alignment


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


def keep(home: Home, plan: Plan, found: "Alignment", name: str = "", duplicates: str = "refuse") -> Path:
    """Keep what was found for every plan between these parties; `name` tells several tables apart."""
    file = _file(home.aligned, plan, name)
    make_private_folder(file.parent)
    kept = Aligned(found.ids or (), found.order_hash or "", found.sizes, found.held_out, duplicates)
    write_over(file, msgspec.json.encode(kept))
    return file


def kept_for(home: Home, plan: Plan, name: str = "") -> Aligned:
    """The rows that were aligned before; DataError if none were."""
    file = _file(home.aligned, plan, name)
    try:
        return msgspec.json.decode(file.read_bytes(), type=Aligned)
    except OSError:
        under = f" under the name {name}" if name else ""
        flags = f" --name {name} --data FILE" if name else ""
        raise DataError(
            f"these parties have not aligned their rows{under}; type, on all sides: plumbob party align PLAN{flags}"
        ) from None
    except msgspec.DecodeError:
        raise DataError(f"{file}: expected aligned ids; the file is damaged, align again") from None


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
