"""Two link ends in one process, which the simulation uses. Only bytes pass."""

import queue

from plumbob import counting
from plumbob.errors import DeadlineError, TransportError
from plumbob.net import Data


class MemoryLink:
    """One end of a pair; made by `linked_pair`."""

    def __init__(
        self, outgoing: "queue.SimpleQueue[bytes | None]", incoming: "queue.SimpleQueue[bytes | None]"
    ) -> None:
        self._outgoing = outgoing
        self._incoming = incoming

    def send(self, *parts: Data) -> None:
        self._outgoing.put(b"".join(parts))

    def receive(self, seconds: float) -> bytes:
        try:
            data = self._incoming.get(timeout=seconds)
        except queue.Empty:
            raise DeadlineError(f"no message arrived within {counting.seconds(seconds)}") from None
        if data is None:
            # Left in place, so that every later call hears it too.
            self._incoming.put(None)
            raise TransportError("the other end is closed; look there for the reason")
        return data

    def close(self) -> None:
        self._outgoing.put(None)


def linked_pair() -> tuple[MemoryLink, MemoryLink]:
    """Two ends: what one sends, the other receives."""
    there: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    back: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    return MemoryLink(there, back), MemoryLink(back, there)
