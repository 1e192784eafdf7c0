"""Encodings of columns as they are kept in a party's part of a model."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgspec

from plumbob.data.encoding import Bins, EncodedColumn, Levels, Marked, PlainColumn


def store_encoding(source: EncodedColumn) -> dict[str, Any]:
    """For a file; `restore_encoding` reads it."""
    kind = next(kind for kind, type_ in KINDS.items() if isinstance(source, type_))
    return {"kind": kind, **vars(source)}


def restore_encoding(stored: Mapping[str, Any]) -> EncodedColumn:
    """Raises ValueError where it is not what `store_encoding` gives."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    kind = KINDS.get(str(values.pop("kind", "")))
    if kind is None or not values.keys() <= {item.name for item in fields(kind)}:
        raise ValueError("no such kind of source")
    source: EncodedColumn = msgspec.convert(values, kind, strict=True)
    if isinstance(source, Bins | Levels) and not (
        len(source.shares) == len(source.slots) and 0 <= source.reference < len(source.slots)
    ):
        raise ValueError("a source's slots, shares and reference do not fit together")
    return source


KINDS: dict[str, type[PlainColumn] | type[Marked] | type[Bins] | type[Levels]] = {
    "as it is": PlainColumn,
    "marked": Marked,
    "bins": Bins,
    "levels": Levels,
}
