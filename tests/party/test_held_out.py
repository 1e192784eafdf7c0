"""Held-out rows whose scores are opened at the end of training count like any prediction."""

import csv
from contextlib import closing
from pathlib import Path

import numpy as np

from plumbob.party.home import Home
from plumbob.party.prediction import AnsweredRows, book_held_out
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


def test_scores_say_which_rows_were_held_out(tmp_path: Path) -> None:
    """Rows of training are marked by what became of them, others are left empty."""
    out = tmp_path / "scores.csv"
    write_scores(out, ["a", "b", "c"], np.array([1.0, -1.0, 0.5]), ("no", "yes"), held_out={"a": True, "b": False})
    with out.open() as file:
        assert [row["held_out"] for row in csv.DictReader(file)] == ["yes", "no", ""]
