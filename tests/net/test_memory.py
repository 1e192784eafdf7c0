"""Links in memory: in order, whole, with a deadline and an end."""

import threading

import pytest

from plumbob.errors import TransportError
from plumbob.net import linked_pair


def test_messages_arrive_in_order_on_the_other_end() -> None:
    """What one end sends, the other receives: whole, once, in the same order."""
    here, there = linked_pair()
    for data in (b"first", b"", b"third" * 1000):
        here.send(data)
    assert [there.receive(1) for _ in range(3)] == [b"first", b"", b"third" * 1000]


def test_both_directions_are_apart() -> None:
    """Nobody receives what it sent itself."""
    here, there = linked_pair()
    here.send(b"from here")
    there.send(b"from there")
    assert here.receive(1) == b"from there"
    assert there.receive(1) == b"from here"


def test_a_message_is_a_copy() -> None:
    """What was handed over no longer changes with the sender's buffer."""
    here, there = linked_pair()
    buffer = bytearray(b"before")
    here.send(buffer)  # type: ignore[arg-type]  # What is not frozen, in spite of the types.
    buffer[:] = b"after!"
    assert there.receive(1) == b"before"


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


def test_closing_twice_is_closing() -> None:
    """A second close changes nothing."""
    here, there = linked_pair()
    here.close()
    here.close()
    with pytest.raises(TransportError, match="closed"):
        there.receive(1)
