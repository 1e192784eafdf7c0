"""net/numbered.py: which message is news, which is sent again, and how many may wait."""

from contextlib import AbstractContextManager, nullcontext

import pytest

from plumbob.errors import RemoteProtocolError
from plumbob.net.numbered import REMEMBERED, WAITING, WAITING_BYTES, Inbound, Memory, Outbound

THREE = (b"first", b"second", b"third")
AGAIN = "a second time with other contents"


def refused(words: str | None) -> AbstractContextManager[object]:
    """A refusal in these words, or nothing."""
    return nullcontext() if words is None else pytest.raises(RemoteProtocolError, match=words)


@pytest.mark.parametrize(
    ("confirmed", "position", "expected"),
    [
        (0, 0, (0, (b"first",))),
        (0, 2, (2, (b"third",))),
        (0, 3, None),
        # Another connection confirmed meanwhile what this one was about to send.
        (2, 0, (2, (b"third",))),
        (3, 0, None),
    ],
)
def test_a_connection_continues_with_what_the_peer_needs(
    confirmed: int, position: int, expected: tuple[int, tuple[bytes]] | None
) -> None:
    """Nothing is sent that the peer has for good, and nothing is left out."""
    ours = Outbound("bank", Memory(0, THREE, 3))
    assert ours.confirm(confirmed) == (confirmed > 0)
    assert ours.message_from(position) == expected


def test_what_was_never_sent_cannot_be_confirmed() -> None:
    """After a restart, what an earlier start sent counts as sent; saying it again adds no message."""
    ours = Outbound("bank", Memory(0, THREE[:1], 3))
    with refused("confirms message 4, which was never sent"):
        ours.confirm(4)
    assert ours.confirm(3)
    assert not ours.confirm(2)
    for data in THREE[1:]:
        ours.add((data,))
    assert ours.message_from(0) is None
    ours.add((b"fourth",))
    assert ours.message_from(0) == (3, (b"fourth",))


@pytest.mark.parametrize(
    ("number", "data", "words"),
    [
        (REMEMBERED + 3, b"new", None),
        (REMEMBERED + 4, b"new", f"expected message {REMEMBERED + 3}, got {REMEMBERED + 4}"),
        # One that waits, the last one taken, an older one, and one that is too old to remember.
        (REMEMBERED + 2, b"data", None),
        (REMEMBERED + 2, b"other", AGAIN),
        (REMEMBERED + 1, b"data", None),
        (REMEMBERED + 1, b"other", AGAIN),
        (REMEMBERED, b"data", None),
        (REMEMBERED, b"other", AGAIN),
        (0, b"other", None),
    ],
)
def test_a_message_is_taken_once(number: int, data: bytes, words: str | None) -> None:
    """The next one is news, an earlier one is not; with other contents it ends the run, and so does a gap."""
    theirs = Inbound("bank", Memory(), lambda number: None)
    for place in range(REMEMBERED + 3):
        assert theirs.is_news(place, b"data")
        theirs.add(b"data")
        if place <= REMEMBERED + 1:
            theirs.take()
    with refused(words):
        assert theirs.is_news(number, data) == (data == b"new")


@pytest.mark.parametrize(("size", "most"), [(1, WAITING), (WAITING_BYTES // 4, 4), (WAITING_BYTES + 1, 1)])
def test_what_waits_is_bounded_in_number_and_in_bytes(size: int, most: int) -> None:
    """A peer that sends and sends has to wait, sooner with long messages; one always gets in, and each makes room."""
    theirs, data = Inbound("bank", Memory(), lambda number: None), bytes(size)
    for _ in range(most):
        assert theirs.has_room_for(data)
        theirs.add(data)
    assert not theirs.has_room_for(data)
    assert theirs.take() is data
    assert theirs.has_room_for(data)
