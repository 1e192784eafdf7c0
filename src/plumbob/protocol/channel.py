"""A channel to one peer: messages in order, each one of the kind, step and size that the receiver waits for.

Anything else from a peer, another kind, another step, another size, a repeated or a missing message, ends the run with
a RemoteProtocolError. Kind, step and size stand where a message is received: whoever calls has the plan, the layout or
the count that gives them.
"""

import hashlib
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from plumbob.errors import EngineError, PlumbobError, RemoteProtocolError, TransportError
from plumbob.net import Data, Link
from plumbob.protocol.journal import NO_JOURNAL, Journal
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind, Message, decode_header

PATIENCE = 600.0  # Seconds to wait for a peer that is still calculating.
NOTHING = bytes(32)  # The hash over a stream before its first message.
STATE = struct.Struct("<QQQQ32s32s")


@dataclass
class Traffic:
    """Counts of what went over one channel, for the receipt."""

    messages_sent: int = 0
    messages_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


class Channel:
    """The messages between this party and one peer."""

    def __init__(self, peer: str, link: Link, patience: float = PATIENCE, journal: Journal = NO_JOURNAL) -> None:
        self.peer = peer
        self.recording: list[bytes] | None = None
        """Every message received, byte for byte, if somebody sets a list here."""
        self.traffic = Traffic()
        self.waiting_for: tuple[str, float] | None = None
        """The message that `receive` waits for, and since when; another thread may look."""
        self._link = link
        self._patience = patience
        self._journal = journal
        self.sent_hash = self.received_hash = NOTHING
        """Hashes over all bytes sent and all bytes received; the peer's two are the same, the other way round."""

    def send(self, kind: Kind, step: int, body: bytes) -> None:
        message = Message(kind, step, self.traffic.messages_sent, body)
        digest = message.digest
        # What it follows from is on the disk before it leaves.
        if self._journal.log_sent(self.peer, message, digest):
            self._link.send(message.header, body)
        # Seals stand beside the streams: a simulation, where nobody signs, has the same ones.
        if kind is not Kind.SEAL:
            self.sent_hash = next_hash(self.sent_hash, digest)
            self.traffic.messages_sent += 1
            self.traffic.bytes_sent += len(message)

    def receive(self, kind: Kind, step: int, size: int | None) -> bytes:
        """The body of the message that is due: of so many bytes, or a text, whose size nobody knows, with None."""
        return bytes(self.receive_view(kind, step, size))

    def receive_view(self, kind: Kind, step: int, size: int | None) -> memoryview:
        """The same as `receive` without a copy, for bodies of many megabytes."""
        return memoryview(self._take_message(kind, step, size))[HEADER.size :]

    def _take_message(self, kind: Kind, step: int, size: int | None) -> Data:
        """The whole message, checked and written down."""
        replayed = self._journal.next_logged(self.peer)
        data = self._next(kind) if replayed is None else replayed
        due, came = (kind, step, self.traffic.messages_received), self._header(data)
        if came != due:
            raise RemoteProtocolError(f"{self.peer}: expected {_describe(*due)}, got {_describe(*came)}")
        length = len(data) - HEADER.size
        if size is None and length > LONGEST_TEXT:
            raise RemoteProtocolError(
                f"{self.peer}: expected {kind.name} with at most {LONGEST_TEXT} bytes, got {length}"
            )
        if size is not None and length != size:
            raise RemoteProtocolError(
                f"{self.peer}: expected {kind.name} with {size} bytes, got {length}; do the plans agree?"
            )
        digest = digest_of(data)
        if replayed is None:
            self._journal.keep(self.peer, data, digest)
        if self.recording is not None:
            self.recording.append(bytes(data))
        if kind is not Kind.SEAL:
            self.received_hash = next_hash(self.received_hash, digest)
            self.traffic.messages_received += 1
            self.traffic.bytes_received += len(data)
        return data

    def _next(self, kind: Kind) -> Data:
        self.waiting_for = kind.name, time.monotonic()
        try:
            return self._link.receive(self._patience)
        except TransportError as error:
            raise TransportError(f"{self.peer}: {error}") from error
        finally:
            self.waiting_for = None

    def _header(self, data: Data) -> tuple[Kind, int, int]:
        with blame(self.peer):
            return decode_header(data)

    def state(self) -> bytes:
        """Everything that the next message depends on."""
        traffic = self.traffic
        counts = (traffic.messages_sent, traffic.messages_received, traffic.bytes_sent, traffic.bytes_received)
        return STATE.pack(*counts, self.sent_hash, self.received_hash)

    def restore(self, state: bytes) -> None:
        *counts, self.sent_hash, self.received_hash = STATE.unpack(state)
        self.traffic = Traffic(counts[0], counts[1], counts[2], counts[3])

    def close(self) -> None:
        self._link.close()


@contextmanager
def blame(peer: str) -> Iterator[None]:
    """Name the peer whose bytes are refused; a failing engine of our own names nobody."""
    try:
        yield
    except EngineError:
        raise
    except PlumbobError as error:
        raise RemoteProtocolError(f"{peer}: {error}") from None


def _describe(kind: Kind, step: int, sequence: int) -> str:
    return f"{kind.name} of step {step} as message {sequence}"


def digest_of(data: Data) -> bytes:
    """The digest that recognises a message which comes twice; a stream's hash is made of these."""
    return hashlib.sha256(data).digest()


def next_hash(so_far: bytes, digest: bytes) -> bytes:
    """The next value of a hash over a stream, which can be stored and continued."""
    return hashlib.sha256(so_far + digest).digest()
