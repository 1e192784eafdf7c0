"""What one end of a link knows about the messages of both sides: no socket, no thread and no lock.

In each direction messages are numbered from 0. What was sent is kept until the peer says that it is on the peer's disk.
A message that comes twice is taken once; one that comes twice with different contents is equivocation, and ends the
run.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from plumbob.errors import RemoteProtocolError
from plumbob.net.frames import Data

REMEMBERED = 64  # Digests of messages received.
# Messages received and not yet asked for: beyond either number the network has to wait, but one is always taken.
WAITING = 64
WAITING_BYTES = 1 << 26


@dataclass(frozen=True, repr=False)
class Memory:
    """What a link must know about the time before a restart; nothing, for a first start."""

    first: int = 0
    """The number of the first message in `unconfirmed`."""
    unconfirmed: Sequence[bytes] = ()
    """Messages sent, oldest first, that the peer has not confirmed, as far as the journal has them."""
    sent: int = 0
    """How many messages were sent; those that are not here will be sent again, the same, before anything new."""
    received: int = 0
    digests: Mapping[int, bytes] = field(default_factory=dict)
    """The digests of the last messages received, by number."""


class Outbound:
    """Our messages, each kept until the peer has it for good."""

    def __init__(self, peer: str, memory: Memory) -> None:
        self._peer = peer
        self._unconfirmed: deque[Sequence[Data]] = deque((data,) for data in memory.unconfirmed)
        self.first = memory.first
        """The number of the first message that the peer has not confirmed."""
        self._next = memory.first + len(self._unconfirmed)
        self._sent_before = memory.sent

    @property
    def sent(self) -> int:
        """How many messages the peer may have seen, those of an earlier start among them."""
        return max(self._next, self._sent_before)

    def add(self, parts: Sequence[Data]) -> None:
        """Number the next message."""
        # After a restart, the peer may have what is said again.
        if self._next >= self.first:
            self._unconfirmed.append(parts)
        self._next += 1

    def message_from(self, position: int) -> tuple[int, Sequence[Data]] | None:
        """The first message from this number on that the peer needs, with its number; None if there is none yet."""
        # Another connection may have confirmed meanwhile what stood here.
        number = max(position, self.first)
        return (number, self._unconfirmed[number - self.first]) if number < self._next else None

    def confirm(self, count: int) -> bool:
        """Drop what the peer has on its disk; False where that is no news."""
        if count > self.sent:
            raise RemoteProtocolError(f"{self._peer}: confirms message {count}, which was never sent")
        if count <= self.first:
            return False
        for _ in range(min(count - self.first, len(self._unconfirmed))):
            self._unconfirmed.popleft()
        self.first = count
        return True


class Inbound:
    """The peer's messages: each once and in order, and only so many waiting to be asked for.

    `digest` gives the SHA-256 of a message that was just received, if somebody else has calculated it.
    """

    def __init__(self, peer: str, memory: Memory, digest: Callable[[int], bytes | None]) -> None:
        self._peer = peer
        self._digest = digest
        self.expected = memory.received
        """The number of the next message that is news."""
        self._digests = dict(memory.digests)
        self._waiting: deque[Data] = deque()
        self._waiting_bytes = 0
        self._taken = memory.received
        """How many messages `take` has returned."""
        self._last: Data | None = None
        """The message taken last: its digest is needed only when the next one is wanted."""

    def __len__(self) -> int:
        return len(self._waiting)

    def is_news(self, number: int, data: Data) -> bool:
        """Whether this is the next message, which counts as received from now on; False for one that comes again."""
        if number > self.expected:
            raise RemoteProtocolError(f"{self._peer}: expected message {self.expected}, got {number}")
        if number < self.expected:
            self._refuse_other_contents(number, data)
            return False
        self.expected += 1
        return True

    def has_room_for(self, data: Data) -> bool:
        """Whether one more message may wait; there is always room for one."""
        fits = len(self) < WAITING and self._waiting_bytes + len(data) <= WAITING_BYTES
        return not self._waiting or fits

    def add(self, data: Data) -> None:
        """Let a message wait until it is taken."""
        self._waiting.append(data)
        self._waiting_bytes += len(data)

    def take(self) -> Data:
        """The next message that waits."""
        if self._last is not None:
            # Its bytes go now, and only its digest stays.
            number = self._taken - 1
            self._digests[number] = self._digest(number) or sha256(self._last).digest()
            self._digests.pop(number - REMEMBERED, None)
        data = self._last = self._waiting.popleft()
        self._taken += 1
        self._waiting_bytes -= len(data)
        return data

    def _refuse_other_contents(self, number: int, data: Data) -> None:
        """Raise unless this is the message of that number again; one too old to remember counts as the same."""
        place = number - self._taken
        if place >= 0:
            is_same = self._waiting[place] == data
        elif place == -1 and self._last is not None:
            is_same = self._last == data
        else:
            digest = sha256(data).digest()
            is_same = self._digests.get(number, digest) == digest
        if not is_same:
            raise RemoteProtocolError(
                f"{self._peer}: sent message {number} a second time with other contents; two versions of one step "
                "could expose secrets, so the run stops"
            )
