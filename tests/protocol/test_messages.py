"""Messages: what is written is read, and nothing else is. The bytes of every kind are in `tests/known_answers`."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plumbob.errors import RemoteProtocolError
from plumbob.protocol.messages import HEADER, Kind, Message, decode

NUMBERS = st.integers(0, 2**64 - 1)


@given(st.sampled_from(Kind), NUMBERS, NUMBERS, st.binary(max_size=200))
def test_encoding_and_back(kind: Kind, step: int, sequence: int, body: bytes) -> None:
    """Every message reads back as itself, byte for byte."""
    message = Message(kind, step, sequence, body)
    assert decode(message.encode()) == message
    assert decode(message.encode()).encode() == message.encode()


@given(st.binary(max_size=120))
@example(b"")
@example(HEADER.pack(1, 0, 2**64 - 1))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    """Random bytes never raise anything but RemoteProtocolError, and what is accepted is written the same again."""
    with contextlib.suppress(RemoteProtocolError):
        assert decode(data).encode() == data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x01\x00", "at least 18 bytes"),
        (HEADER.pack(0, 0, 0), "kind 0 is unknown"),
        (HEADER.pack(999, 0, 0), "kind 999 is unknown"),
    ],
)
def test_a_damaged_message_is_refused_with_the_reason(data: bytes, words: str) -> None:
    """The error says what was expected and what came."""
    with pytest.raises(RemoteProtocolError, match=words):
        decode(data)


def test_a_message_prints_nothing_of_its_body() -> None:
    """A body may hold what is nobody else's business."""
    assert "secret" not in repr(Message(Kind.START_SHARE, 0, 0, b"secret"))
