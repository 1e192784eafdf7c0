"""Messages: what is written is read, and nothing else is."""

import contextlib
import struct

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
@example(b"PLMB")
@example(HEADER.pack(b"PLMB", 1, 1, 0, 0, 2**64 - 1))
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
        (b"PLMB\x01\x00", "at least 32 bytes"),
        (HEADER.pack(b"HTTP", 1, 1, 0, 0, 0), "version 1"),
        (HEADER.pack(b"PLMB", 2, 1, 0, 0, 0), "version 1"),
        (HEADER.pack(b"PLMB", 1, 0, 0, 0, 0), "kind 0 is unknown"),
        (HEADER.pack(b"PLMB", 1, 999, 0, 0, 0), "kind 999 is unknown"),
        (HEADER.pack(b"PLMB", 1, 1, 0, 0, 5) + b"four", "announces a body of 5 bytes, 4 came"),
        (HEADER.pack(b"PLMB", 1, 1, 0, 0, 3) + b"four", "announces a body of 3 bytes, 4 came"),
    ],
)
def test_a_damaged_message_is_refused_with_the_reason(data: bytes, words: str) -> None:
    """The error says what was expected and what came."""
    with pytest.raises(RemoteProtocolError, match=words):
        decode(data)


def test_the_layout_is_frozen() -> None:
    """The documented bytes: magic, version, kind, step, sequence, size, body, all little-endian."""
    written = Message(Kind.MASKED_SUMS, 258, 3, b"\xaa\xbb").encode()
    assert written.hex() == "504c4d4201000800020100000000000003000000000000000200000000000000aabb"
    assert struct.calcsize(HEADER.format) == 32


def test_the_numbers_of_the_kinds_are_frozen() -> None:
    """A number on the wire means the same for ever."""
    assert {kind.name: int(kind) for kind in Kind} == {
        "HELLO": 1,
        "SEED_COMMITMENT": 2,
        "SEED_SHARE": 3,
        "CONFIRMATION": 4,
        "PUBLIC_KEY": 5,
        "PAIR_KEY": 6,
        "RESIDUALS": 7,
        "MASKED_SUMS": 8,
        "OPENED_SUMS": 9,
        "SCORES": 10,
        "JOINT_RESIDUALS": 11,
        "START_SHARE": 12,
        "WEIGHT_SHARE": 13,
        "SCORE_SHARE": 14,
        "SIGNATURE": 15,
        "SEAL": 18,
        "NUMBERS": 19,
        "BOUND_SHARE": 17,
        "BLINDED_IDS": 20,
        "TWICE_BLINDED_IDS": 21,
        "SHUFFLED_IDS": 22,
        "UNBLINDED_IDS": 23,
        "ALIGNMENT_OPENING": 24,
        "ALIGNMENT_DECISION": 25,
        "RETURN_COMMITMENT": 26,
        "RETURN_CHALLENGE": 28,
        "RETURN_PROOF": 29,
        "QUERY": 30,
        "QUERY_ROWS": 31,
        "QUERY_VERDICT": 32,
        "QUERY_DECISION": 33,
        "LATTICE_KEYS": 40,
        "KEY_CHALLENGES": 41,
        "KEY_COMMITMENTS": 42,
        "KEY_REVEALS": 43,
        "KEY_NONCES": 44,
        "LATTICE_REQUEST": 45,
        "LATTICE_REPLY": 46,
        "MASKED_SHARE": 47,
        "BOUND_HASHES": 48,
        "PROPOSAL_ROLE": 50,
        "PROPOSAL_DRAFT": 51,
        "PROPOSAL_WIDTH": 52,
        "HELD_OUT_ROWS": 54,
        "PROPOSAL_PLAN": 53,
        "UNBLINDING_PROOF": 55,
        "ID_COUNTS": 56,
    }


def test_a_message_prints_nothing_of_its_body() -> None:
    """A body may hold what is nobody else's business."""
    assert "secret" not in repr(Message(Kind.START_SHARE, 0, 0, b"secret"))
