"""One public rule for how ids are written, so that two files that mean the same person say the same text.

Unicode NFC, blanks around it stripped; nothing else. Upper and lower case, leading zeros and punctuation count: whether
"007" is "7" only the parties can know, and they must settle it before.
"""

from collections.abc import Iterable, Sequence
from unicodedata import normalize

from plumbob.errors import DataError

SHOWN_ROWS = 5


def canonical(identity: str) -> str:
    """The rule itself."""
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
