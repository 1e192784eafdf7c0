"""What the rule for drafted plans (`plumbob.plan.encodings`) may know of a table: three numbers."""

from collections.abc import Iterable, Mapping
from typing import Any

from plumbob.data.fitting import find_slots, is_numeric, width_of
from plumbob.data.tables import DEFAULT_RARE, EncodingChoices, Table
from plumbob.plan.encodings import ENCODING_KEYS, TableSize, encoding_of, needs_public_cuts


def size_of(table: Table, rare: int = DEFAULT_RARE) -> TableSize:
    """The part of a table that the rule for drafted plans may know."""
    numeric = sum(map(is_numeric, table.columns))
    return TableSize(len(table), numeric, width_with(table, 0, rare) - numeric)


def width_with(table: Table, bins: int, rare: int = DEFAULT_RARE) -> int:
    """How many columns a table gives under the rule's encoding with this many bins."""
    slots = find_slots(table, EncodingChoices(**encoding_of(bins), rare=rare))
    return sum(width_of(column, slots) for column in table.columns)


def sizes_of(tables: Iterable[Table], keys: Mapping[str, Any]) -> list[TableSize]:
    """The sizes of several tables; nothing is counted where somebody chose an encoding."""
    is_chosen = bool(ENCODING_KEYS & keys.keys()) or needs_public_cuts(keys)
    return [] if is_chosen else [size_of(table, keys.get("rare", DEFAULT_RARE)) for table in tables]
