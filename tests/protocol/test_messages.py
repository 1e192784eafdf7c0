"""Messages: what is written is read, and nothing else is."""

import contextlib
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plumbob.errors import RemoteProtocolError
from plumbob.protocol.messages import HEADER, Kind, Message, decode

NUMBERS = st.integers(0, 2**64 - 1)
KINDS = {
    1: "HELLO SEED_COMMITMENT SEED_SHARE CONFIRMATION PUBLIC_KEY PAIR_KEY RESIDUALS MASKED_SUMS OPENED_SUMS SCORES "
    "JOINT_RESIDUALS START_SHARE WEIGHT_SHARE SCORE_SHARE SIGNATURE",
    17: "BOUND_SHARE SEAL NUMBERS BLINDED_IDS TWICE_BLINDED_IDS SHUFFLED_IDS UNBLINDED_IDS ALIGNMENT_OPENING "
    "ALIGNMENT_DECISION RETURN_COMMITMENT",
    28: "RETURN_CHALLENGE RETURN_PROOF QUERY QUERY_ROWS QUERY_VERDICT QUERY_DECISION",
    40: "LATTICE_KEYS KEY_CHALLENGES KEY_COMMITMENTS KEY_REVEALS KEY_NONCES LATTICE_REQUEST LATTICE_REPLY "
    "MASKED_SHARE BOUND_HASHES",
    50: "PROPOSAL_ROLE PROPOSAL_DRAFT PROPOSAL_WIDTH PROPOSAL_PLAN",
    55: "UNBLINDING_PROOF",
}
"""The names of the kinds in the order of their numbers, from each of these on."""


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


@given(st.integers(0, HEADER.size + 9), st.integers(0, 255))
def test_a_changed_header_is_refused_or_another_message(place: int, value: int) -> None:
    """A single changed byte is never read as the message that was sent."""
    message = Message(Kind.RESIDUALS, 3, 5, b"ciphertext")
    data = bytearray(message.encode())
    changed = data[place] != value
    data[place] = value
    try:
        assert (decode(bytes(data)) != message) is changed
    except RemoteProtocolError:
        assert changed


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


def test_the_layout_is_frozen() -> None:
    """The documented bytes: kind, step, sequence, body, all little-endian."""
    written = Message(Kind.MASKED_SUMS, 258, 3, b"\xaa\xbb").encode()
    assert written.hex() == "080002010000000000000300000000000000aabb"
    assert struct.calcsize(HEADER.format) == 18


def test_the_numbers_of_the_kinds_are_frozen() -> None:
    """A number on the wire means the same for ever."""
    numbers = {name: first + place for first, names in KINDS.items() for place, name in enumerate(names.split())}
    assert {kind.name: int(kind) for kind in Kind} == numbers


def test_a_message_prints_nothing_of_its_body() -> None:
    """A body may hold what is nobody else's business."""
    assert "secret" not in repr(Message(Kind.START_SHARE, 0, 0, b"secret"))
