"""A channel hands on the message that is due, and refuses every other one."""

from collections.abc import Callable

import pytest

from plumbob.errors import RemoteProtocolError, TransportError
from plumbob.lab.simulate.memory_link import linked_pair
from plumbob.net import Link
from plumbob.protocol.channel import Channel
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind, Message

BODY = b"eight by"


def channel_and_peer() -> tuple[Channel, Link]:
    """A channel to `peer`, and the bare end that the peer writes to."""
    here, there = linked_pair()
    return Channel("peer", here, patience=0.1), there


def test_the_message_that_is_due_is_received() -> None:
    """Kind, step, place and size as agreed: the body is handed on."""
    channel, peer = channel_and_peer()
    for sequence in range(3):
        peer.send(Message(Kind.RESIDUALS, 5, sequence, BODY).encode())
        assert channel.receive(Kind.RESIDUALS, 5, len(BODY)) == BODY


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (Message(Kind.OPENED_SUMS, 5, 0, BODY).encode(), "expected RESIDUALS of step 5 as message 0, got OPENED_SUMS"),
        (Message(Kind.RESIDUALS, 4, 0, BODY).encode(), "got RESIDUALS of step 4 as message 0"),
        (Message(Kind.RESIDUALS, 6, 0, BODY).encode(), "got RESIDUALS of step 6 as message 0"),
        (Message(Kind.RESIDUALS, 5, 1, BODY).encode(), "got RESIDUALS of step 5 as message 1"),
        (Message(Kind.RESIDUALS, 5, 0, BODY[1:]).encode(), "expected RESIDUALS with 8 bytes, got 7"),
        (Message(Kind.RESIDUALS, 5, 0, BODY + b"!").encode(), "expected RESIDUALS with 8 bytes, got 9"),
        (Message(Kind.RESIDUALS, 5, 0, BODY).encode()[: HEADER.size - 1], "at least 18 bytes"),
        (b"XX" + Message(Kind.RESIDUALS, 5, 0, BODY).encode()[2:], "kind 22616 is unknown"),
    ],
    ids=["kind", "earlier step", "later step", "sequence", "short", "long", "truncated", "unknown"],
)
def test_anything_else_is_the_peers_fault(data: bytes, words: str) -> None:
    """Wrong kind, step, sequence, size or form: RemoteProtocolError, with the peer's name and what was due."""
    channel, peer = channel_and_peer()
    peer.send(data)
    with pytest.raises(RemoteProtocolError, match=f"^peer: .*{words}"):
        channel.receive(Kind.RESIDUALS, 5, len(BODY))


def test_a_text_has_a_longest_size_too() -> None:
    """Where the plan does not say a body's size, a fixed limit does."""
    channel, peer = channel_and_peer()
    peer.send(Message(Kind.HELLO, 0, 0, b" " * LONGEST_TEXT).encode())
    assert len(channel.receive(Kind.HELLO, 0, None)) == LONGEST_TEXT
    peer.send(Message(Kind.HELLO, 0, 1, b" " * (LONGEST_TEXT + 1)).encode())
    with pytest.raises(RemoteProtocolError, match=f"at most {LONGEST_TEXT} bytes"):
        channel.receive(Kind.HELLO, 0, None)


@pytest.mark.parametrize("end", [lambda peer: None, lambda peer: peer.close()], ids=["silent", "closed"])
def test_a_lost_peer_is_named(end: Callable[[Link], None]) -> None:
    """Among many peers, the error says which one is gone."""
    channel, peer = channel_and_peer()
    end(peer)
    with pytest.raises(TransportError, match=r"^peer: "):
        channel.receive(Kind.HELLO, 0, None)


def test_an_error_shows_nothing_of_a_body() -> None:
    """What was refused is described by its header alone."""
    channel, peer = channel_and_peer()
    peer.send(Message(Kind.START_SHARE, 0, 0, b"secret").encode())
    with pytest.raises(RemoteProtocolError) as caught:
        channel.receive(Kind.RESIDUALS, 0, 6)
    assert "secret" not in str(caught.value)


def test_both_sides_agree_on_what_was_said() -> None:
    """The hash over all that one sent is the other's over all that it received, and the counts are the same."""
    ends = linked_pair()
    left, right = Channel("right", ends[0]), Channel("left", ends[1])
    for step in range(4):
        left.send(Kind.RESIDUALS, step, BODY * step)
        right.receive(Kind.RESIDUALS, step, len(BODY) * step)
    right.send(Kind.OPENED_SUMS, 1, BODY)
    left.receive(Kind.OPENED_SUMS, 1, len(BODY))
    assert (left.sent_hash, left.received_hash) == (right.received_hash, right.sent_hash)
    assert left.sent_hash != left.received_hash
    assert (left.traffic.messages_sent, left.traffic.bytes_sent) == (4, 4 * HEADER.size + 6 * len(BODY))
    assert (right.traffic.messages_received, right.traffic.bytes_received) == (4, 4 * HEADER.size + 6 * len(BODY))
