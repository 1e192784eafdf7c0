"""Callers that have not proved who they are: few at a time, and whoever crowds others makes room.

Nobody is sent away in its first second: an honest handshake is over by then, on a slow line too. So for that long a
flood may hold more places than `MOST_STRANGERS`, but never more than `MOST_AT_ONCE`.
"""

import asyncio
import ipaddress
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_STRANGERS = 64
MOST_A_SOURCE = 16
MOST_AT_ONCE = 256  # Each takes a file descriptor, of which a program often has 1,024.
GRACE_SECONDS = 1.0


@dataclass(eq=False)
class Stranger:
    """One caller before its certificate was seen."""

    source: str
    since: float
    send_away: Callable[[], object]
    has_spoken: Callable[[], bool]
    """Whether its whole hello has come."""


class Strangers:
    """All callers that have not proved who they are, oldest first; for one event loop."""

    def __init__(self) -> None:
        self._here: list[Stranger] = []

    @contextmanager
    def admit(self, source: str, has_spoken: Callable[[], bool]) -> Iterator[None]:
        """Admit the caller that this task serves; the task is cancelled where the caller must make room for another."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # For the type checker: this is called in a task.
        stranger = Stranger(neighbourhood(source), time.monotonic(), task.cancel, has_spoken)
        self._here.append(stranger)
        self._make_room(stranger.source)
        try:
            yield
        finally:
            if stranger in self._here:
                self._here.remove(stranger)

    def _make_room(self, source: str) -> None:
        """Make room for a caller that has just come from there: at that address, and in all."""
        while sum(stranger.source == source for stranger in self._here) > MOST_A_SOURCE and self._send_one_away(source):
            pass
        while len(self._here) > MOST_STRANGERS and self._send_one_away():
            pass
        if len(self._here) > MOST_AT_ONCE:
            # All of them may still be honest, so the last one has to call again.
            self._here.pop().send_away()

    def _send_one_away(self, source: str | None = None) -> bool:
        """Send one away from the most crowded address; there, silent ones first, and of these the oldest."""
        newest = time.monotonic() - GRACE_SECONDS
        counts = Counter(stranger.source for stranger in self._here)
        grown = [stranger for stranger in self._here if stranger.since <= newest and source in (None, stranger.source)]
        if not grown:
            return False
        # The first of equals is the oldest.
        chosen = min(grown, key=lambda stranger: (-counts[stranger.source], stranger.has_spoken()))
        self._here.remove(chosen)
        chosen.send_away()
        return True


def neighbourhood(source: str) -> str:
    """The source that a caller counts for: an address or, in IPv6, the network that one caller usually has."""
    try:
        address = ipaddress.ip_address(source.partition("%")[0])
    except ValueError:
        return source
    if address.version == 4 or address.ipv4_mapped:
        return source
    return str(ipaddress.ip_network((int(address), 64), strict=False))
