"""Which column of each file holds the ids, as `--id` says it where all parties' files are on this machine."""

import re
from collections.abc import Collection, Mapping, Sequence

from plumbob.errors import DataError

NAMED_LIKE_AN_ID = re.compile(
    r"(?i:(^|[_\W])(id|key|uuid|guid|nr|no|number)$|^(client|customer|patient|person|member|user|account|case)$)"
    r"|[a-z](ID|Id)$"
)


IdColumns = str | Mapping[str, str] | None
"""The column with the ids: one name for every party's file, or each party's own; None where nobody said anything, which
is enough for one table only."""


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


def id_columns(words: Sequence[str] | None) -> IdColumns:
    """The id columns from `--id`: one name for every file, or one for each party; None where nothing was said."""
    if not words:
        return None
    if not any("=" in word for word in words):
        # As with any flag that is given twice, the last one counts.
        return words[-1]
    columns: dict[str, str] = {}
    for word in words:
        party, _, column = word.partition("=")
        if not party or not column:
            raise DataError(f"--id {word}: expected one COLUMN for all files, or PARTY=COLUMN for each party")
        if party in columns:
            raise DataError(f"--id {word}: a second id column for {party}; expected one")
        columns[party] = column
    return columns
