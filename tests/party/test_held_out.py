"""Held-out rows whose scores are opened at the end of training count like any prediction."""

import csv
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from plumbob.errors import BudgetExceededError
from plumbob.party.home import Home
from plumbob.party.prediction import AnsweredRows, _Booking, book_held_out
from plumbob.party.scores import write_scores
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan
from plumbob.protocol.sqlite_journal import SqliteJournal


def test_held_out_rows_are_counted_once_for_a_run(tmp_path: Path) -> None:
    """A run that is taken up again does not count them twice, a new run does, and a plan without any counts none."""
    home = Home.create(tmp_path / "fund", HomeSettings(name="fund"))
    plan = Plan.for_columns((2, 3), protocol="shares", test_share=0.25)
    for number in (1, 2):
        with closing(SqliteJournal(tmp_path / f"journal-{number}")) as journal:
            book_held_out(home, plan, journal, 100)
            book_held_out(home, plan, journal, 100)
        assert AnsweredRows.of(home, plan).answered() == 25 * number
    without = plan.replace(test_share=0.0)
    with closing(SqliteJournal(tmp_path / "journal-3")) as journal:
        book_held_out(home, without, journal, 100)
    assert AnsweredRows.of(home, without).answered() == 0


def test_new_runs_do_not_score_more_rows_than_the_plan_allows(tmp_path: Path) -> None:
    """Each run holds out other rows: a label party that asks for one run after the other is refused at the limit."""
    home = Home.create(tmp_path / "fund", HomeSettings(name="fund"))
    for keys, runs in (({}, 3), ({"most_rows": 60}, 2), ({"open": "own"}, 9), ({"open": "own", "most_rows": 25}, 1)):
        plan = Plan.for_columns((2, 3), protocol="shares", test_share=0.25, **keys)
        for number in range(runs):
            with closing(SqliteJournal(tmp_path / f"{plan.hash()}-{number}")) as journal:
                book_held_out(home, plan, journal, 100)
        if keys == {"open": "own"}:
            continue
        with (
            closing(SqliteJournal(tmp_path / f"{plan.hash()}-more")) as journal,
            pytest.raises(BudgetExceededError, match=f"{25 * runs} rows of this plan have been scored"),
        ):
            book_held_out(home, plan, journal, 100)
        assert AnsweredRows.of(home, plan).answered() == 25 * runs


def test_a_run_that_begins_during_a_session_is_not_forgotten(tmp_path: Path) -> None:
    """A session books its rows on top of whatever the ledger holds by then, not in its place."""
    home = Home.create(tmp_path / "fund", HomeSettings(name="fund"))
    plan = Plan.for_columns((2, 3), protocol="shares", test_share=0.25)
    ledger = AnsweredRows.of(home, plan)
    session = _Booking(ledger, ledger.answered())
    session.book(10)
    with closing(SqliteJournal(tmp_path / "journal")) as journal:
        book_held_out(home, plan, journal, 100)
    session.book(12)
    assert ledger.answered() == 37


def test_scores_say_which_rows_were_held_out(tmp_path: Path) -> None:
    """Rows of training are marked by what became of them, others are left empty."""
    out = tmp_path / "scores.csv"
    write_scores(out, ["a", "b", "c"], np.array([1.0, -1.0, 0.5]), ("no", "yes"), held_out={"a": True, "b": False})
    with out.open() as file:
        assert [row["held_out"] for row in csv.DictReader(file)] == ["yes", "no", ""]
