"""The user's own tables: kept in a folder of this lab until it closes, and read as the command line reads them.

Nothing of a table but names of columns and counts reaches the page. What is wrong with one is said in the words that
`plumbob audit` would use.
"""

import shutil
import tempfile
import threading
from collections.abc import AsyncIterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from plumbob import counting
from plumbob.errors import DataError, PlumbobError
from plumbob.plan import Party, Plan
from plumbob.plan.encodings import suggested_keys, why_encoded_so

if TYPE_CHECKING:
    from plumbob.data import ColumnChoices, Table
    from plumbob.data.ids import IdColumns

OWN = "own"
"""The word in the page's draft in place of a data set's name."""
LARGEST_FILE = 256 * 2**20
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet", ".pq")
MOST_PARTIES = 8
LONGEST_NAME = 120
REMEMBERED = 4
"""How many readings are kept, so that a slider of the plan does not read a file again."""
CHOOSE_ID = "choose what identifies a row, or that rows are paired by their place in the files"
PAIRED_BY_PLACE = "rows are paired by their place in the files, which must be in the same order"
ENCODING = ("missing", "categorical", "bins", "plain", "rare")
"""The keys of a plan that decide how many columns a table gives."""
WITH_THE_RULE = ("rare", "test_share", "noise", "scale")
"""The keys that the public rule takes as they are."""


class TableReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The page's choices on how tables are read; empty where it makes none."""

    ids: tuple[tuple[str, ...], ...] = ()
    """The columns that identify a row, by the place of their party, each party's in the same order."""
    by_place: bool = False
    """Whether rows are paired by their place in the files; without it, and without ids, nothing is read."""
    by_rule: bool = True
    """Whether the public rule chooses the encoding by the tables' sizes; the plan's own keys then do not count."""
    label: str = ""
    positive: str = ""
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    """The columns that are text, as in `--category`."""
    gaps: tuple[str, ...] = ()
    duplicates: str = "refuse"
    """As `--duplicates` has it, at every party."""
    unlabelled: str = "refuse"

    def id_columns(self, names: Sequence[str]) -> "IdColumns":
        """The id columns of these parties, as in `--id` and `--by-place`."""
        from plumbob.data.ids import BY_PLACE

        if self.by_place:
            return BY_PLACE
        return {name: ",".join(columns) for name, columns in zip(names, self.ids, strict=False)} or None

    @property
    def choices(self) -> "ColumnChoices":
        from plumbob.data import ColumnChoices

        return ColumnChoices(
            drop=self.drop,
            category=self.category,
            gaps=self.gaps,
            positive=self.positive or None,
            duplicates=self.duplicates,
            unlabelled=self.unlabelled,
        )


@dataclass(frozen=True)
class TablesRead:
    """What the tables give under a plan's encoding, as far as they could be read, and why no further."""

    widths: tuple[int, ...] = ()
    rows: int = 0
    keys: dict[str, Any] = field(default_factory=dict)
    """The plan's keys that the public rule chose for the encoding; empty where it was not asked."""
    drafted: str = ""
    """The reason of the rule's choice, in words."""
    remark: str = ""
    """A remark on rows that were left out, or on how they were paired without an id."""
    summaries: tuple[dict[str, Any], ...] = ()
    mistake: str = ""


@dataclass
class OwnTables:
    """The parties' files by place: 0 is the label party's."""

    files: dict[int, Path] = field(default_factory=dict)
    _folder: Path | None = None
    _kept: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _read: dict[str, TablesRead] = field(default_factory=dict)

    async def keep(self, place: int, name: str, content: AsyncIterable[bytes]) -> None:
        """Keep one party's file in place of the one before. DataError where it cannot be a table."""
        if not 0 <= place < MOST_PARTIES:
            raise DataError(f"expected a party from 0 to {MOST_PARTIES - 1}")
        self._kept += 1
        target = self._home() / str(self._kept) / _plain_name(name)
        target.parent.mkdir()
        size = 0
        with target.open("wb") as file:
            async for piece in content:
                size += len(piece)
                if size > LARGEST_FILE:
                    break
                file.write(piece)
        try:
            self._refuse_unreadable(target, size)
        except DataError:
            shutil.rmtree(target.parent)
            raise
        # The one before stays on the disk until the lab closes: a run may be reading it.
        self.files[place] = target

    def listed(self) -> list[dict[str, Any]]:
        """The files that are here, with their columns' names; nothing that is in them."""
        return [
            {"place": place, "name": file.name, "size": file.stat().st_size, "columns": self._columns(file)}
            for place, file in sorted(self.files.items())
        ]

    def given(self, names: Sequence[str]) -> list[str]:
        """PARTY=FILE for each party, as the command line has it."""
        return [f"{name}={self.files[place]}" for place, name in enumerate(names)]

    def read(self, names: Sequence[str], reading: TableReading, keys: Mapping[str, Any]) -> TablesRead:
        """What the tables give under these keys of a plan; a mistake is part of the answer."""
        heard = {name: keys[name] for name in (WITH_THE_RULE if reading.by_rule else ENCODING) if name in keys}
        asked = repr((names, sorted(self.files.items()), reading, heard))
        # One at a time: a second question while a large file is read waits for the same answer.
        with self._lock:
            if asked not in self._read:
                self._read[asked] = self._answer(names, reading, heard)
                for old in list(self._read)[:-REMEMBERED]:
                    del self._read[old]
            return self._read[asked]

    def close(self) -> None:
        """Delete all copies of tables from the disk."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _answer(self, names: Sequence[str], reading: TableReading, keys: Mapping[str, Any]) -> TablesRead:
        if absent := [name for place, name in enumerate(names) if place not in self.files]:
            return TablesRead(mistake=f"{', '.join(absent)}: choose a table (a CSV or Parquet file)")
        if not reading.label:
            return TablesRead(mistake=f"{names[0]}: choose the column that holds the label")
        if not reading.by_place and (mistake := _unidentified(names, reading.ids)):
            return TablesRead(mistake=mistake)
        try:
            with self._without_folder():
                return self._count(names, reading, keys)
        except PlumbobError as error:
            return TablesRead(mistake=str(error))

    def _count(self, names: Sequence[str], reading: TableReading, keys: Mapping[str, Any]) -> TablesRead:
        """Count rows and columns; imported late, so that a lab without tables starts without pyarrow."""
        from plumbob.lab.simulate import files

        named = {name: self.files[place] for place, name in enumerate(names)}
        ids = reading.id_columns(names)
        tables = files.read_training_files(_plan(names, {}), named, ids, reading.label or None, reading.choices)
        by_rule, drafted = _drafted(tables, keys, files.common_count(tables, ids)) if reading.by_rule else ({}, "")
        plan = _plan(names, {**keys, **by_rule})
        summaries = tuple(_summary(table, plan) for table in tables.values())
        try:
            common = files.common_rows(plan, tables, ids)
            widths = files.widths_of(plan, common)
            files.refuse_unfit(plan.replace(features=tuple(widths.values())), common, ids)
        except PlumbobError as error:
            return TablesRead(summaries=summaries, mistake=str(error))
        loaded = files.LoadedTables("files", common, rows_read={name: len(table) for name, table in tables.items()})
        rows = len(common[plan.label_party.name])
        pairing = PAIRED_BY_PLACE if reading.by_place else loaded.left_out
        remark = "; ".join(filter(None, [*files.remarks_on(tables), pairing]))
        return TablesRead(tuple(widths.values()), rows, by_rule, drafted, remark, summaries)

    def _columns(self, file: Path) -> list[str]:
        from plumbob.data import column_names

        with self._without_folder():
            return list(column_names(file))

    def _refuse_unreadable(self, file: Path, size: int) -> None:
        if size > LARGEST_FILE:
            raise DataError(
                f"{file.name}: expected at most {counting.size(LARGEST_FILE)} on this page, got more; use"
                " `plumbob audit` on the command line"
            )
        if not file.name.lower().endswith(ENDINGS):
            raise DataError(f"{file.name}: expected a name that ends in .csv, .csv.gz or .parquet")
        self._columns(file)

    def _home(self) -> Path:
        """The folder of uploaded tables, readable by its owner alone."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="plumbob-lab-"))
        return self._folder

    @contextmanager
    def _without_folder(self) -> Iterator[None]:
        """Make a complaint name the user's file, not this lab's copy of it."""
        try:
            yield
        except DataError as error:
            words = str(error)
            for file in self._home().glob("*/*"):
                words = words.replace(str(file), file.name)
            raise DataError(words) from None


def _unidentified(names: Sequence[str], ids: Sequence[Sequence[str]]) -> str:
    """What is missing before rows can be paired by their ids; empty where nothing is."""
    counts = [len(ids[place]) if place < len(ids) else 0 for place in range(len(names))]
    if not any(counts):
        return CHOOSE_ID
    if absent := [name for name, count in zip(names, counts, strict=True) if not count]:
        return f"{', '.join(absent)}: choose the column that identifies a row"
    if len(set(counts)) > 1:
        told = ", ".join(f"{name} {count}" for name, count in zip(names, counts, strict=True))
        return f"expected as many id columns at each party, in the same order; got {told}"
    return ""


def _plan(names: Sequence[str], keys: Mapping[str, Any]) -> Plan:
    """A plan with these parties and this encoding, which only says how columns become numbers."""
    first, *others = names
    parties = (Party(first, "label", 1), *(Party(name, "features", 1) for name in others))
    return Plan(parties, protocol="clear", **{name: value for name, value in keys.items() if name in ENCODING})


def _drafted(tables: Mapping[str, "Table"], keys: Mapping[str, Any], rows: int) -> tuple[dict[str, Any], str]:
    """The encoding by the public rule, as keys of the plan, and why."""
    from plumbob.data.summary import sizes_of

    suggested, rule = suggested_keys(keys, sizes_of(tables.values(), keys), rows)
    by_rule = {name: value for name, value in suggested.items() if name not in WITH_THE_RULE}
    return by_rule, why_encoded_so(rule, keys)


def _summary(table: "Table", plan: Plan) -> dict[str, Any]:
    from plumbob.data.encoder import choices_of
    from plumbob.data.summary import summarise

    return summarise(table, choices_of(plan)).to_dict()


def _plain_name(name: str) -> str:
    """The file's own name, whose ending tells its kind; it never leads to another folder."""
    plain = "".join(letter for letter in name.replace("\\", "/").rpartition("/")[2] if letter.isprintable())
    if not plain.strip(". ") or len(plain) > LONGEST_NAME:
        raise DataError(f"expected a file's name of 1 to {LONGEST_NAME} letters")
    return plain
