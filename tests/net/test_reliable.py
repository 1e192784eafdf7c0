"""net/reliable.py: where two connections to one peer overlap. For whole runs see tests/party and tests/fuzz."""

import threading

import pytest
from msgspec import structs

from plumbob.errors import RemoteProtocolError, TransportError
from plumbob.net import Data, reliable
from plumbob.net.greeting import Greeting
from plumbob.net.numbered import WAITING_BYTES, Memory
from plumbob.net.reliable import OUTDATED_GREETINGS, ReliableLink

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


def test_a_peer_that_sends_too_much_waits() -> None:
    """The connection's thread takes the next message once somebody asks for one that waits."""
    ours, more = link(), threading.Event()
    ours._take_message(0, bytes(WAITING_BYTES))

    def take() -> None:
        ours._take_message(1, b"more")
        more.set()

    threading.Thread(target=take, daemon=True).start()
    assert not more.wait(0.1)
    assert len(ours.receive(120)) == WAITING_BYTES
    assert more.wait(120)
    assert ours.receive(120) == b"more"


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
