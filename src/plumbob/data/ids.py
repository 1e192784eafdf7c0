"""One public rule for how ids are written, so that two files that mean the same person say the same text.

Unicode NFC, blanks around it stripped; nothing else. Upper and lower case, leading zeros and punctuation count: whether
"007" is "7" only the parties can know, and they must settle it before. An id is on one row.
"""

import hashlib
import operator
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from unicodedata import is_normalized, normalize

import numpy as np
from numpy.typing import NDArray

from plumbob.errors import DataError

SHOWN_ROWS = 5
HEAD = struct.Struct("<HI")
"""Before the text of an id: how many columns it is from, which is one, and its length in bytes."""
IDS_AT_ONCE = 1 << 16
USUAL_OVERLAP = 0.9
"""The share of the smaller table's rows; where fewer are in common, somebody asks how ids are written."""


def canonical(identity: str) -> str:
    """An id in the form in which it is compared with other parties' ids."""
    return normalize("NFC", identity).strip()


def canonical_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """All ids by the rule; empty, repeated or unreadable ones are refused by their rows and never shown."""
    ids = tuple(ids)
    ruled = tuple(chain.from_iterable(map(_canonical_piece, in_pieces(ids))))
    if have_repeats(ruled) or not all(map(_are_whole, in_pieces(ruled))):
        _refuse(ruled, [row for row, identity in enumerate(ruled) if not identity], "have an empty id")
        _refuse(ruled, repeated_rows(ruled), "repeat the id of an earlier row, blanks around it aside", ONE_ROW_EACH)
        _refuse(ruled, [row for row, identity in enumerate(ruled) if not _is_text(identity)], "have an id of no text")
    # The same texts twice would take twice the memory.
    return ids if all(map(operator.is_, ids, ruled)) else ruled


def _canonical_piece(ids: Sequence[str]) -> Iterable[str]:
    """Some ids by the rule; all at once where they are in form C, as in most files."""
    whole = "\0".join(ids)
    is_plain = whole.isascii() or is_normalized("NFC", whole)
    return map(str.strip if is_plain else canonical, ids)


def have_repeats(ids: Sequence[str]) -> bool:
    """Whether an id occurs twice; a set of millions of texts would take several times the memory of this."""
    return _alike(ids) > 0 and len(set(ids)) != len(ids)


def in_pieces(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """The ids some at a time: what is made of millions at once does not fit into memory."""
    return (ids[start : start + IDS_AT_ONCE] for start in range(0, len(ids), IDS_AT_ONCE))


def repeated_rows(ids: Sequence[str]) -> list[int]:
    """Rows whose id an earlier row has."""
    first: dict[str, int] = {}
    return [row for row, identity in enumerate(ids) if first.setdefault(identity, row) != row]


def _are_whole(ids: Sequence[str]) -> bool:
    """None is empty, and each is text."""
    if "".join(ids).isascii():
        return all(ids)
    return all(identity and _is_text(identity) for identity in ids)


def _is_text(identity: str) -> bool:
    """Whether the id can be encoded: half of a surrogate pair has no bytes."""
    try:
        identity.encode()
    except UnicodeEncodeError:
        return False
    return True


ONE_ROW_EACH = "bring each person's rows into one before, in the database or with pandas"


def _refuse(ids: Sequence[str], rows: Sequence[int], what: str, hint: str = "repair the file and align again") -> None:
    if rows:
        shown = ", ".join(str(row + 1) for row in rows[:SHOWN_ROWS]) + (", ..." if len(rows) > SHOWN_ROWS else "")
        raise DataError(f"{len(rows)} of {len(ids)} rows {what} (rows {shown}); {hint}")


# Ids as they are hashed: how many columns each has, which is one, its length and its text.


class PackedIds:
    """Many ids in one buffer: millions of Python strings would take four times the memory."""

    @classmethod
    def of(cls, ids: Iterable[str]) -> "PackedIds":
        """Pack ids by the rule; DataError as from `canonical_ids`."""
        ruled = canonical_ids(ids)
        if not ruled:
            raise DataError("expected at least one id to align, got none")
        return cls(ruled)

    def __init__(self, ids: Sequence[str]) -> None:
        # It grows in place: joined from pieces, there would be two of it for a while.
        self._data = bytearray()
        most = HEAD.size * len(ids) + 4 * sum(map(len, ids))
        self._bounds = np.zeros(1 + len(ids), dtype=np.uint32 if most < 2**32 else np.int64)
        """Id i lies from `_bounds[i]` to `_bounds[i + 1]`."""
        done = 1
        for piece in in_pieces(ids):
            data, sizes = _packed(piece)
            self._bounds[done : done + len(piece)] = len(self._data) + np.cumsum(sizes)
            self._data += data
            done += len(piece)

    def forget(self) -> None:
        """Its memory is needed for something else."""
        self._data, self._bounds = bytearray(), np.zeros(1, dtype=np.uint32)

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __repr__(self) -> str:
        return f"PackedIds({len(self)})"

    def encoded(
        self, places: NDArray[np.uint32] | slice = slice(None)
    ) -> tuple[bytearray, NDArray[np.int64], NDArray[np.int64]]:
        """The ids at these places as they are hashed: each from its start to its end in the buffer."""
        return self._data, self._bounds[:-1][places].astype(np.int64), self._bounds[1:][places].astype(np.int64)

    def texts(self, places: NDArray[np.uint32]) -> list[str]:
        data, starts, ends = self.encoded(places)
        spans = zip((starts + HEAD.size).tolist(), ends.tolist(), strict=True)
        return [data[start:end].decode() for start, end in spans]

    def digest(self) -> bytes:
        """SHA-256 over all of them, in their order."""
        return hashlib.sha256(self._data).digest()


def hash_of_ids(ids: Sequence[str]) -> bytes:
    """The digest of ids that are not packed: the same as `PackedIds.digest`."""
    hashing = hashlib.sha256()
    for piece in in_pieces(ids):
        hashing.update(_packed(piece)[0])
    return hashing.digest()


def _packed(ids: Sequence[str]) -> tuple[bytes, list[int]]:
    """Some ids one after the other in one buffer, and the size of each."""
    packed = [HEAD.pack(1, len(text)) + text for text in map(str.encode, ids)]
    return b"".join(packed), list(map(len, packed))


# How ids are written.


def ids_in_words(ids: Sequence[str]) -> str:
    """How a file's ids are written, without one of them: what to compare where few rows are in common."""
    lengths = sorted(map(len, ids)) or [0]
    shapes = {
        "begin with a 0": sum(identity.startswith("0") for identity in ids),
        "have capital letters": sum(identity != identity.lower() for identity in ids),
        "have small letters": sum(identity != identity.upper() for identity in ids),
        "have blanks in them": sum(" " in identity for identity in ids),
    }
    found = ", ".join(f"{count:,} {what}" for what, count in shapes.items() if count)
    size = str(lengths[0]) if lengths[0] == lengths[-1] else f"{lengths[0]} to {lengths[-1]}"
    return f"{len(ids):,} ids of {size} characters{f', of which {found}' if found else ''}"


def _alike(ids: Sequence[str]) -> int:
    """How many ids are equal to another one, by hashes alone: a set of their texts would not fit into memory."""
    hashes = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
    hashes.sort()
    same = hashes[1:] == hashes[:-1]
    return int(np.count_nonzero(np.append(same, False) | np.append(False, same)))
