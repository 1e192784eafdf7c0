"""One public rule for how ids are written, so that two files that mean the same person say the same text.

Unicode NFC, blanks around it stripped; nothing else. Upper and lower case, leading zeros and punctuation count: whether
"007" is "7" only the parties can know, and they must settle it before.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from unicodedata import normalize

from plumbob.errors import DataError

SHOWN_ROWS = 5
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
    """In this party's file."""
    if isinstance(columns, Mapping):
        return columns.get(party)
    return columns if isinstance(columns, str) else None


def refuse_other_parties(columns: IdColumns, parties: Collection[str]) -> None:
    """Where each party's id column is named, every party has one and nobody else does."""
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
    """An id as it is compared with other parties' ids."""
    return normalize("NFC", identity).strip()


def canonical_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """All ids by the rule; refused, with the rows and never with the ids, where one is empty, repeated or no text."""
    ruled = tuple(map(canonical, ids))
    distinct = set(ruled)
    if len(distinct) != len(ruled) or "" in distinct or not _is_text("".join(ruled)):
        _refuse(ruled, [row for row, identity in enumerate(ruled) if not identity], "have an empty id")
        _refuse(ruled, _repeated_rows(ruled), "repeat the id of an earlier row, blanks around it aside")
        _refuse(ruled, [row for row, identity in enumerate(ruled) if not _is_text(identity)], "have an id of no text")
    return ruled


def _repeated_rows(ids: Sequence[str]) -> list[int]:
    first: dict[str, int] = {}
    return [row for row, identity in enumerate(ids) if first.setdefault(identity, row) != row]


def _is_text(identity: str) -> bool:
    """Half of a surrogate pair is none: it has no bytes."""
    try:
        identity.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(ids: Sequence[str], rows: Sequence[int], what: str) -> None:
    if rows:
        shown = ", ".join(str(row + 1) for row in rows[:SHOWN_ROWS]) + (", ..." if len(rows) > SHOWN_ROWS else "")
        raise DataError(f"{len(rows)} of {len(ids)} rows {what} (rows {shown}); repair the file and align again")
