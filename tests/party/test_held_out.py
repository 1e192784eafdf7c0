"""Held-out rows whose scores are opened at the end of training count like any prediction."""

import csv
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from plumbob.errors import BudgetExceededError
from plumbob.party.held_out import book_held_out
from plumbob.party.home import Home
from plumbob.party.row_count import AnsweredRows, row_limit
from plumbob.party.scores import write_scores
from plumbob.party.settings import HomeSettings
from plumbob.party.verbs.train import has_room_for_all, next_commands
from plumbob.plan import Plan
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.limits import RowLimit


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
    for keys, runs in (({}, 4), ({"most_rows": 60}, 2), ({"open": "own"}, 9), ({"open": "own", "most_rows": 25}, 1)):
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
    """A session books on top of whatever the ledger holds by then, and within the limit that is left by then."""
    home = Home.create(tmp_path / "fund", HomeSettings(name="fund"))
    plan = Plan.for_columns((2, 3), protocol="shares", test_share=0.25)
    ledger = AnsweredRows.of(home, plan)
    ledger.add(10, limit=40)
    with closing(SqliteJournal(tmp_path / "journal")) as journal:
        book_held_out(home, plan, journal, 100)
    ledger.add(2, limit=40)
    assert ledger.answered() == 37
    for rows, announced in ((4, 4), (1, 4)):
        with pytest.raises(BudgetExceededError, match="37 rows of this plan have been scored, 4 more exceed 40"):
            ledger.add(rows, limit=40, announced=announced)
    assert ledger.answered() == 37


def test_scores_say_which_rows_were_held_out(tmp_path: Path) -> None:
    """Rows of training are marked by what became of them, others are left empty."""
    out = tmp_path / "scores.csv"
    write_scores(out, ["a", "b", "c"], np.array([1.0, -1.0, 0.5]), ("no", "yes"), held_out={"a": True, "b": False})
    with out.open() as file:
        assert [row["held_out"] for row in csv.DictReader(file)] == ["yes", "no", ""]


def test_scoring_the_aligned_rows_is_proposed_only_where_the_limit_leaves_room(tmp_path: Path) -> None:
    """The default limit leaves room, because scores of held-out rows are kept; one row less leaves none."""
    default = Plan.for_columns((2, 3), protocol="shares", test_share=0.25)
    for keys, has_room in (
        ({}, True),
        ({"most_rows": 100}, True),
        ({"most_rows": 99}, False),
        ({"open": "own"}, True),
    ):
        plan = default.replace(**keys)
        asker, answerer = plan.label_party.name, plan.feature_parties[0].name
        for name in (asker, answerer):
            home = Home.create(tmp_path / f"{name}-{plan.hash()}", HomeSettings(name=name))
            if name == answerer:
                AnsweredRows.of(home, plan).add(25)
            assert has_room_for_all(home, plan, 100, 1) is has_room
        following = next_commands(plan, "joint.toml", 100, has_room)[-1]
        assert "align joint.toml --name NAME --data FILE, then plumbob party predict joint.toml --name" in following
        assert following.endswith("for the 100 aligned rows: plumbob party predict joint.toml") is has_room


def test_the_plans_limit_comes_before_a_larger_one_of_ones_own() -> None:
    """The plan's limit counts where both are the same, too: raising one's own would not help."""
    plan = Plan.for_columns((2, 3), protocol="shares", most_rows=60)
    assert row_limit(plan, 75, 0) == row_limit(plan, 75, 60) == row_limit(plan, 75, 1000) == RowLimit(60, True)
    assert row_limit(plan, 75, 59) == RowLimit(59)
    assert row_limit(plan.replace(most_rows=0), 75, 0) == RowLimit(75, True)
    assert row_limit(plan.replace(most_rows=0, open="own"), 75, 0) is None
    # 0 means the aligned rows in a plan, unless weights are opened, and the plan's limit in party.toml: both say so.
    assert "0 = all aligned rows, or any number if weights are opened" in plan.to_toml()
    assert "over all sessions; 0 = no limit beyond the plan's" in HomeSettings(name="fund").to_toml()
