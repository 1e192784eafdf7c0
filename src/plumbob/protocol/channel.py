"""A channel to one peer: messages in order, each one the message that is due.

`receive` says what it accepts, in the order of the protocol's table (order.py). Anything else, another kind, another
step, another size, a repeated or a missing message, ends the run with a RemoteProtocolError.
"""

import hashlib
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

from plumbob.errors import LocalProtocolError, RemoteProtocolError, TransportError
from plumbob.protocol.journal import NO_JOURNAL, Journal
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind, Message, decode_header
from plumbob.protocol.order import ChannelOrder
from plumbob.protocol.turns import MessageOrder
from plumbob.transport import Link

PATIENCE = 600.0  # Seconds to wait for a peer that is still calculating.
NOTHING = bytes(32)  # The hash over a stream before its first message.
STATE = struct.Struct("<QQQQ32s32s")


@dataclass
class Traffic:
    """What went over one channel, for the receipt."""

    messages_sent: int = 0
    messages_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


class Channel:
    """The messages between this party and one peer."""

    def __init__(self, peer: str, link: Link, patience: float = PATIENCE, journal: Journal = NO_JOURNAL) -> None:
        self.peer = peer
        self.recording: list[bytes] | None = None
        """Every message received, byte for byte, once somebody puts a list here to keep them."""
        self.traffic = Traffic()
        self.waiting_for: tuple[str, float] | None = None
        """While `receive` waits, for what and since when; another thread may look."""
        self._link = link
        self._patience = patience
        self._journal = journal
        self._sent = self._received = NOTHING
        self._order: ChannelOrder | None = None

    def follow(self, table: MessageOrder | None) -> None:
        """From now on, wait only for what the peer may say by this table (`order.heard`), in its order."""
        self._order = None if table is None else ChannelOrder(table)

    def send(self, kind: Kind, step: int, body: bytes) -> None:
        data = Message(kind, step, self.traffic.messages_sent, body).encode()
        # On the disk before it leaves; what left before a restart is the link's to send again.
        if self._journal.sending(self.peer, data):
            self._link.send(data)
        self._sent = _chain(self._sent, digest_of(data))
        self.traffic.messages_sent += 1
        self.traffic.bytes_sent += len(data)

    def receive(self, kind: Kind, step: int, size: int | None) -> bytes:
        """The body of the message that is due; `size` None only where the body is text that is checked by itself."""
        return self._received_message(kind, step, size)[HEADER.size :]

    def receive_view(self, kind: Kind, step: int, size: int) -> memoryview:
        """The same without a copy, for bodies of many megabytes."""
        return memoryview(self._received_message(kind, step, size))[HEADER.size :]

    def _received_message(self, kind: Kind, step: int, size: int | None) -> bytes:
        """All of it, checked and written down."""
        self._refuse_undue(kind, step, size)
        replayed = self._journal.arrived(self.peer)
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
        self._received = _chain(self._received, digest)
        if self.recording is not None:
            self.recording.append(data)
        self.traffic.messages_received += 1
        self.traffic.bytes_received += len(data)
        return data

    def _refuse_undue(self, kind: Kind, step: int, size: int | None) -> None:
        """We must not wait for what the peer will not say, nor for another size than the table's."""
        due = size if self._order is None else self._order.take(kind, step).size
        if isinstance(due, int) and size != due:
            raise LocalProtocolError(f"{kind.name} has {due} bytes, and we would wait for {size}")

    def _next(self, kind: Kind) -> bytes:
        self.waiting_for = kind.name, time.monotonic()
        try:
            return self._link.receive(self._patience)
        except TransportError as error:
            raise TransportError(f"{self.peer}: {error}") from error
        finally:
            self.waiting_for = None

    def _header(self, data: bytes) -> tuple[Kind, int, int]:
        try:
            return decode_header(data)
        except RemoteProtocolError as error:
            raise RemoteProtocolError(f"{self.peer}: {error}") from None

    @property
    def stream_hashes(self) -> tuple[str, str]:
        """Over all bytes sent and all bytes received: ours of what we sent is the peer's of what it received."""
        return self._sent.hex(), self._received.hex()

    @property
    def sent_hash(self) -> bytes:
        """Over all bytes sent."""
        return self._sent

    @property
    def received_hash(self) -> bytes:
        """Over all bytes received."""
        return self._received

    def state(self) -> bytes:
        """Everything that the next message depends on."""
        traffic = self.traffic
        counts = (traffic.messages_sent, traffic.messages_received, traffic.bytes_sent, traffic.bytes_received)
        return STATE.pack(*counts, self._sent, self._received)

    def restore(self, state: bytes) -> None:
        *counts, self._sent, self._received = STATE.unpack(state)
        self.traffic = Traffic(counts[0], counts[1], counts[2], counts[3])

    def close(self) -> None:
        self._link.close()


def _describe(kind: Kind, step: int, sequence: int) -> str:
    return f"{kind.name} of step {step} as message {sequence}"


def digest_of(data: bytes) -> bytes:
    """By which a message that comes twice is known, and of which a stream's hash consists."""
    return hashlib.sha256(data).digest()


def _chain(so_far: bytes, digest: bytes) -> bytes:
    """A hash over a stream that can be put down and taken up again."""
    return hashlib.sha256(so_far + digest).digest()


def compare_streams(channels: Iterable[Channel]) -> None:
    """At the end: what each side sent is what the other one got, bit for bit, or the run has no result."""
    # All are told before any is heard, so that nobody waits in a circle.
    expected = [(channel, channel.stream_hashes) for channel in channels]
    for channel, (sent, received) in expected:
        channel.send(Kind.STREAM_HASHES, 0, bytes.fromhex(sent + received))
    for channel, (sent, received) in expected:
        if channel.receive(Kind.STREAM_HASHES, 0, 2 * len(NOTHING)) != bytes.fromhex(received + sent):
            raise RemoteProtocolError(
                f"{channel.peer}: the two sides' message logs differ, so their results would too; start over with --new"
            )
