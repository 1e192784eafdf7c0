"""A party that leaves a conversation for good says so to those who are in it."""

import threading
from contextlib import closing
from pathlib import Path

import pytest

from plumbob.errors import DataError, TransportError
from plumbob.net.greeting import Greeting, Purpose
from plumbob.party.session import Meeting
from plumbob.protocol.journal import SqliteJournal
from plumbob.protocol.messages import Kind
from tests.world import PATIENCE, Switchboard, later


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
            meeting(tmp_path, "bank", topic, ["fund"], board, 2).meet(journal) as peers,
        ):
            assert left.wait(PATIENCE)
            peers.channels["fund"].receive(Kind.SIGNATURE, 0, None)

    future = later(stay)

    def leave() -> None:
        with (
            closing_journal(tmp_path / "fund.db") as journal,
            meeting(tmp_path, "fund", topic, ["bank"], board).meet(journal),
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
            meeting(tmp_path, "bank", topic, ["broker", "fund"], board).meet(journal),
        ):
            raise AssertionError("the broker never came")

    def leave() -> None:
        with (
            closing_journal(tmp_path / "fund.db") as journal,
            meeting(tmp_path, "fund", topic, ["bank"], board).meet(journal),
        ):
            raise DataError("its own table")

    future = later(wait)
    with pytest.raises(DataError):
        leave()
    assert "fund stopped: 'it cannot use its own table" in str(future.exception(PATIENCE / 2))


def meeting(
    folder: Path, name: str, topic: Greeting, peers: list[str], board: Switchboard, patience: float = PATIENCE
) -> Meeting:
    """One side's meeting."""
    (folder / name).mkdir()
    return Meeting(
        name=name,
        topic=topic,
        peers=peers,
        folder=folder / name,
        connector_for=board.connector(name),
        patience=patience,
    )


def closing_journal(file: Path) -> "closing[SqliteJournal]":
    """A journal that is closed at the end."""
    return closing(SqliteJournal(file))
