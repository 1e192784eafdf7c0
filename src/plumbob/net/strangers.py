"""Callers that have not proved who they are: few at a time, and whoever crowds others makes room.

Nobody is sent away in its first second: an honest handshake is over by then, on a slow line too. So for that long a
flood may hold more places than `MOST_STRANGERS`, but never more than `MOST_AT_ONCE`.
"""

import ipaddress
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from plumbob.net.tls import Deadline

MOST_STRANGERS = 64
MOST_A_SOURCE = 16
MOST_AT_ONCE = 256  # Each takes a thread and two file descriptors, of which a program often has 1,024.
GRACE_SECONDS = 1.0
RECORD_HEAD, MESSAGE_HEAD = 5, 4  # Bytes: type, version and length of a record; type and length of a message in it.
LONGEST_RECORD = RECORD_HEAD + 2**14
HANDSHAKE_RECORD, CLIENT_HELLO = 22, 1
FIRST_GLANCE, LONGEST_GLANCE = 0.02, 0.2  # seconds


@dataclass(eq=False)
class Stranger:
    """One unauthenticated caller, with our own handle of the socket, because TLS takes the socket object over."""

    handle: socket.socket
    source: str
    since: float = 0.0
    has_spoken: bool = False
    """Whether its whole hello has come."""
    is_sent_away: bool = False

    def send_away(self) -> None:
        """Wake whoever waits for this caller, so that it is dropped."""
        self.is_sent_away = True
        interrupt(self.handle)


class Strangers:
    """All unauthenticated callers, oldest first; any thread may add or remove one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._here: list[Stranger] = []
        self._is_closed = False

    @contextmanager
    def admitted(self, sock: socket.socket, source: str) -> Iterator[Stranger]:
        """Admit a caller until the block ends, or until it must make room for another."""
        stranger = Stranger(sock.dup(), _neighbourhood(source), self._clock())
        with self._lock:
            self._here.append(stranger)
            self._make_room(stranger.source)
            if self._is_closed:
                stranger.send_away()
        try:
            yield stranger
        finally:
            with self._lock:
                if stranger in self._here:
                    self._here.remove(stranger)
                stranger.handle.close()

    def _make_room(self, source: str) -> None:
        """Make room for a caller that has just come from there: at that address, and in all."""
        while self._count(source) > MOST_A_SOURCE and self._send_one_away(source):
            pass
        while len(self._here) > MOST_STRANGERS and self._send_one_away():
            pass
        if len(self._here) > MOST_AT_ONCE:
            # All of them may still be honest, so the last one has to call again.
            self._here.pop().send_away()

    def _send_one_away(self, source: str | None = None) -> bool:
        """Drop one from the most crowded address; there, silent ones first, and of these the oldest."""
        newest = self._clock() - GRACE_SECONDS
        counts = Counter(stranger.source for stranger in self._here)
        grown = [one for one in self._here if one.since <= newest and source in (None, one.source)]
        if not grown:
            return False
        # The first of equals is the oldest.
        chosen = min(grown, key=lambda one: (-counts[one.source], one.has_spoken))
        self._here.remove(chosen)
        chosen.send_away()
        return True

    def _count(self, source: str) -> int:
        return sum(one.source == source for one in self._here)

    def close(self) -> None:
        """Drop all of them, and everybody who still comes."""
        with self._lock:
            self._is_closed = True
            for stranger in self._here:
                stranger.send_away()


def await_hello(sock: socket.socket, stranger: Stranger, first: float, deadline: Deadline) -> None:
    """Wait for a client's whole hello without taking it; TimeoutError if not even a first byte comes in time.

    What is no hello is left for TLS to refuse.
    """
    sock.settimeout(min(first, deadline.left()))
    glance = FIRST_GLANCE
    while not stranger.is_sent_away:
        seen = sock.recv(LONGEST_RECORD, socket.MSG_PEEK)
        if not _may_become_hello(seen):
            return
        if _is_hello(seen):
            stranger.has_spoken = True
            return
        time.sleep(min(glance, deadline.left()))
        glance = min(2 * glance, LONGEST_GLANCE)


def _neighbourhood(source: str) -> str:
    """The source that a caller counts for: an address or, in IPv6, the network that one caller usually has."""
    try:
        address = ipaddress.ip_address(source.partition("%")[0])
    except ValueError:
        return source
    if address.version == 4 or address.ipv4_mapped:
        return source
    return str(ipaddress.ip_network((int(address), 64), strict=False))


def _may_become_hello(seen: bytes) -> bool:
    if not seen or seen[0] != HANDSHAKE_RECORD:
        return False
    head = seen[: RECORD_HEAD + MESSAGE_HEAD]
    if len(head) > RECORD_HEAD and head[RECORD_HEAD] != CLIENT_HELLO:
        return False
    # A hello that goes on in a second record is TLS's business, and does not count as spoken.
    return len(head) < RECORD_HEAD + MESSAGE_HEAD or _record_length(head) == MESSAGE_HEAD + _message_length(head)


def _is_hello(seen: bytes) -> bool:
    """Whether the whole record has come, as long as it says."""
    return len(seen) > RECORD_HEAD + MESSAGE_HEAD and len(seen) >= RECORD_HEAD + _record_length(seen)


def _record_length(head: bytes) -> int:
    return int.from_bytes(head[3:RECORD_HEAD])


def _message_length(head: bytes) -> int:
    return int.from_bytes(head[RECORD_HEAD + 1 : RECORD_HEAD + MESSAGE_HEAD])


def interrupt(sock: socket.socket) -> None:
    """Wake whoever waits on the socket, and leave closing it to them."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
