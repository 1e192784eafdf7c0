"""A channel to one peer: messages in order, each one the message that is due.

What is sent and what is awaited is the next message of the schedule, in its order and of its size.
Anything else from a peer, another kind, another step, another size, a repeated or a missing message, ends the run with
a RemoteProtocolError.
"""

import hashlib
import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from plumbob.errors import EngineError, LocalProtocolError, PlumbobError, RemoteProtocolError, TransportError
from plumbob.net import Data, Link
from plumbob.protocol.journal import NO_JOURNAL, Journal
from plumbob.protocol.messages import HEADER, LONGEST_TEXT, Kind, Message, decode_header
from plumbob.protocol.schedules import Due

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
        self._is_free = False
        self._outgoing: DueMessages | None = None
        self._incoming: DueMessages | None = None

    def follow(self, outgoing: Iterable[Due], incoming: Iterable[Due], *, may_skip: bool = False) -> None:
        """Append these messages to those that are due; from the first call on, no others are sent or accepted.

        Before it, a message of any kind passes, of at most `LONGEST_TEXT` bytes: a greeting comes before any schedule.
        `may_skip`: an earlier start may have said the first of them.
        """
        self._outgoing, self._incoming = self._outgoing or DueMessages(), self._incoming or DueMessages()
        for direction, due in ((self._outgoing, outgoing), (self._incoming, incoming)):
            direction.extend(due)
            direction.may_skip = direction.may_skip or may_skip

    def break_free(self) -> None:
        """Stop following a schedule: the red team's parties keep to none."""
        self._is_free = True

    def send(self, kind: Kind, step: int, body: bytes) -> None:
        self._refuse_unplanned(kind, step, len(body))
        message = Message(kind, step, self.traffic.messages_sent, body)
        digest = message.digest
        # What it follows from is on the disk before it leaves.
        if self._journal.sending(self.peer, message, digest):
            self._link.send(message.header, body)
        # Seals stand beside the streams: a simulation, where nobody signs, has the same ones.
        if kind is not Kind.SEAL:
            self.sent_hash = chained(self.sent_hash, digest)
            self.traffic.messages_sent += 1
            self.traffic.bytes_sent += len(message)

    def _refuse_unplanned(self, kind: Kind, step: int, size: int) -> None:
        """Refuse to send a message that is not due, or in another size."""
        if self._outgoing is None or self._is_free:
            return
        due = self._outgoing.take(kind, step)
        if size > due.size or (size < due.size and not due.is_most):
            raise LocalProtocolError(f"{kind.name} of step {step} has {due.size} bytes, and we would send {size}")

    def receive(self, kind: Kind, step: int, size: int | None = None) -> bytes:
        """The body of the message that is due; `size` only where the schedule has a limit and we know more."""
        return bytes(self.receive_view(kind, step, size))

    def receive_view(self, kind: Kind, step: int, size: int | None = None) -> memoryview:
        """The same as `receive` without a copy, for bodies of many megabytes."""
        return memoryview(self._received_message(kind, step, size))[HEADER.size :]

    def _received_message(self, kind: Kind, step: int, size: int | None) -> Data:
        """The whole message, checked and written down."""
        size = self._size_due(kind, step, size)
        replayed = self._journal.arrived(self.peer)
        data = self._next(kind) if replayed is None else replayed
        due, came = (kind, step, self.traffic.messages_received), self._header(data)
        if came != due:
            raise RemoteProtocolError(f"{self.peer}: expected {_describe(*due)}, got {_describe(*came)}")
        length = len(data) - HEADER.size
        if size is None and length > LONGEST_TEXT and not self._is_free:
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
            self.received_hash = chained(self.received_hash, digest)
            self.traffic.messages_received += 1
            self.traffic.bytes_received += len(data)
        return data

    def _size_due(self, kind: Kind, step: int, size: int | None) -> int | None:
        """The size of the peer's next message, None for a text; waiting for any other message is an error."""
        if self._incoming is None or self._is_free:
            return size
        due = self._incoming.take(kind, step)
        if due.is_most:
            return size
        if size is not None and size != due.size:
            raise LocalProtocolError(f"{kind.name} has {due.size} bytes, and we would wait for {size}")
        return due.size

    def _next(self, kind: Kind) -> Data:
        self.waiting_for = kind.name, time.monotonic()
        try:
            return self._link.receive(self._patience)
        except TransportError as error:
            raise TransportError(f"{self.peer}: {error}") from error
        finally:
            self.waiting_for = None

    def _header(self, data: Data) -> tuple[Kind, int, int]:
        with said_by(self.peer):
            return decode_header(data)

    def state(self) -> bytes:
        """Everything that the next message depends on."""
        traffic = self.traffic
        counts = (traffic.messages_sent, traffic.messages_received, traffic.bytes_sent, traffic.bytes_received)
        return STATE.pack(*counts, self.sent_hash, self.received_hash)

    def restore(self, state: bytes) -> None:
        *counts, self.sent_hash, self.received_hash = STATE.unpack(state)
        for direction in (self._outgoing, self._incoming):
            if direction is not None:
                direction.resume()
        self.traffic = Traffic(counts[0], counts[1], counts[2], counts[3])

    def close(self) -> None:
        self._link.close()


@contextmanager
def said_by(peer: str) -> Iterator[None]:
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


def chained(so_far: bytes, digest: bytes) -> bytes:
    """The next value of a hash over a stream, which can be stored and continued."""
    return hashlib.sha256(so_far + digest).digest()


class DueMessages:
    """The messages of one direction of a channel, and which of them is next."""

    def __init__(self) -> None:
        self._due: Iterator[Due] = iter(())
        self._next: deque[Due] = deque()
        self._repeating: list[Due] = []
        self._last: Due | None = None
        self.may_skip = False
        """Whether the first message may be any later one, after a restart: an earlier start said those before it."""

    def extend(self, due: Iterable[Due]) -> None:
        """Append messages after all others."""
        self._due = chain(self._due, due)

    def resume(self) -> None:
        """Continue where an earlier start was: behind the set-up and the keys, and perhaps behind some steps."""
        # The end of a run has the step of its set-up, and agrees on keys as well: those are not the first ones again.
        while self._look() and not self._next[0].step:
            self._remember(self._next.popleft())
        self.may_skip = True

    def take(self, kind: Kind, step: int) -> Due:
        """Take the message that is due; LocalProtocolError where it is another one, or none."""
        found = self._ahead(kind, step)
        if found is None:
            found = self._repeated(kind, step)
        if found is None:
            expected = f"{self._next[0].kind.name} of step {self._next[0].step}" if self._look() else "nothing more"
            raise LocalProtocolError(f"{kind.name} of step {step} is not due; expected {expected}")
        self._last = found
        return found

    def _look(self) -> bool:
        """Fetch the next message; False if there is none."""
        if not self._next:
            self._next.extend(due for due in (next(self._due, None),) if due is not None)
        return bool(self._next)

    def _ahead(self, kind: Kind, step: int) -> Due | None:
        while self._look():
            due = self._next[0]
            if (due.kind, due.step) == (kind, step):
                self._next.popleft()
                self._remember(due)
                self.may_skip = False
                return due
            if not self.may_skip:
                return None
            self._remember(self._next.popleft())
        return None

    def _remember(self, due: Due) -> None:
        if not due.again:
            self._repeating = []
        elif self._repeating and self._repeating[0].again != due.again:
            self._repeating = [due]
        else:
            self._repeating.append(due)

    def _repeated(self, kind: Kind, step: int) -> Due | None:
        """A message that repeats with the last one: later in this round, or in a later round."""
        kinds = [due.kind for due in self._repeating]
        if self._last is None or kind not in kinds:
            return None
        is_later = (step, kinds.index(kind)) > (self._last.step, kinds.index(self._last.kind))
        return replace(self._repeating[kinds.index(kind)], step=step, is_most=True) if is_later else None
