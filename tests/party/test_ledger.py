"""The ledger of what each row and each label has spent, over runs, restarts and tables that overlap."""

import multiprocessing
import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.data import split_array
from plumbob.errors import BudgetExceededError, DataError
from plumbob.net.greeting import Greeting
from plumbob.party.home import Home
from plumbob.party.ledger import EpsilonLimit, RowBudget, SpendingLedger
from plumbob.party.session import Peers, Session, session_at
from plumbob.party.settings import HomeSettings
from plumbob.plan import Plan
from plumbob.privacy.rows import RowSpending
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.row_noise import spending_of_a_run

PART = RowSpending(0.02, 1e-12)


def up_to(rho: float) -> EpsilonLimit:
    """A party's own limit into which so much zCDP fits, with some room for failures."""
    return EpsilonLimit(RowSpending(rho, 1e-11).epsilon(1e-6), 1e-6, "most_epsilon")


@pytest.fixture
def budget(tmp_path: Path) -> SpendingLedger:
    """A ledger without a file yet."""
    return SpendingLedger(tmp_path / "rows.sqlite")


def test_runs_on_the_same_rows_add_up(budget: SpendingLedger) -> None:
    """Each run on a row spends again, and a run beyond the agreed total is refused and not booked."""
    assert budget.book("first", ["a", "b"], PART, up_to(0.05)) == PART
    assert budget.book("second", ["b", "c"], PART, up_to(0.05)) == PART + PART
    with pytest.raises(BudgetExceededError, match="Nothing about them was sent") as refused:
        budget.book("third", ["b"], PART, up_to(0.05))
    assert "if two plans use different id columns, it counts one person as two" in str(refused.value)
    assert [budget.spent([person]).rho for person in "abcd"] == pytest.approx([0.02, 0.04, 0.02, 0.0])


def test_the_last_of_the_budget_can_be_spent(budget: SpendingLedger) -> None:
    """Ten tenths are one whole, although floats say otherwise."""
    tenth = RowSpending(0.1)
    whole = EpsilonLimit(RowSpending(1.0).epsilon(1e-6), 1e-6, "most_epsilon")
    for run in range(10):
        budget.book(str(run), ["a"], tenth, whole)
    with pytest.raises(BudgetExceededError):
        budget.book("another", ["a"], tenth, whole)


def test_a_row_that_failed_often_is_not_hidden_behind_one_that_spent_much(budget: SpendingLedger) -> None:
    """A run may be too much for the row that has less epsilon so far: what each has afterwards counts."""
    budget.book("much noise", ["failing"], RowSpending(0.001, 3.5e-7))
    budget.book("little noise", ["spending", "too"], RowSpending(0.03))
    run, limit = RowSpending(0.001, 1.5e-7), up_to(0.08)
    assert budget.spent(["failing"]).epsilon(1e-6) < budget.spent(["spending"]).epsilon(1e-6)
    assert budget.book("fits", ["spending"], run, limit).rho == pytest.approx(0.031)
    with pytest.raises(BudgetExceededError):
        budget.book("does not", ["failing", "too"], run, limit)


def test_a_resumed_run_is_booked_once(budget: SpendingLedger) -> None:
    """The same run asks again after a restart and pays nothing more, by whichever process's eyes."""
    for _ in range(3):
        assert SpendingLedger(budget.file).book("first", ["a"], PART, up_to(0.02)) == PART
        assert SpendingLedger(budget.file).spent(["a"]) == PART


def test_a_refused_run_leaves_nothing(budget: SpendingLedger) -> None:
    """Rows that a refused run shared with nobody are as they were."""
    budget.book("first", ["a"], PART, up_to(0.02))
    with pytest.raises(BudgetExceededError):
        budget.book("second", ["a", "b"], PART, up_to(0.02))
    assert budget.spent(["b"]) == RowSpending()
    assert budget.book("third", ["b"], PART, up_to(0.02)) == PART


def book_at_once(folder: Path, run: str, everybody: Any, booked: Any) -> None:
    """One of several runs that come to fresh ledgers at the same moment, one ledger after the other."""
    for ledger in range(LEDGERS):
        everybody.wait()
        try:
            SpendingLedger(folder / f"{ledger}.sqlite").book(run, ["a", "b"], PART, up_to(0.05))
        except BudgetExceededError:
            continue
        with booked.get_lock():
            booked[ledger] += 1


LEDGERS, RUNS = 20, 6


def test_runs_that_begin_at_once_share_a_fresh_ledger(tmp_path: Path) -> None:
    """Of six runs that come to a ledger before it has a file, two fit; two are booked, and the rows spent two."""
    processes = multiprocessing.get_context("spawn")
    everybody, booked = processes.Barrier(RUNS), processes.Array("i", LEDGERS)
    started = [
        processes.Process(target=book_at_once, args=(tmp_path, f"run {number}", everybody, booked))
        for number in range(RUNS)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0] * RUNS
    assert [booked[ledger] for ledger in range(LEDGERS)] == [2] * LEDGERS
    spent = [SpendingLedger(tmp_path / f"{ledger}.sqlite").spent(["a"]) for ledger in range(LEDGERS)]
    assert spent == [PART + PART] * LEDGERS


def test_nobody_looks_at_a_ledger_that_another_run_is_making(
    budget: SpendingLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever draws the ledger's key waits for all the others to look: they must wait for it instead, and two fit.

    A run that has looked before it is alone would draw a key of its own, under which nobody has spent anything.
    """
    everybody = threading.Barrier(RUNS)

    def wait_and_draw(randomness: object, count: int) -> bytes:
        with suppress(threading.BrokenBarrierError):
            everybody.wait(timeout=1)
        return os.urandom(count)

    monkeypatch.setattr(type(SYSTEM_RANDOMNESS), "draw", wait_and_draw)

    def is_booked(run: int) -> bool:
        try:
            budget.book(f"run {run}", ["a", "b"], PART, up_to(0.05))
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(RUNS) as runs:
        assert sum(runs.map(is_booked, range(RUNS))) == 2
    assert budget.spent(["a"]) == PART + PART


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DELETE FROM secret", "restore it from a copy"),
        ("PRAGMA user_version = 2", "a later version of Plumbob"),
        ("", "restore it from a copy"),
    ],
    ids=["its key is lost", "of a later version", "no ledger"],
)
def test_a_ledger_that_cannot_be_read_is_not_an_empty_one(budget: SpendingLedger, statement: str, words: str) -> None:
    """Nobody in it can be recognised, which must not count as nothing spent; a later one may mean something else."""
    budget.book("first", ["a"], PART)
    if statement:
        with closing(sqlite3.connect(budget.file)) as ledger, ledger:
            ledger.execute(statement)
    else:
        budget.file.write_bytes(b"this is not a ledger" * 100)
    with pytest.raises(DataError, match=words):
        budget.book("third", ["a"], PART, up_to(0.05))
    with pytest.raises(DataError, match=words):
        budget.spent(["a"])


def test_the_file_names_nobody(budget: SpendingLedger) -> None:
    """No id is written, the file is private, and two ledgers hash the same id differently."""
    budget.book("first", ["person-4711"], PART, up_to(0.05))
    other = SpendingLedger(budget.file.with_name("other.sqlite"))
    other.book("first", ["person-4711"], PART, up_to(0.05))
    assert b"person-4711" not in budget.file.read_bytes()
    assert budget.file.stat().st_mode & 0o077 == 0
    hashes = {sqlite3.connect(ledger.file).execute("SELECT person FROM spent").fetchone() for ledger in (budget, other)}
    assert len(hashes) == 2


def seat_of(folder: Path, most_epsilon: float = 0.0, **keys: Any) -> Session:
    """A label party with a ledger, whose plan promises something for whole rows."""
    plan = Plan.for_columns((1, 1), **{"noise": "rows", "epsilon": 1.0, **keys})
    table, _ = split_array(np.array([[1.0, 2.0], [3.0, 4.0]]), [0, 1], (1, 1))
    budget = RowBudget(SpendingLedger(folder / "ledger.db"), most_epsilon)
    topic = Greeting(purpose="train")
    return Session(
        name="label",
        topic=topic,
        peers=["features"],
        folder=folder,
        connector_for=_no_station,
        plan=plan,
        table=table,
        budget=budget,
    )


def _no_station(on_connection: object) -> NoReturn:
    raise AssertionError("nobody is called here")


def spend(place: Session, journal: Path) -> None:
    """What the protocol does before anything that depends on a row leaves."""
    with closing(SqliteJournal(journal)) as opened:
        participant = place.participant(Peers({}, {}), opened, opened.draws())
        participant.spend_rows(spending_of_a_run(place.plan, 2))


def test_a_second_run_on_the_same_rows_is_refused(tmp_path: Path) -> None:
    """The promise is for all runs together: another journal is another run, the same one is a restart."""
    place = seat_of(tmp_path)
    spend(place, tmp_path / "first.db")
    spend(place, tmp_path / "first.db")
    with pytest.raises(BudgetExceededError, match="spent epsilon 1 in earlier runs"):
        spend(place, tmp_path / "second.db")


def test_a_party_may_agree_to_more(tmp_path: Path) -> None:
    """With most_epsilon in party.toml several runs fit, as many as their costs add up to."""
    place = seat_of(tmp_path, most_epsilon=2.0)
    for run in range(3):
        spend(place, tmp_path / f"{run}.db")
    with pytest.raises(BudgetExceededError):
        spend(place, tmp_path / "another.db")


def test_plans_with_deltas_of_their_own_share_one_limit(tmp_path: Path) -> None:
    """A limit is an epsilon at the party's own delta: a plan's larger delta does not make it larger."""
    spend(seat_of(tmp_path, most_epsilon=2.0, epsilon=2.0), tmp_path / "first.db")
    for delta in (1e-5, 1e-4, 1e-3):
        place = seat_of(tmp_path, most_epsilon=2.0, epsilon=2.0, delta=delta)
        with pytest.raises(BudgetExceededError, match=r"most_epsilon = 2 in party\.toml .* at most_delta = 1e-06"):
            spend(place, tmp_path / f"{delta}.db")
    ids = place.table.ids if place.table else ()
    assert SpendingLedger(tmp_path / "ledger.db").spent(ids).epsilon(1e-6) <= 2


def test_the_limit_is_what_the_party_s_own_file_says(tmp_path: Path) -> None:
    """most_epsilon and most_delta of party.toml decide: at a smaller delta the plan's epsilon is too much."""
    peer = Home.create(tmp_path / "features", HomeSettings(name="features"))
    written = HomeSettings(name="label").to_toml()
    assert "most_delta = 1e-06" in written
    Home.create(tmp_path / "label", HomeSettings(name="label"))
    (tmp_path / "label" / "party.toml").write_text(
        written.replace("most_epsilon = 0.0", "most_epsilon = 1.0").replace("most_delta = 1e-06", "most_delta = 1e-9")
    )
    Home.open(tmp_path / "label").join(peer.invitation())
    home, example = Home.open(tmp_path / "label"), seat_of(tmp_path)
    place = session_at(
        home, example.plan, "train", table=example.table, folder=tmp_path, largest_message=1000, tell=lambda words: None
    )
    with pytest.raises(BudgetExceededError, match=r"most_epsilon = 1 in party\.toml is the most at most_delta = 1e-09"):
        spend(place, tmp_path / "first.db")
