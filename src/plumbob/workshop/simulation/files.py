"""From what the command line names, a known data set or one file a party, to aligned tables.

Whatever would stop a run later for the data's sake stops it here, with the party's name, before a key is made.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import numpy as np

from plumbob import datasets
from plumbob.data import Column, Table, align, read_table, steps_per_epoch, store
from plumbob.data.encoder import Encoder, fit_encoder
from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.workshop.simulation.training import JointModel

SHOWN_COLUMNS = 6


@dataclass(frozen=True, repr=False, eq=False)
class LoadedTables:
    """Aligned tables, one a party; `test` holds the rows that the data set itself keeps for testing, if it does."""

    source: str
    tables: dict[str, Table]
    test: dict[str, Table] = field(default_factory=dict)
    rows_read: dict[str, int] = field(default_factory=dict)
    """How many rows each party's file has; in the tables are those that all of them have."""

    @property
    def left_out(self) -> str:
        """Whether rows of some party were left out, in words; nothing where none were."""
        common = min(map(len, self.tables.values()))
        if all(rows == common for rows in self.rows_read.values()):
            return ""
        return f"{common} rows in common ({_listed(self.rows_read)}); the others are left out"


def load_tables(
    plan: Plan,
    given: Sequence[str],
    id_column: str | None = None,
    label_column: str | None = None,
    data_dir: Path | None = None,
) -> LoadedTables:
    """Training data: the name of a known data set, whose columns the plan cuts up, or PARTY=FILE for each party."""
    if (name := _dataset_name(given)) is not None:
        training, test = (split_dataset(plan, name, part, data_dir) for part in ("train", "test"))
        loaded = LoadedTables(name, training, test)
    else:
        read = _read_training_files(plan, _files(plan, given), id_column, label_column)
        loaded = LoadedTables("files", _aligned(read, id_column), rows_read=_sizes(read))
    _refuse_unfit(plan, loaded.tables, id_column)
    return loaded


def load_new_rows(
    model: JointModel, given: Sequence[str], id_column: str | None = None, data_dir: Path | None = None
) -> LoadedTables:
    """Rows to predict: a known data set's test part, or PARTY=FILE; of a file, only the model's columns are read."""
    if (name := _dataset_name(given)) is not None:
        return LoadedTables(name, split_dataset(model.plan, name, "test", data_dir))
    tables = {}
    for party, file in _files(model.plan, given).items():
        with _said_by(party):
            columns = [source.name for source in model.parts[party].encoder.sources]
            tables[party] = read_table(file, id_column, columns=columns)
    aligned = _aligned(tables, id_column)
    for party, table in aligned.items():
        with _said_by(party):
            _refuse_cells(table, model.parts[party].encoder)
    return LoadedTables("files", aligned, rows_read=_sizes(tables))


def split_dataset(plan: Plan, name: str, part: str = "train", data_dir: Path | None = None) -> dict[str, Table]:
    """A known data set's columns, counted from the left, label party first."""
    data = datasets.describe(name, part, data_dir)
    if data.X.shape[1] != plan.columns:
        counts = " + ".join(str(party.features) for party in plan.learners)
        raise DataError(f"{name} has {data.X.shape[1]} columns, the plan's parties have {counts}; set --features")
    ids = tuple(str(row) for row in range(len(data.y)))
    columns = tuple(Column(title, values) for title, values in zip(data.columns, data.X.T, strict=True))
    tables = {}
    for party, end in zip(plan.learners, accumulate(party.features for party in plan.learners), strict=True):
        own = columns[end - party.features : end]
        is_label_party = party.role == "label"
        tables[party.name] = Table(ids, own, data.y, (0, 1)) if is_label_party else Table(ids, own)
    return tables


def _dataset_name(given: Sequence[str]) -> str | None:
    """The one word without `=`, if that is what was given."""
    if not given:
        raise DataError(f"no data: give --data with PARTY=FILE for each party or one of {', '.join(datasets.names())}")
    if "=" in "".join(given):
        return None
    if len(given) > 1:
        raise DataError(f"expected one data set or PARTY=FILE for each party, got {len(given)} words without =")
    return given[0]


def _files(plan: Plan, given: Sequence[str]) -> dict[str, Path]:
    """PARTY=FILE for every party that holds columns, once each."""
    expected = [party.name for party in plan.learners]
    files: dict[str, Path] = {}
    for word in given:
        party, separator, file = word.partition("=")
        if not separator or not file:
            raise DataError(f"--data {word}: expected PARTY=FILE, for each of {', '.join(expected)}")
        if party not in expected:
            raise DataError(f"--data {word}: the plan has no party {party!r} with columns, only {', '.join(expected)}")
        if party in files:
            raise DataError(f"--data {word}: a second file for {party}; expected one a party")
        files[party] = Path(file)
    if absent := [name for name in expected if name not in files]:
        raise DataError(f"no file for {', '.join(absent)}; add --data {absent[0]}=FILE")
    return {name: files[name] for name in expected}


def _read_training_files(
    plan: Plan, files: Mapping[str, Path], id_column: str | None, label_column: str | None
) -> dict[str, Table]:
    if label_column is None:
        raise DataError(f"name the column that holds the label in {plan.label_party.name}'s file: --label COLUMN")
    tables = {}
    for party, file in files.items():
        with _said_by(party):
            if plan.party(party).role == "label":
                tables[party] = read_table(file, id_column, label_column)
            else:
                tables[party] = read_table(file, id_column)
                _refuse_label_column(tables[party], label_column)
    return tables


def _refuse_label_column(table: Table, label_column: str) -> None:
    """A label that travels as a feature would make every number about the model meaningless."""
    if any(column.name == label_column for column in table.columns):
        raise DataError(f"its file has the label's column {label_column!r} too; only the label party may hold it")


def _aligned(tables: Mapping[str, Table], id_column: str | None) -> dict[str, Table]:
    sizes = _sizes(tables)
    if id_column is None and len(set(sizes.values())) > 1:
        raise DataError(
            f"without --id rows are matched by their place, and the files differ in length: {_listed(sizes)} rows"
        )
    if id_column is None:
        return dict(tables)
    return dict(zip(tables, align(list(tables.values())), strict=True))


def _sizes(tables: Mapping[str, Table]) -> dict[str, int]:
    return {name: len(table) for name, table in tables.items()}


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in sizes.items())


def _refuse_unfit(plan: Plan, tables: Mapping[str, Table], id_column: str | None) -> None:
    """Every party's columns as the plan wants them, and enough rows for one batch."""
    for name, table in tables.items():
        with _said_by(name):
            encoder = fit_encoder(table, np.arange(len(table)), plan)
            _refuse_cells(table, encoder)
            _refuse_other_width(plan, name, table, len(encoder.names), id_column)
    rows = len(tables[plan.label_party.name])
    if plan.rows and plan.rows != rows:
        raise DataError(f"the plan says {plan.rows} aligned rows, the data have {rows}; set rows to 0 if not yet known")
    steps_per_epoch(rows - plan.held_out(rows), plan)


def _refuse_cells(table: Table, encoder: Encoder) -> None:
    """What the encoder would refuse later, where nobody says any more whose table it is."""
    for piece in store.pieces(len(table)):
        encoder.encode(table, piece)


def _refuse_other_width(plan: Plan, party: str, table: Table, width: int, id_column: str | None) -> None:
    """With the columns that were counted, and what most likely was not meant to be one, or was."""
    features = plan.party(party).features
    if width == features:
        return
    # Of a text only the column's own name: the encoded ones hold its values.
    names = [repr(column.name) for column in table.columns]
    more = f" and {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    after = " after encoding" if plan.categorical == "one-hot" else ""
    if width > features and id_column is None:
        reason = "if one of them is the rows' id, name it with --id"
    else:
        reason = "the columns of --id and --label do not count; correct these or the plan's features"
    raise DataError(
        f"the plan says {features} columns, its data give {width}{after}"
        f" ({', '.join(names[:SHOWN_COLUMNS]) or 'none'}{more}); {reason}"
    )


@contextmanager
def _said_by(party: str) -> Iterator[None]:
    """A complaint about a table begins with whose it is."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{party}: {error}") from error.__cause__
