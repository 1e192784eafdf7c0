"""One public rule for how ids are written, so that two files that mean the same person say the same text.

Unicode NFC, blanks around it stripped; nothing else. Upper and lower case, leading zeros and punctuation count: whether
"007" is "7" only the parties can know, and they must settle it before.

Where an id is on several rows, each row after the first carries its number behind a sign that no id may hold.
"""

import hashlib
import operator
import re
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from unicodedata import is_normalized, normalize

import numpy as np
from numpy.typing import NDArray

from plumbob.counting import counted
from plumbob.errors import DataError

SHOWN_ROWS = 5
NUMBER_OF_COLUMNS, LENGTH = struct.Struct("<H"), struct.Struct("<I")
BEFORE_TEXT = NUMBER_OF_COLUMNS.size + LENGTH.size
IDS_AT_ONCE = 1 << 16
BEFORE_NUMBER = "\N{SYMBOL FOR RECORD SEPARATOR}"
DUPLICATES = ("refuse", "first", "last", "repeat")
"""What becomes of an id that is on several rows: refused, one row of it, or all of them."""
TEXT = "text"
NAMED_LIKE_AN_ID = re.compile(
    r"(?i:(^|[_\W])(id|key|uuid|guid|nr|no|number)$|^(client|customer|patient|person|member|user|account|case)$)"
    r"|[a-z](ID|Id)$"
)


class Pairing(Enum):
    """How rows of several files are paired where no column says it."""

    BY_PLACE = "by place"


BY_PLACE = Pairing.BY_PLACE
IdColumns = str | Mapping[str, str] | Pairing | None
"""The column with the ids: one name for every party's file, or each party's own; BY_PLACE where somebody chose to pair
rows by their place in the files; None where nobody said anything, which is enough for one table only."""


def id_column_of(columns: IdColumns, party: str) -> str | None:
    """The name of the id column in this party's file."""
    if isinstance(columns, Mapping):
        return columns.get(party)
    return columns if isinstance(columns, str) else None


def refuse_other_parties(columns: IdColumns, parties: Collection[str]) -> None:
    """Refuse id columns by party unless exactly the parties are named."""
    if not isinstance(columns, Mapping):
        return
    if strangers := [party for party in columns if party not in parties]:
        named = f"--id {strangers[0]}={columns[strangers[0]]}"
        raise DataError(f"{named}: no party {strangers[0]!r} has a file here, only {', '.join(parties)}")
    if absent := [party for party in parties if party not in columns]:
        raise DataError(f"no id column for {', '.join(absent)}; add --id {absent[0]}=COLUMN")


def is_named_like_an_id(name: str) -> bool:
    """Whether a column's name says that it identifies rows, or whom a row is about."""
    return NAMED_LIKE_AN_ID.search(name) is not None


def canonical(identity: str) -> str:
    """An id in the form in which it is compared with other parties' ids."""
    return normalize("NFC", identity).strip()


def canonical_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """All ids by the rule; empty, repeated or unreadable ones are refused by their rows and never shown."""
    ids = tuple(ids)
    ruled = tuple(chain.from_iterable(map(_canonical_piece, in_pieces(ids))))
    if have_repeats(ruled) or not all(map(_are_whole, in_pieces(ruled))):
        _refuse(ruled, [row for row, identity in enumerate(ruled) if not identity], "have an empty id")
        _refuse(ruled, repeated_rows(ruled), "repeat the id of an earlier row, blanks around it aside", DUPLICATES_HINT)
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


DUPLICATES_HINT = "repair the file, or say with --duplicates first, last or repeat which rows count"


def _refuse(ids: Sequence[str], rows: Sequence[int], what: str, hint: str = "repair the file and align again") -> None:
    if rows:
        shown = ", ".join(str(row + 1) for row in rows[:SHOWN_ROWS]) + (", ..." if len(rows) > SHOWN_ROWS else "")
        raise DataError(f"{len(rows)} of {len(ids)} rows {what} (rows {shown}); {hint}")


# Ids as they are hashed: how many columns each has, which is one, its length and its text.


class PackedIds:
    """Many ids in one buffer: millions of Python strings would take four times the memory."""

    rows: NDArray[np.uint32] | None = None
    """How many rows each id is on, where several may have the same."""

    @classmethod
    def of(cls, ids: Iterable[str], repeat: bool = False) -> "PackedIds":
        """Pack ids by the rule; with `repeat`, rows may share one. DataError as from `canonical_ids`."""
        ruled = canonical_ids(ids)
        if not ruled:
            raise DataError("expected at least one id to align, got none")
        if not repeat:
            return cls(ruled)
        counts = rows_per_id(ruled)
        packed = cls(tuple(counts))
        packed.rows = np.fromiter(counts.values(), dtype=np.uint32, count=len(counts))
        return packed

    def __init__(self, ids: Sequence[str]) -> None:
        # It grows in place: joined from pieces, there would be two of it for a while.
        self._data = bytearray()
        most = BEFORE_TEXT * len(ids) + 4 * sum(map(len, ids))
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
        spans = zip((starts + BEFORE_TEXT).tolist(), ends.tolist(), strict=True)
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


def _packed(ids: Sequence[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Some ids one after the other in one buffer, and the size of each."""
    texts = list(map(str.encode, ids))
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    ends = np.cumsum(BEFORE_TEXT + lengths)
    packed, is_text = np.empty(int(ends[-1]), dtype=np.uint8), np.ones(int(ends[-1]), dtype=np.bool_)
    heads = [
        (ends - lengths, LENGTH.size, lengths),
        (ends - lengths - LENGTH.size, NUMBER_OF_COLUMNS.size, np.array(1)),
    ]
    for stops, size, number in heads:
        for byte in range(size):
            packed[stops - size + byte] = number >> 8 * byte & 0xFF
            is_text[stops - size + byte] = False
    packed[is_text] = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return packed.tobytes(), BEFORE_TEXT + lengths


# Ids on several rows.


def one_row_each(ids: Sequence[str], which: str) -> NDArray[np.intp]:
    """The first or the last row of each id, in the order of the file."""
    rows = {identity: row for row, identity in enumerate(map(canonical, ids))}
    if which == "first":
        rows = {identity: row for row, identity in reversed(list(enumerate(map(canonical, ids))))}
    return np.array(sorted(rows.values()), dtype=np.intp)


def numbered(ids: Iterable[str]) -> tuple[str, ...]:
    """Names for rows, each different: rows after the first of an id carry their number."""
    seen: Counter[str] = Counter()
    names = []
    for identity in map(canonical, ids):
        seen[identity] += 1
        names.append(_numbered(identity, seen[identity]))
    return tuple(names)


def _numbered(identity: str, number: int) -> str:
    return identity if number == 1 else f"{identity}{BEFORE_NUMBER}{number}"


def rows_per_id(names: Iterable[str]) -> dict[str, int]:
    """The ids behind numbered rows, each once, and on how many rows each is."""
    return dict(Counter(name.partition(BEFORE_NUMBER)[0] for name in names))


def paired_rows(ids: Iterable[str], counts: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """For each id, every row of one party with every row of the others: named by the number of each party's row."""
    names = []
    for identity, *rows in zip(ids, *counts, strict=True):
        if max(rows) == 1:
            names.append(identity)
            continue
        numbers = np.ndindex(*rows)
        names += [f"{identity}{BEFORE_NUMBER}{'.'.join(str(row + 1) for row in each)}" for each in numbers]
    return tuple(names)


def own_row(name: str, place: int) -> str:
    """The numbered row of the party at this place, from the name of a pair."""
    identity, sign, numbers = name.partition(BEFORE_NUMBER)
    return _numbered(identity, int(numbers.split(".")[place])) if sign else identity


# Ids that only look alike.

LIKENESSES: Mapping[str, Callable[[str], str]] = {
    "case": str.casefold,
    "blanks": lambda identity: "".join(identity.split()),
    "leading zeros": lambda identity: re.sub(r"(?<!\d)0+(?=\d)", "", identity),
}


@dataclass(frozen=True)
class LookAlikes:
    """How many ids of a file differ from another one only in case, zeros or the like, by what that is."""

    counts: Mapping[str, int]

    def __bool__(self) -> bool:
        return any(self.counts.values())

    def __str__(self) -> str:
        kinds = [f"{counted(count, 'id')} in {kind}" for kind, count in self.counts.items() if count]
        return (
            f"ids of this file that differ only slightly from another one: {', '.join(kinds)}; they count as different"
            " people, so write ids in one way on all sides"
        )


def look_alikes(ids: Sequence[str]) -> LookAlikes:
    """Count look-alike ids before anything is sent: they are the usual reason for an empty overlap."""

    def everything(identity: str) -> str:
        for fold in LIKENESSES.values():
            identity = fold(identity)
        return identity

    if not _alike(ids, everything):
        return LookAlikes({})
    return LookAlikes({kind: _alike(ids, fold) for kind, fold in LIKENESSES.items()})


def _alike(ids: Sequence[str], fold: Callable[[str], str] | None = None) -> int:
    """How many ids are equal to another one after `fold`, by hashes alone: the texts would not fit into memory."""
    folded = ids if fold is None else chain.from_iterable(_folded(piece, fold) for piece in in_pieces(ids))
    hashes = np.fromiter(map(hash, folded), dtype=np.int64, count=len(ids))
    hashes.sort()
    same = hashes[1:] == hashes[:-1]
    return int(np.count_nonzero(np.append(same, False) | np.append(False, same)))


def _folded(ids: Sequence[str], fold: Callable[[str], str]) -> Iterable[str]:
    """Each id after `fold`: all as one long text, unless one contains the separator."""
    folded = fold("\0".join(ids)).split("\0")
    return folded if len(folded) == len(ids) else map(fold, ids)
