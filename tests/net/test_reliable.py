"""net/reliable.py: where two connections to one peer overlap. For whole runs see tests/party and tests/fuzz."""

import queue
import threading

import pytest
from msgspec import structs

from plumbob.errors import RemoteProtocolError, TransportError
from plumbob.net import Data, reliable
from plumbob.net.greeting import Greeting
from plumbob.net.reliable import (
    MESSAGE,
    OUTDATED_GREETINGS,
    REMEMBERED,
    WAITING,
    WAITING_BYTES,
    Memory,
    ReliableLink,
)

TERMS = Greeting(purpose="train", plan="ab" * 32, run="cd" * 16)
THEIRS = structs.replace(TERMS, run="ef" * 16)


class Silent:
    """A connection on which nothing is said."""

    peer = "bank"

    def send(self, *parts: Data) -> None:
        """Send to nobody."""

    def receive(self, seconds: float) -> bytes:
        raise TransportError("nothing is said here")

    def close(self) -> None:
        """Close nothing: nothing is open."""


def link() -> ReliableLink:
    """A link with three messages that were not confirmed yet."""
    return ReliableLink("bank", TERMS, Memory(0, (b"first", b"second", b"third"), 3), stored=lambda: 0)


def test_what_another_connection_confirmed_is_not_sent_again() -> None:
    """A new connection's greeting asks for everything; meanwhile the old one confirms two: the third is next."""
    ours, connection = link(), Silent()
    ours._connection = connection
    ours._confirm(2)
    assert ours._next_turn(connection, 0, False) == (MESSAGE, 2, (b"third",))


def test_an_outdated_greeting_is_not_the_end() -> None:
    """A greeting may be older than what another connection confirmed since; only a row of them is no accident."""
    ours = link()
    ours._confirm(2)
    for _ in range(OUTDATED_GREETINGS - 1):
        with pytest.raises(TransportError, match="asks for message 1, but had confirmed 2"):
            ours._refuse_other_run(structs.replace(THEIRS, received=1))
    with pytest.raises(RemoteProtocolError, match="is its journal an older copy"):
        ours._refuse_other_run(structs.replace(THEIRS, received=1))


def test_a_greeting_that_fits_ends_the_row() -> None:
    """Once a connection was taken, outdated greetings are counted anew."""
    ours = link()
    ours._confirm(1)
    with pytest.raises(TransportError):
        ours._refuse_other_run(THEIRS)
    ours._take_over(Silent(), structs.replace(THEIRS, received=1))
    ours.close()
    for _ in range(OUTDATED_GREETINGS - 1):
        with pytest.raises(TransportError):
            ours._refuse_other_run(THEIRS)


def test_a_peer_names_its_run() -> None:
    """Without a name, a peer that lost its journal could not be told from one that has it."""
    with pytest.raises(RemoteProtocolError, match="does not say which run it is in"):
        link()._refuse_other_run(structs.replace(THEIRS, run=""))


def test_what_is_too_old_to_remember_is_dropped() -> None:
    """A message that was taken long ago comes again over a slow connection: no news, and no offence."""
    ours = link()
    for number in range(REMEMBERED + 2):
        ours._take_message(number, b"data")
        ours.receive(1.0)
    ours._take_message(0, b"data")
    with pytest.raises(RemoteProtocolError, match="a second time with other contents"):
        ours._take_message(REMEMBERED, b"other data")


@pytest.mark.parametrize(("size", "taken"), [(1, WAITING), (WAITING_BYTES // 4, 4), (WAITING_BYTES + 1, 1)])
def test_what_waits_is_bounded_in_number_and_in_bytes(size: int, taken: int) -> None:
    """A peer that sends and sends has to wait, sooner with long messages; one always gets in, and each makes room."""
    ours, data = link(), bytes(size)
    entered: queue.SimpleQueue[int] = queue.SimpleQueue()

    def send_all() -> None:
        for number in range(taken + 2):
            ours._take_message(number, data)
            entered.put(number)

    sender = threading.Thread(target=send_all, daemon=True)
    sender.start()
    assert [entered.get(timeout=120) for _ in range(taken)] == list(range(taken))
    for number in (taken, taken + 1):
        # While nobody asks for a message, no other gets in.
        with pytest.raises(queue.Empty):
            entered.get(timeout=0.1)
        assert ours.receive(120) is data
        assert entered.get(timeout=120) == number
    sender.join(120)
    assert ours._inbox_bytes == taken * size


def test_closing_frees_a_reader_that_waits() -> None:
    """Who has no room for a message does not wait for it beyond the end."""
    ours = link()
    ours._take_message(0, bytes(WAITING_BYTES))
    reader = threading.Thread(target=ours._take_message, args=(1, b"more"), daemon=True)
    reader.start()
    ours.close()
    reader.join(120)
    assert not reader.is_alive()


def test_a_peer_that_does_not_read_cannot_hold_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who stops tells the peer why if it listens, and leaves in any case."""
    monkeypatch.setattr(reliable, "ABORT_SECONDS", 0.05)
    release = threading.Event()

    class Stuck(Silent):
        def send(self, *parts: Data) -> None:
            release.wait(120)

    ours = link()
    ours._connection = Stuck()
    ours.abort("a reason")
    assert ours._is_closed
    assert not release.is_set()
    release.set()
