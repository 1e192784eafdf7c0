"""The ledger of what each row has spent, over runs, restarts and tables that overlap."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from plumbob.crypto import engines
from plumbob.data import split_array
from plumbob.errors import BudgetExceededError, DataError
from plumbob.party.party_run import PartyRun
from plumbob.party.row_budget import RowBudget
from plumbob.plan import Plan
from plumbob.protocol.row_noise import rho_of_a_run
from plumbob.protocol.sqlite_journal import SqliteJournal


@pytest.fixture
def budget(tmp_path: Path) -> RowBudget:
    """A ledger without a file yet."""
    return RowBudget(tmp_path / "rows.sqlite")


def test_runs_on_the_same_rows_add_up(budget: RowBudget) -> None:
    """Each run on a row spends again, and a run beyond the agreed total is refused and not booked."""
    assert budget.book("first", ["a", "b"], 0.02, 0.05) == pytest.approx(0.02)
    assert budget.book("second", ["b", "c"], 0.02, 0.05) == pytest.approx(0.04)
    with pytest.raises(BudgetExceededError, match="Nothing about them was sent"):
        budget.book("third", ["b"], 0.02, 0.05)
    assert [budget.spent([person]) for person in "abcd"] == pytest.approx([0.02, 0.04, 0.02, 0.0])


def test_the_last_of_the_budget_can_be_spent(budget: RowBudget) -> None:
    """Ten tenths are one whole, although floats say otherwise."""
    for run in range(10):
        budget.book(str(run), ["a"], 0.1, 1.0)
    with pytest.raises(BudgetExceededError):
        budget.book("another", ["a"], 0.1, 1.0)


def test_a_resumed_run_is_booked_once(budget: RowBudget) -> None:
    """The same run asks again after a restart and pays nothing more."""
    for _ in range(3):
        assert budget.book("first", ["a"], 0.02, 0.02) == pytest.approx(0.02)


def test_what_was_booked_is_there_after_a_restart(budget: RowBudget) -> None:
    """Another process that opens the file sees what was spent."""
    budget.book("first", ["a"], 0.02, 0.05)
    assert RowBudget(budget.file).spent(["a"]) == pytest.approx(0.02)


def test_a_refused_run_leaves_nothing(budget: RowBudget) -> None:
    """Rows that a refused run shared with nobody are as they were."""
    budget.book("first", ["a"], 0.02, 0.02)
    with pytest.raises(BudgetExceededError):
        budget.book("second", ["a", "b"], 0.02, 0.02)
    assert budget.spent(["b"]) == 0.0
    assert budget.book("third", ["b"], 0.02, 0.02) == pytest.approx(0.02)


def test_the_file_names_nobody(budget: RowBudget) -> None:
    """No id is written, the file is private, and two ledgers hash the same id differently."""
    budget.book("first", ["person-4711"], 0.02, 0.05)
    other = RowBudget(budget.file.with_name("other.sqlite"))
    other.book("first", ["person-4711"], 0.02, 0.05)
    assert b"person-4711" not in budget.file.read_bytes()
    assert budget.file.stat().st_mode & 0o077 == 0
    hashes = {sqlite3.connect(ledger.file).execute("SELECT person FROM spent").fetchone() for ledger in (budget, other)}
    assert len(hashes) == 2


def test_a_damaged_ledger_is_not_an_empty_one(budget: RowBudget) -> None:
    """A file that cannot be read stops the run: it must not count as nothing spent."""
    budget.file.write_bytes(b"this is not a ledger" * 100)
    with pytest.raises(DataError, match="restore it from a copy"):
        budget.book("first", ["a"], 0.02, 0.05)


def seat_of(folder: Path, most_epsilon: float = 0.0) -> PartyRun:
    """A label party with a ledger, whose plan promises something for whole rows."""
    plan = Plan.for_columns((1, 1), scheme="lattice", noise="rows", epsilon=1.0)
    table, _ = split_array(np.array([[1.0, 2.0], [3.0, 4.0]]), [0, 1], (1, 1))
    budget = RowBudget(folder / "row-budget.db")
    return PartyRun(
        "label", plan, table, folder, _no_station, engines.choose(), row_budget=budget, most_epsilon=most_epsilon
    )


def _no_station(on_connection: object) -> NoReturn:
    raise AssertionError("nobody is called here")


def spend(party_run: PartyRun, journal: Path) -> None:
    """What the protocol does before anything that depends on a row leaves."""
    with closing(SqliteJournal(journal)) as opened:
        party_run._spend_rows(opened, rho_of_a_run(party_run.plan))


def test_a_second_run_on_the_same_rows_is_refused(tmp_path: Path) -> None:
    """The promise is for all runs together: another journal is another run, the same one is a restart."""
    party_run = seat_of(tmp_path)
    spend(party_run, tmp_path / "first.db")
    spend(party_run, tmp_path / "first.db")
    with pytest.raises(BudgetExceededError, match="spent epsilon 1 in earlier runs"):
        spend(party_run, tmp_path / "second.db")


def test_a_party_may_agree_to_more(tmp_path: Path) -> None:
    """With most_epsilon in party.toml several runs fit, as many as their costs add up to."""
    party_run = seat_of(tmp_path, most_epsilon=2.0)
    for run in range(3):
        spend(party_run, tmp_path / f"{run}.db")
    with pytest.raises(BudgetExceededError):
        spend(party_run, tmp_path / "another.db")
