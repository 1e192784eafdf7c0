"""Links in memory: in order, whole, with a deadline and an end."""

import threading

import pytest

from plumbob.errors import TransportError
from plumbob.lab.simulate.memory_link import linked_pair


def test_messages_arrive_in_order_on_the_other_end() -> None:
    """What one end sends, the other receives: whole, once, in the same order, and as it was when it was sent."""
    here, there = linked_pair()
    buffer = bytearray(b"before")
    for data in (b"first", b"", b"third" * 1000, buffer):
        here.send(data)  # type: ignore[arg-type]  # The last one is not frozen, in spite of the types.
    buffer[:] = b"after!"
    there.send(b"from there")
    assert [there.receive(1) for _ in range(4)] == [b"first", b"", b"third" * 1000, b"before"]
    assert here.receive(1) == b"from there"


def test_waiting_has_a_deadline() -> None:
    """A silent peer is a TransportError after the time that was asked for."""
    here, _ = linked_pair()
    with pytest.raises(TransportError, match=r"within 0\.05 s"):
        here.receive(0.05)


def test_a_closed_end_is_heard_after_its_messages() -> None:
    """What was sent before closing still arrives; after it, every call says that the other end is closed."""
    here, there = linked_pair()
    here.send(b"last words")
    here.close()
    here.close()
    assert there.receive(1) == b"last words"
    for _ in range(2):
        with pytest.raises(TransportError, match="closed"):
            there.receive(10)


def test_closing_wakes_a_waiting_peer() -> None:
    """A peer that waits already hears at once, not at its deadline."""
    here, there = linked_pair()
    threading.Timer(0.05, here.close).start()
    with pytest.raises(TransportError, match="closed"):
        there.receive(600)
