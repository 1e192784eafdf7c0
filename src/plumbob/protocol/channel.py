"""A channel to one peer: messages in order, each one the message that is due.

`receive` says what it accepts. Anything else, another kind, another step, another size, a repeated or a missing
message, ends the run with a RemoteProtocolError.
"""

import hashlib
from dataclasses import dataclass

from plumbob.errors import RemoteProtocolError, TransportError
from plumbob.protocol.messages import Kind, Message, decode
from plumbob.transport import Link

PATIENCE = 600.0  # Seconds to wait for a peer that is still calculating.
LONGEST_TEXT = 4096  # Bytes of a body whose size the plan does not say.


@dataclass
class Traffic:
    """What went over one channel, for the receipt."""

    messages_sent: int = 0
    messages_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


class Channel:
    """The messages between this party and one peer."""

    def __init__(self, peer: str, link: Link, patience: float = PATIENCE) -> None:
        self.peer = peer
        self.tape: list[bytes] | None = None
        """Every message received, byte for byte, once somebody puts a list here to keep them."""
        self.traffic = Traffic()
        self._link = link
        self._patience = patience
        self._sent, self._received = hashlib.sha256(), hashlib.sha256()

    def send(self, kind: Kind, step: int, body: bytes) -> None:
        data = Message(kind, step, self.traffic.messages_sent, body).encode()
        self._link.send(data)
        self._sent.update(data)
        self.traffic.messages_sent += 1
        self.traffic.bytes_sent += len(data)

    def receive(self, kind: Kind, step: int, size: int | None) -> bytes:
        """The body of the message that is due; `size` None only where the body is text that is checked by itself."""
        data = self._next()
        message = self._decoded(data)
        due = Message(kind, step, self.traffic.messages_received, b"")
        if (message.kind, message.step, message.sequence) != (due.kind, due.step, due.sequence):
            raise RemoteProtocolError(f"{self.peer}: expected {_shown(due)}, got {_shown(message)}")
        if size is None and len(message.body) > LONGEST_TEXT:
            raise RemoteProtocolError(
                f"{self.peer}: expected {kind.name} with at most {LONGEST_TEXT} bytes, got {len(message.body)}"
            )
        if size is not None and len(message.body) != size:
            raise RemoteProtocolError(
                f"{self.peer}: expected {kind.name} with {size} bytes, got {len(message.body)}; do the plans agree?"
            )
        self._received.update(data)
        if self.tape is not None:
            self.tape.append(data)
        self.traffic.messages_received += 1
        self.traffic.bytes_received += len(data)
        return message.body

    def _next(self) -> bytes:
        try:
            return self._link.receive(self._patience)
        except TransportError as error:
            raise TransportError(f"{self.peer}: {error}") from error

    def _decoded(self, data: bytes) -> Message:
        try:
            return decode(data)
        except RemoteProtocolError as error:
            raise RemoteProtocolError(f"{self.peer}: {error}") from None

    @property
    def stream_hashes(self) -> tuple[str, str]:
        """Over all bytes sent and all bytes received: ours of what we sent is the peer's of what it received."""
        return self._sent.hexdigest(), self._received.hexdigest()

    def close(self) -> None:
        self._link.close()


def _shown(message: Message) -> str:
    return f"{message.kind.name} of step {message.step} as message {message.sequence}"
