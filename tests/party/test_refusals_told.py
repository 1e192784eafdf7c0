"""A party that refuses, whatever it was asked to do together with others, says so to those who wait for it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from plumbob.errors import DataError, PlanError, RemoteProtocolError, TransportError, UnsignedPlanError
from plumbob.net.greeting import Greeting, Purpose
from plumbob.party.conversation import MET, conversation
from plumbob.party.home import Home, Outcome
from plumbob.plan import Party, Plan
from plumbob.protocol.messages import Kind
from plumbob.protocol.sqlite_journal import SqliteJournal, read_contents
from tests.party.processes import free_port
from tests.party.support import PATIENCE, Switchboard

PLAN = Plan.for_columns((1, 1)).replace(parties=(Party("bank", "label", 1), Party("fund", "features", 1)))
Verb = Callable[[Home, Path], Outcome]


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, Home]:
    """Two parties that have joined each other; the bank listens, the fund dials."""
    (tmp_path / "bank.csv").write_text(
        "id,secret-income,late\n" + "".join(f"{row},{row},{row % 2}\n" for row in range(9))
    )
    (tmp_path / "fund.csv").write_text("id,secret-debt\n" + "".join(f"{row},{row}\n" for row in range(9)))
    at = f"127.0.0.1:{free_port()}"
    bank = Home.init(tmp_path / "bank", "bank", data=tmp_path / "bank.csv", label_column="late", listen=at)
    fund = Home.init(tmp_path / "fund", "fund", data=tmp_path / "fund.csv")
    return {"bank": bank.join(str(fund.invite()["token"])), "fund": fund.join(str(bank.invite()["token"]))}


def proposed(home: Home, folder: Path) -> Outcome:
    """Propose to the party's own file."""
    return home.propose(folder / f"{home.identity.name}.toml", verbose=False)


def aligned(home: Home, folder: Path) -> Outcome:
    """Align by the common plan."""
    return home.align(PLAN, verbose=False)


def trained(home: Home, folder: Path) -> Outcome:
    """Train by the common plan."""
    return home.train(PLAN, verbose=False)


def write_the_file(home: Home, folder: Path) -> None:
    """Write a file where the plan should go."""
    (folder / f"{home.identity.name}.toml").touch()


def lose_the_table(home: Home, folder: Path) -> None:
    """Put another table in place of the party's."""
    home.data_file.write_text("another,table\n1,2\n")


def do_nothing(home: Home, folder: Path) -> None:
    """Leave the plan unsigned."""


@pytest.mark.parametrize("refusing", ["bank", "fund"])
@pytest.mark.parametrize(
    ("verb", "prepare", "mistake", "words"),
    [
        (proposed, write_the_file, PlanError, "something about the plan stops it"),
        (proposed, lose_the_table, DataError, "it cannot use its own table as it is"),
        (aligned, lose_the_table, DataError, "it cannot use its own table as it is"),
        (trained, do_nothing, UnsignedPlanError, "it has not signed this plan yet"),
    ],
)
def test_the_waiting_peer_hears_why(
    verb: Verb,
    prepare: Callable[[Home, Path], None],
    mistake: type[Exception],
    words: str,
    refusing: str,
    homes: dict[str, Home],
    tmp_path: Path,
) -> None:
    """Whoever dials: the peer ends with the kind of mistake, and reads no word of the refusing side's table."""
    waiting, refused = homes["fund" if refusing == "bank" else "bank"], homes[refusing]
    if verb is trained:
        waiting.sign(PLAN, accept_leaks=True, accept_cheating=True)
        kept = waiting.folder / "aligned" / "bank+fund.json"
        kept.parent.mkdir(mode=0o700)
        kept.write_text('{"ids": ["1", "2", "3", "4"], "order_hash": "", "sizes": {}}')
    prepare(refused, tmp_path)
    future = in_thread(lambda: verb(waiting, tmp_path))
    with pytest.raises(mistake):
        verb(refused, tmp_path)
    told = future.exception(PATIENCE)
    assert type(told) is RemoteProtocolError
    assert f"{refusing} takes no part: '{words}" in str(told)
    assert "secret" not in str(told)
    # Nothing of it is remembered: the peer is nobody that we are in the middle of a run with.
    journals = [read_contents(file) for file in waiting.folder.rglob("journal.db")]
    assert not any(MET + refusing in remains.facts for remains in journals)


@pytest.mark.usefixtures("nobody_waits")
def test_nobody_is_there_to_hear_it(homes: dict[str, Home], tmp_path: Path) -> None:
    """The mistake is told here all the same, and leaves nothing behind."""
    lose_the_table(homes["bank"], tmp_path)
    with pytest.raises(DataError, match="no column"):
        aligned(homes["bank"], tmp_path)
    assert not list((tmp_path / "bank").glob("runs/*"))


@pytest.mark.parametrize(
    ("purpose", "stops", "words"),
    [
        ("predict", KeyboardInterrupt, "fund stopped: 'it was interrupted'"),
        ("predict", TransportError, "fund stopped: 'it was interrupted'"),
        ("train", ZeroDivisionError, "fund stopped: 'something went wrong on its own side"),
        ("train", KeyboardInterrupt, "no message arrived"),
    ],
)
def test_whoever_leaves_a_session_that_cannot_be_resumed_says_so(
    purpose: Purpose, stops: type[BaseException], words: str, tmp_path: Path
) -> None:
    """A run can be resumed: there an interrupted peer is waited for."""
    board, left, topic = Switchboard(), threading.Event(), Greeting(purpose=purpose, plan="ab" * 32)

    def stay() -> None:
        with (
            closing_journal(tmp_path / "bank.db") as journal,
            conversation(topic, ["fund"], journal, board.connector("bank"), patience=2) as talk,
        ):
            assert left.wait(PATIENCE)
            talk.channels["fund"].receive(Kind.SIGNATURE, 0, None)

    future = in_thread(stay)

    def leave() -> None:
        with (
            closing_journal(tmp_path / "fund.db") as journal,
            conversation(topic, ["bank"], journal, board.connector("fund"), patience=PATIENCE),
        ):
            left.set()
            raise stops

    with pytest.raises(stops):
        leave()
    assert words in str(future.exception(PATIENCE))


def test_one_peer_is_heard_while_another_is_awaited(tmp_path: Path) -> None:
    """Whoever refuses may have driven the other one away, too: nobody waits for it any longer."""
    board, topic = Switchboard(), Greeting(purpose="predict", plan="ab" * 32)

    def wait() -> None:
        with (
            closing_journal(tmp_path / "bank.db") as journal,
            conversation(topic, ["broker", "fund"], journal, board.connector("bank"), patience=PATIENCE),
        ):
            raise AssertionError("the broker never came")

    def leave() -> None:
        with (
            closing_journal(tmp_path / "fund.db") as journal,
            conversation(topic, ["bank"], journal, board.connector("fund"), patience=PATIENCE),
        ):
            raise DataError("its own table")

    future = in_thread(wait)
    with pytest.raises(DataError):
        leave()
    assert "fund stopped: 'it cannot use its own table" in str(future.exception(PATIENCE / 2))


def closing_journal(file: Path) -> "closing[SqliteJournal]":
    """A journal that is closed at the end."""
    return closing(SqliteJournal(file))


def in_thread(work: Callable[[], object]) -> "Future[object]":
    """What it returns or raises, later."""
    future: Future[object] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
