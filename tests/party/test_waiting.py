"""Whoever waits is told for whom and how long at most, before anybody came and after somebody went."""

from dataclasses import dataclass
from typing import Any

import pytest

from plumbob.errors import TransportError
from plumbob.net.greeting import Greeting
from plumbob.party import waiting
from plumbob.party.session import Meeting
from plumbob.party.waiting import Waiting
from plumbob.protocol.journal import SqliteJournal


@dataclass
class Seen:
    """What a link and a channel show."""

    has_met: bool = True
    is_parting: bool = False
    is_connected: bool = True
    waiting_for: tuple[str, float] | None = None


def said(now: float, **peers: Seen) -> str:
    """The sentence at this time, of a conversation that began at 100 and waits 600 s at most."""
    seen: Any = peers
    return Waiting(seen, seen, 600.0, 100.0, 600.0).sentence(now)


@pytest.mark.parametrize(
    ("now", "peers", "sentence"),
    [
        (
            112,
            {"fund": Seen(has_met=False), "shop": Seen()},
            "waiting for fund to connect, 12 s of at most 600 s; the same command must run there",
        ),
        (
            230,
            {"fund": Seen(is_connected=False, waiting_for=("OPENED_SUMS", 200.0))},
            "fund is not connected; waiting for it to come back, 30 s of at most 600 s"
            " (it resumes by the same command)",
        ),
        (
            230,
            {"fund": Seen(waiting_for=("OPENED_SUMS", 200.0))},
            "waiting for fund's OPENED_SUMS, 30 s of at most 600 s",
        ),
        (203, {"fund": Seen(waiting_for=("OPENED_SUMS", 200.0))}, ""),
        (230, {"fund": Seen()}, ""),
        (
            230,
            {"fund": Seen(is_parting=True)},
            "finished here; waiting for fund to confirm that it has everything",
        ),
    ],
)
def test_the_sentence_says_for_whom_and_how_long(now: float, peers: dict[str, Seen], sentence: str) -> None:
    """Nothing is said while this side works, or while a peer that is there has just begun to."""
    assert said(now, **peers) == sentence


class Nobody:
    """A connector that reaches nobody."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def why_not(self, peer: str) -> None:
        return None


def test_it_is_said_again_and_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line is soon forgotten: until the end there is another one every few seconds."""
    for name in ("SECONDS_BETWEEN_LOOKS", "SECONDS_BEFORE", "SECONDS_BETWEEN"):
        monkeypatch.setattr(waiting, name, 0.01)
    lines: list[str] = []
    journal = SqliteJournal(tmp_path / "journal.db")
    meeting = Meeting(
        name="bank",
        topic=Greeting(purpose="train"),
        peers=["fund"],
        folder=tmp_path,
        connector_for=lambda attach: Nobody(),
        patience=0.5,
        tell=lines.append,
    )
    with pytest.raises(TransportError, match="fund: expected it within"), meeting.meet(journal):
        pytest.fail("nobody came")
    journal.close()
    assert len(lines) >= 2
    assert all(line.startswith("waiting for fund to connect, ") for line in lines)
