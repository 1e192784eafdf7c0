"""Loads aligned tables from what the command line names: a known data set, or one file per party.

Whatever would stop a run later for the data's sake stops it here, with the party's name, before a key is made.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from plumbob.counting import counted
from plumbob.data import ColumnChoices, Table, read_table, steps_per_epoch, store
from plumbob.data.encoder import Encoder, RareRows, choices_of, encoded_width, fit_encoder, with_columns
from plumbob.data.frames import NO_ROWS
from plumbob.data.ids import USUAL_OVERLAP, ids_in_words
from plumbob.data.same_rows import align, remarks_on_ids
from plumbob.data.summary import TableSummary, sizes_of, summarise
from plumbob.data.table_files import column_names
from plumbob.data.tables import Column
from plumbob.errors import DataError
from plumbob.lab import datasets
from plumbob.lab.simulate.id_columns import IdColumns, id_column_of, is_named_like_an_id, refuse_other_parties
from plumbob.lab.simulate.training import JointModel
from plumbob.plan import Plan, suggestion
from plumbob.plan.encodings import DraftedEncoding, suggested_keys

FEWEST_ROWS = 10
SHOWN_COLUMNS = 6
SHOWN_IDS = 3


@dataclass(frozen=True, repr=False, eq=False)
class LoadedTables:
    """Aligned tables, one per party; `test` holds the rows that the data set itself keeps for testing, if any."""

    source: str
    tables: dict[str, Table]
    test: dict[str, Table] = field(default_factory=dict)
    rows_read: dict[str, int] = field(default_factory=dict)
    """How many rows each party's file has; the tables hold those that all of them have."""
    unseen: dict[str, dict[str, int]] = field(default_factory=dict)
    """Levels and gaps in rows to predict that training never saw, by party and column."""
    rare: dict[str, dict[str, RareRows]] = field(default_factory=dict)
    """Levels in rows to predict that count as rare, by party and column."""
    id_columns: IdColumns = None
    """How the rows of files were paired; None for a data set, whose rows were never separate."""
    remarks: tuple[str, ...] = ()
    """Remarks on the ids of each party's file."""
    drafted: str = ""
    """Why the plan is encoded as it is, where it was drafted from these tables."""

    def summary_lines(self, plan: Plan) -> list[str]:
        """Lines on each column of each party's file: its kind, its lowest and its highest value; only for files."""
        if not self.rows_read:
            return []
        found = self._summaries(plan)
        return [line for name, summary in found.items() for line in (f"{name}:", *summary.lines())]

    def says_the_label(self, plan: Plan) -> list[str]:
        """A line for each column that tells the label of every row: a model of it is perfect, and good for nothing."""
        found = self._summaries(plan) if self.rows_read else {}
        return [
            f"{name}: column {column.name!r} {column.remark}"
            for name, summary in found.items()
            for column in summary.columns
            if column.says_the_label
        ]

    def _summaries(self, plan: Plan) -> dict[str, TableSummary]:
        return {name: summarise(table, choices_of(plan), has_ends=True) for name, table in self.tables.items()}

    @property
    def has_ids(self) -> bool:
        """Whether rows have their own ids, and are not identified only by their place."""
        return self.id_columns is not None

    @property
    def left_out(self) -> str:
        """A sentence on rows of some party that were left out; empty where none were."""
        common = min(map(len, self.tables.values()))
        if all(rows == common for rows in self.rows_read.values()):
            return ""
        return f"{common} rows in common ({_enumerate_sizes(self.rows_read)}); the others are left out"


def load_tables(
    plan: Plan,
    given: Sequence[str],
    id_columns: IdColumns = None,
    label_column: str | None = None,
    data_dir: Path | None = None,
    reading: ColumnChoices = ColumnChoices(),  # noqa: B008  # Frozen.
    test_files: Sequence[str] = (),
) -> LoadedTables:
    """Load training data: a known data set by name, whose columns the plan splits, or PARTY=FILE for each party.

    `test_files` hold the rows that the model is judged on, PARTY=FILE for each party, where there are such files.
    """
    if (name := _dataset_name(given)) is not None:
        if reading != ColumnChoices():
            raise DataError(
                f"--data {name}: a bundled data set is taken as it is; flags about columns and rows (--drop, "
                "--weight, ...) need files, as --data PARTY=FILE"
            )
        training, test = (split_dataset(plan, name, part, data_dir) for part in ("train", "test"))
        loaded = LoadedTables(name, training, test)
    else:
        loaded = _load_files(plan, _files(plan, given), id_columns, label_column, reading, test_files)
    refuse_unfit(plan, loaded.tables)
    return loaded


def remarks_on(read: Mapping[str, Table]) -> tuple[str, ...]:
    """What is to be said of the ids in each party's file, and of rows that were left out because of them."""
    return tuple(f"{party}: {remark}" for party, table in read.items() for remark in remarks_on_ids(table))


def _remarks_on_few(read: Mapping[str, Table], common: int) -> Iterator[str]:
    """How each file's ids are written, where few rows are in common."""
    if common >= USUAL_OVERLAP * min(map(len, read.values())):
        return
    for party, table in read.items():
        yield f"{party}: {ids_in_words(table.ids)}"
    yield f"only {counted(common, 'row')} in common: are the ids written in one way in all files?"


def _load_files(
    plan: Plan,
    files: Mapping[str, Path],
    id_columns: IdColumns,
    label_column: str | None,
    reading: ColumnChoices,
    test_files: Sequence[str],
) -> LoadedTables:
    """Load one file for each party, and one with test rows for each, if there are such files."""
    read = read_training_files(plan, files, id_columns, label_column, reading)
    aligned, sizes = common_rows(plan, read), _sizes(read)
    _refuse_few_rows(aligned, sizes)
    remarks = (*remarks_on(read), *_remarks_on_few(read, len(aligned[plan.label_party.name])))
    test: dict[str, Table] = {}
    if test_files:
        new = read_training_files(plan, _files(plan, test_files), id_columns, label_column, reading)
        test = _align(new)
        _refuse_other_classes(plan, aligned, test)
    return LoadedTables("files", aligned, test, sizes, id_columns=id_columns, remarks=remarks)


def drafted_plan(
    names: Sequence[str],
    keys: Mapping[str, Any],
    given: Sequence[str],
    id_columns: IdColumns,
    label_column: str | None,
    reading: ColumnChoices,
    test_files: Sequence[str],
) -> tuple[Plan, DraftedEncoding | None]:
    """A plan that fits these files, the label party's first; and why it is encoded so, where the rule chose that."""
    blank = Plan.for_columns([1] * len(names)).with_names(names)
    tables = read_training_files(blank, _files(blank, given), id_columns, label_column, reading)
    rows = common_count(tables)
    if test_files:
        keys = {"test_share": 0.0, **keys}
    return draft_for(tables, keys, rows)


def draft_for(
    tables: Mapping[str, Table], keys: Mapping[str, Any], rows: int | None = None
) -> tuple[Plan, DraftedEncoding | None]:
    """A plan that fits these tables, whose common rows may not be known yet, and why it is encoded so."""
    if any(table.weights is not None for table in tables.values()):
        keys = {"row_weights": True, **keys}
    chosen, drafted = suggested_keys(keys, sizes_of(tables.values(), keys), rows)
    plan = Plan.for_columns([1] * len(tables), **chosen).with_names(list(tables))
    return plan.replace(features=list(widths_of(plan, tables).values())), drafted


def common_count(tables: Mapping[str, Table]) -> int:
    """How many rows all parties have."""
    first, *others = (table.ids for table in tables.values())
    return len(set(first).intersection(*others))


def widths_of(plan: Plan, tables: Mapping[str, Table]) -> dict[str, int]:
    """How many columns each party's table gives after encoding."""
    widths = {}
    for party, table in tables.items():
        with _naming_party(party):
            widths[party] = encoded_width(table, plan)
            if not widths[party] and plan.party(party).role != "label":
                _refuse_nothing_to_learn_from(table)
    return widths


def _refuse_nothing_to_learn_from(table: Table) -> None:
    """Refuse a table without columns, except the label party's."""
    names = [repr(column.name) for column in table.columns]
    if not names:
        raise DataError("its file has no column to learn from beside the id; expected one at least")
    found = f"column {names[0]} has" if len(names) == 1 else f"each of its {len(names)} columns has"
    raise DataError(f"{found} the same value in every row, so there is nothing to learn from; add a column that varies")


def _refuse_few_rows(aligned: Mapping[str, Table], sizes: Mapping[str, int]) -> None:
    """Refuse too few rows to learn from: most likely the ids do not mean the same thing."""
    rows = min(map(len, aligned.values()))
    if rows < FEWEST_ROWS:
        raise DataError(
            f"only {counted(rows, 'row')} in common ({_enumerate_sizes(sizes)}), and training needs {FEWEST_ROWS} at"
            " least; do the id columns hold the same ids, written alike?"
        )


def _refuse_other_classes(plan: Plan, training: Mapping[str, Table], test: Mapping[str, Table]) -> None:
    name = plan.label_party.name
    if training[name].classes != test[name].classes:
        raise DataError(f"{name}: the test file's two classes are not those of the training file; correct its labels")


def load_new_rows(
    model: JointModel,
    given: Sequence[str],
    id_columns: IdColumns = None,
    data_dir: Path | None = None,
    gaps: Sequence[str] = (),
    is_strict: bool = False,
) -> LoadedTables:
    """Load rows to predict: a known data set's test part, or PARTY=FILE, of which only the model's columns are read."""
    if (name := _dataset_name(given)) is not None:
        return LoadedTables(name, split_dataset(model.plan, name, "test", data_dir))
    tables = {}
    files = _files(model.plan, given)
    _refuse_unpaired(files, id_columns)
    for party, file in files.items():
        with _naming_party(party):
            reading = model.parts[party].encoder.reading
            tables[party] = read_table(
                file, id_column_of(id_columns, party), choices=replace(reading, gaps=(*reading.gaps, *gaps))
            )
            _refuse_no_rows(tables[party])
    aligned = _align(tables)
    for party, table in aligned.items():
        with _naming_party(party):
            if is_strict:
                model.parts[party].encoder.refuse_unseen(table)
            _refuse_cells(table, model.parts[party].encoder)
    unseen = {party: model.parts[party].encoder.unseen(table) for party, table in aligned.items()}
    rare = {party: model.parts[party].encoder.counted_as_rare(table) for party, table in aligned.items()}
    return LoadedTables("files", aligned, rows_read=_sizes(tables), unseen=unseen, rare=rare, id_columns=id_columns)


def split_dataset(plan: Plan, name: str, part: str = "train", data_dir: Path | None = None) -> dict[str, Table]:
    """A known data set's columns, counted from the left, label party first."""
    data = datasets.describe(name, part, data_dir)
    if data.X.shape[1] != plan.columns:
        counts = " + ".join(str(party.features) for party in plan.learners)
        raise DataError(f"{name} has {data.X.shape[1]} columns, the plan's parties have {counts}; correct --features")
    ids = tuple(str(row) for row in range(len(data.y)))
    columns = tuple(Column(title, values) for title, values in zip(data.columns, data.X.T, strict=True))
    tables = {}
    for party, end in zip(plan.learners, accumulate(party.features for party in plan.learners), strict=True):
        own = columns[end - party.features : end]
        is_label_party = party.role == "label"
        tables[party.name] = Table(ids, own, data.y, (0, 1)) if is_label_party else Table(ids, own)
    return tables


def _dataset_name(given: Sequence[str]) -> str | None:
    """The name of a data set, if one word without `=` was given."""
    if not given:
        raise DataError(f"no data: give --data with PARTY=FILE for each party or one of {', '.join(datasets.names())}")
    if "=" in "".join(given):
        return None
    if len(given) > 1:
        raise DataError(f"expected one data set or PARTY=FILE for each party, got {len(given)} words without =")
    return given[0]


def _files(plan: Plan, given: Sequence[str]) -> dict[str, Path]:
    """The PARTY=FILE of every party that holds columns, once each."""
    expected = [party.name for party in plan.learners]
    files = files_by_party(given)
    if strange := [party for party in files if party not in expected]:
        raise DataError(
            f"--data {strange[0]}={files[strange[0]]}: the plan has no party {strange[0]!r} with columns, only"
            f" {', '.join(expected)}"
        )
    if absent := [name for name in expected if name not in files]:
        raise DataError(f"no file for {', '.join(absent)}; add --data {absent[0]}=FILE")
    return {name: files[name] for name in expected}


def files_by_party(given: Sequence[str]) -> dict[str, Path]:
    """The PARTY=FILE of each party, once each."""
    files: dict[str, Path] = {}
    for word in given:
        party, separator, file = word.partition("=")
        if not separator or not file:
            raise DataError(f"--data {word}: expected PARTY=FILE, for each party")
        if party in files:
            raise DataError(
                f"--data {word}: a second file for {party}, expected one for each party; if {file} is a column, repeat"
                f" the flag that it belongs to, such as --id {word}"
            )
        files[party] = Path(file)
    return files


def read_training_files(
    plan: Plan, files: Mapping[str, Path], id_columns: IdColumns, label_column: str | None, reading: ColumnChoices
) -> dict[str, Table]:
    """Every party's table as it is in its file; only the label party's has the label."""
    if label_column is None:
        raise DataError(f"name the column that holds the label in {plan.label_party.name}'s file: --label COLUMN")
    _refuse_unpaired(files, id_columns, label_column)
    known = {}
    for party, file in files.items():
        with _naming_party(party):
            known[party] = column_names(file)
    _refuse_unknown(reading, {name for names in known.values() for name in names})
    tables = {}
    for party, file in files.items():
        own = reading.about(known[party])
        with _naming_party(party):
            if plan.party(party).role == "label":
                tables[party] = read_table(file, id_column_of(id_columns, party), label_column, choices=own)
            else:
                tables[party] = read_table(file, id_column_of(id_columns, party), choices=replace(own, positive=None))
                _refuse_label_column(tables[party], label_column)
            _refuse_no_rows(tables[party])
    return tables


def _refuse_unpaired(files: Mapping[str, Path], id_columns: IdColumns, label_column: str | None = None) -> None:
    """Refuse files without a word on how rows are paired: equal lengths say nothing about it."""
    refuse_other_parties(id_columns, files)
    if id_columns is not None:
        return
    raise DataError(
        f"which rows of {' and '.join(files)} belong together? name the column that identifies a row: --id COLUMN"
        f"{_suggested_ids(files, label_column)}"
    )


def _suggested_ids(files: Mapping[str, Path], label_column: str | None) -> str:
    """A suggestion of columns named like an id: of one name in all files, or each file's only one."""
    likely = {}
    for party, file in files.items():
        with _naming_party(party):
            likely[party] = [name for name in column_names(file) if is_named_like_an_id(name) and name != label_column]
    first, *others = likely.values()
    if common := [name for name in first if all(name in names for names in others)]:
        likely_flags = [f"--id {shlex.quote(name)}" for name in common[:SHOWN_IDS]]
        return f" ({' or '.join(likely_flags)} could be meant)"
    if any(len(names) != 1 for names in likely.values()):
        return ", or --id PARTY=COLUMN for each file"
    words = shlex.join(word for party, (name,) in likely.items() for word in ("--id", f"{party}={name}"))
    return f" ({words} could be meant)"


def _refuse_unknown(reading: ColumnChoices, known: Collection[str]) -> None:
    wanted = [*(reading.columns or ()), *reading.drop, *reading.category]
    if absent := [name for name in wanted if name not in known]:
        close = suggestion(absent[0], sorted(known))
        raise DataError(f"no column {', '.join(map(repr, absent))} in any party's file{close}")


def _refuse_no_rows(table: Table) -> None:
    if not len(table):
        raise DataError(NO_ROWS)


def _refuse_label_column(table: Table, label_column: str) -> None:
    """Refuse a label that travels as a feature: it would make every number about the model meaningless."""
    if any(column.name == label_column for column in table.columns):
        raise DataError(f"its file has the label's column {label_column!r} too; only the label party may hold it")


def common_rows(plan: Plan, read: Mapping[str, Table]) -> dict[str, Table]:
    """The rows that all parties have, in one order."""
    # Shapes are those of the whole files, as between organisations, whose common rows are not known yet.
    fitted = {}
    for party, table in read.items():
        with _naming_party(party):
            fitted[party] = with_columns(table, plan)
    return _align(fitted)


def _align(tables: Mapping[str, Table]) -> dict[str, Table]:
    return dict(zip(tables, align(list(tables.values())), strict=True))


def _sizes(tables: Mapping[str, Table]) -> dict[str, int]:
    return {name: len(table) for name, table in tables.items()}


def _enumerate_sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in sizes.items())


def refuse_unfit(plan: Plan, tables: Mapping[str, Table]) -> None:
    """Refuse tables whose columns are not as the plan wants them, or with too few rows for one batch."""
    for name, table in tables.items():
        with _naming_party(name):
            encoder = fit_encoder(table, plan)
            _refuse_cells(table, encoder)
            _refuse_other_width(plan, name, table, len(encoder.names))
    rows = len(tables[plan.label_party.name])
    if plan.rows and plan.rows != rows:
        raise DataError(f"the plan says {plan.rows} aligned rows, the data have {rows}; set rows to 0 if not yet known")
    steps_per_epoch(rows - plan.held_out(rows), plan)


def _refuse_cells(table: Table, encoder: Encoder) -> None:
    """Refuse cells that the encoder would refuse later, where nobody says any more whose table it is."""
    for piece in store.pieces(len(table)):
        encoder.encode(table, piece)


def _refuse_other_width(plan: Plan, party: str, table: Table, width: int) -> None:
    """Refuse another width than the plan's, with the columns that were counted and a likely mistake."""
    features = plan.party(party).features
    if width == features:
        return
    # Of a text only the column's own name: the encoded ones hold its values.
    names = [repr(column.name) for column in table.columns]
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    after = " after encoding" if width != len(names) else ""
    raise DataError(
        f"the plan says {features} columns, its data give {width}{after}"
        f" ({', '.join(names[:SHOWN_COLUMNS]) or 'none'}{more}); the columns of --id and --label do not count;"
        " correct these or the plan's features"
    )


@contextmanager
def _naming_party(party: str) -> Iterator[None]:
    """Begin a complaint about a table with whose it is."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{party}: {error}") from error.__cause__
