"""Callers that have not proved who they are: few at a time, and whoever crowds the door makes room for the others."""

import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from plumbob.transport.tls import Deadline

MOST_STRANGERS = 64
HELLO_HEAD = 6  # Bytes by which a client's hello is known: a record of type 22 and, in it, a handshake of type 1.
HANDSHAKE_RECORD, CLIENT_HELLO = 22, 1
GLANCE_SECONDS = 0.02


@dataclass(eq=False)
class Stranger:
    """One of them, by a handle of our own: TLS takes the socket object over."""

    handle: socket.socket
    source: str
    has_spoken: bool = False
    """Whether it has begun a TLS handshake."""


class Strangers:
    """Everybody at the door, oldest first; any thread may come and go."""

    def __init__(self, most: int = MOST_STRANGERS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._here: list[Stranger] = []
        self._is_closed = False

    @contextmanager
    def admitted(self, sock: socket.socket, source: str) -> Iterator[Stranger]:
        """At the door until the block ends, or until it must make room for another."""
        stranger = Stranger(sock.dup(), source)
        with self._lock:
            self._here.append(stranger)
            if len(self._here) > self._most:
                interrupt(self._one_to_send_away().handle)
            if self._is_closed:
                interrupt(stranger.handle)
        try:
            yield stranger
        finally:
            with self._lock:
                if stranger in self._here:
                    self._here.remove(stranger)
                stranger.handle.close()

    def _one_to_send_away(self) -> Stranger:
        """The oldest that is silent, if anybody is, from the address that most of them call from."""
        silent = [stranger for stranger in self._here if not stranger.has_spoken]
        crowd = silent or self._here
        counts = Counter(stranger.source for stranger in self._here)
        crowded = max(counts[stranger.source] for stranger in crowd)
        chosen = next(stranger for stranger in crowd if counts[stranger.source] == crowded)
        self._here.remove(chosen)
        return chosen

    def close(self) -> None:
        """Interrupt all of them, and everybody who still comes."""
        with self._lock:
            self._is_closed = True
            for stranger in self._here:
                interrupt(stranger.handle)


def await_hello(sock: socket.socket, stranger: Stranger, first: float, deadline: Deadline) -> None:
    """Wait for the head of a client's hello without taking it; TimeoutError if not even a first byte comes in time.

    What is no hello is left for TLS to refuse.
    """
    sock.settimeout(min(first, deadline.left()))
    while True:
        head = sock.recv(HELLO_HEAD, socket.MSG_PEEK)
        if len(head) == HELLO_HEAD:
            stranger.has_spoken = (head[0], head[-1]) == (HANDSHAKE_RECORD, CLIENT_HELLO)
            return
        if not head or head[0] != HANDSHAKE_RECORD:
            return
        time.sleep(min(GLANCE_SECONDS, deadline.left()))


def interrupt(sock: socket.socket) -> None:
    """Wake whoever waits on the socket; to close it is theirs."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
