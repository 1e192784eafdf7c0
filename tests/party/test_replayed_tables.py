"""A replay takes no table that a reader could not make."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from plumbob.data import Table
from plumbob.data.encoder import ColumnEncoder, FittedColumns, with_columns
from plumbob.data.tables import Column
from plumbob.errors import DataError
from plumbob.party.evidence import pack_table, unpack_table
from plumbob.party.replay_rules import exceeded_limit, impossible_in
from plumbob.plan import Plan
from plumbob.protocol.shares.training import SharesParty
from tests.party.kept import accountable
from tests.party.test_replay import kept_run
from tests.protocol.support import made_up, tables_for

SPLIT = (2, 3)
PLAN = Plan.for_columns(SPLIT, epochs=2, test_share=0.2)
ROWS = PLAN.replace(noise="rows", epsilon=4.0)
WEIGHED = PLAN.replace(row_weights=True)
TABLES = tables_for(PLAN, *made_up(40, PLAN.columns))


def cell(table: Table, value: float) -> Table:
    """The table with another value in one cell."""
    values = table.columns[0].numbers.copy()
    values[3] = value
    return replace(table, columns=(replace(table.columns[0], values=values), *table.columns[1:]))


def labelled(*values: int) -> np.ndarray[Any, Any]:
    """Labels with these first ones."""
    labels = np.array(TABLES["label"].labels)
    labels[: len(values)] = values
    return labels


def fitted(table: Table, **changes: Any) -> Table:
    """A column of levels that was fitted in another way."""
    levels = Column("level", np.array(["a", "b"] * 20, dtype=object))
    plan = Plan.for_columns(SPLIT, rare=1)
    found = with_columns(Table(table.ids, (levels,)), plan)
    assert found.fitted is not None
    columns = tuple(msgspec.structs.replace(column, **changes) for column in found.fitted.columns)
    return replace(found, fitted=FittedColumns(columns, found.fitted.choices))


CATEGORIES = Plan.for_columns(SPLIT, rare=1)
OUTSIDE: list[tuple[str, Plan, str, Callable[[Table], Table], str]] = [
    ("label", PLAN, "label", lambda table: replace(table, labels=labelled(127)), "neither 0 nor 1"),
    ("negative label", PLAN, "label", lambda table: replace(table, labels=labelled(-1)), "neither 0 nor 1"),
    ("labels", PLAN, "features", lambda table: replace(table, labels=labelled()), "labels"),
    ("weight", WEIGHED, "label", lambda table: replace(table, weights=np.full(40, 7.0)), "weight"),
    ("negative weight", WEIGHED, "label", lambda table: replace(table, weights=np.full(40, -3.0)), "weight"),
    ("no weight", WEIGHED, "label", lambda table: replace(table, weights=np.full(40, np.nan)), "weight"),
    ("weights", WEIGHED, "features", lambda table: replace(table, weights=np.ones(40)), "weights of rows"),
    ("infinite", PLAN, "features", lambda table: cell(table, np.inf), "not finite"),
    ("negative infinite", PLAN, "features", lambda table: cell(table, -np.inf), "not finite"),
    (
        "bins",
        CATEGORIES,
        "features",
        lambda table: fitted(table, cuts=(1.0,)),
        "bins or levels",
    ),
    ("levels", CATEGORIES, "features", lambda table: fitted(table, levels=None, shares=(1.0,)), "other columns"),
    ("name", CATEGORIES, "features", lambda table: fitted(table, name="another"), "other columns"),
    ("plan", PLAN, "features", fitted, "columns of another plan"),
]


@pytest.mark.parametrize("case", OUTSIDE, ids=[name for name, *_ in OUTSIDE])
def test_each_field_of_a_table_has_a_domain(case: tuple[str, Plan, str, Callable[[Table], Table], str]) -> None:
    """Outside it nothing is honest, whatever follows from the table."""
    _, plan, party, change, words = case
    assert words in impossible_in(plan, party, change(TABLES[party]))


@pytest.mark.parametrize(
    "change",
    [
        {"shares": (1.5, 0.5)},
        {"shares": (-0.5, 0.5)},
        {"shares": (math.nan, 0.5)},
        {"shares": (0.5,)},
        {"cuts": (2.0, 1.0), "shares": (0.2, 0.3, 0.5)},
        {"cuts": (1.0, 1.0), "shares": (0.2, 0.3, 0.5)},
        {"cuts": (math.nan,)},
        {"mean": math.nan},
        {"mean": math.inf},
        {"factor": -1.0},
        {"factor": math.inf},
        {"factor": math.nan},
    ],
    ids=str,
)
def test_each_number_of_a_fitted_column_has_a_domain(change: dict[str, Any]) -> None:
    """A column that no fit gives is not read from evidence: a slot with a share of 2 would count more than its rows."""
    column = ColumnEncoder("age", cuts=(1.0,), has_plain=True, shares=(0.5, 0.5), mean=1.0, factor=2.0)
    # As it is read from a file: JSON and MessagePack know these numbers, too.
    stored = msgspec.msgpack.encode({**msgspec.to_builtins(column), **change})
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(stored, type=ColumnEncoder)


def test_what_a_reader_makes_is_possible() -> None:
    """Numbers with gaps, weights between 0 and 1, levels."""
    assert impossible_in(PLAN, "label", TABLES["label"]) == ""
    assert impossible_in(PLAN, "features", cell(TABLES["features"], np.nan)) == ""
    assert impossible_in(WEIGHED, "label", replace(TABLES["label"], weights=np.linspace(0, 1, 40))) == ""
    assert impossible_in(CATEGORIES, "features", fitted(TABLES["features"])) == ""


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"signs": np.array([1.0, -1.0, 253.0])}, "sign"),
        ({"signs": np.array([1.0, np.nan, 1.0])}, "sign"),
        ({"row weights": np.array([7 << 20], np.int64)}, "weight"),
        ({"row weights": np.array([-1], np.int64)}, "weight"),
    ],
)
def test_signs_and_weights_have_a_domain_too(numbers: Any, words: str) -> None:
    """Whatever table they are said to come from."""
    rows = {"rows": np.zeros((3, 3), np.int32), "penalty": np.zeros((0, 3), np.int32)}
    assert words in exceeded_limit(PLAN, "label", {**rows, **numbers})


@pytest.mark.parametrize("values", [(-128, 127), (127, -128)])
def test_invented_labels_do_not_replay(tmp_path: Path, values: tuple[int, int]) -> None:
    """Two classes of labels that no file gives: everything follows from them, and they cannot follow."""
    labels = np.where(np.array(TABLES["label"].labels) == 1, *values).astype(np.int8)
    kept = kept_run(tmp_path, SPLIT, tables={**TABLES, "label": replace(TABLES["label"], labels=labels)})
    statement = kept.replayed("label")
    assert not statement["honest"]
    assert "its table holds what no file gives (a label that is neither 0 nor 1)" in statement["verdict"]
    assert kept.replayed("features")["honest"]


def test_several_rows_of_one_person_are_no_table() -> None:
    """Every verb reads its rows as a table, and so does a replay: neither takes an id twice."""
    table = TABLES["features"]
    again = (*table.ids[:-1], table.ids[0])
    with pytest.raises(DataError, match="1 of 40 rows repeat an id"):
        replace(table, ids=again)
    head, *arrays = pack_table(table)
    # Ids of one length: the framed head keeps its size.
    last, before = (msgspec.msgpack.encode(identity) for identity in table.ids[:-3:-1])
    assert len(last) == len(before)
    with pytest.raises(DataError, match="1 of 40 rows repeat an id"):
        unpack_table(memoryview(b"".join([bytes(head).replace(last, before, 1), *arrays])))


class OnOtherRows(SharesParty):
    """Commits to one table and calculates with another."""

    def __init__(self, participant: Any, table: Table, progress: Any = None) -> None:
        super().__init__(participant, TABLES[participant.name], progress)


def with_first(values: Any) -> Table:
    """The label party's table with another first column."""
    first, *rest = TABLES["label"].columns
    return replace(TABLES["label"], columns=(replace(first, values=np.array(values)), *rest))


NO_TABLES: dict[str, Table] = {
    "too few texts": with_first(np.array(["a"] * 3, dtype=object)),
    "too many texts": with_first(np.array(["a"] * 90, dtype=object)),
    "numbers without a mean": with_first([1.7e308] * 40),
    "numbers without a deviation": with_first([1.7e308, -1.7e308] * 20),
    "no columns": replace(TABLES["label"], columns=()),
    "no labels": replace(TABLES["label"], labels=None),
    "labels of one class": replace(TABLES["label"], labels=np.ones(40, np.int8)),
    "weights that the plan does not have": replace(TABLES["label"], weights=np.linspace(0, 1, 40)),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_a_table_that_nobody_can_train_on_clears_nobody(tmp_path: Path, name: str) -> None:
    """Its owner commits to it and sends honest messages about other rows: an auditor never ends in a traceback."""
    tables = {**TABLES, "label": NO_TABLES[name]}
    kept = kept_run(tmp_path, SPLIT, instead={"label": OnOtherRows}, tables=tables)
    with suppress(DataError):
        assert kept.replayed("label")["honest"] is False


class LongRow(SharesParty):
    """Makes one row a single unit longer than the promise allows."""

    def own_numbers(self) -> Any:
        numbers = super().own_numbers()
        rows = np.array(numbers["rows"])
        own = self.plan.party(self.participant.name).features
        lengths = np.square(rows[:, :own].astype(np.int64)).sum(axis=1)
        row = int(lengths.argmax())
        column = int(np.abs(rows[row, :own]).argmax())
        longest = self.plan.joint_norm * 2**self.plan.feature_bits * (own / self.plan.columns) ** 0.5
        # Rows are cut toward zero, so that the longest one may have room for some units.
        while math.hypot(*rows[row, :own].tolist()) <= longest:
            rows[row, column] += np.sign(rows[row, column])
        return {**numbers, "rows": rows}


@pytest.mark.parametrize(("cheat", "is_honest"), [(None, True), (LongRow, False)], ids=["honest", "long"])
def test_a_promise_about_rows_has_no_slack(tmp_path: Path, cheat: Any, is_honest: bool) -> None:
    """One unit in one entry passes for another processor's rounding; beyond the norm under `rows` it does not."""
    agreed = accountable(ROWS.replace(epochs=2), tmp_path)
    instead = {} if cheat is None else {"label": cheat}
    kept = kept_run(tmp_path, SPLIT, instead=instead, tables=TABLES, agreed=agreed)
    statement = kept.replayed("label")
    assert statement["honest"] is is_honest, statement["verdict"]
    assert is_honest or "a row's norm" in statement["verdict"]
