"""Tells, every few seconds while a command waits for a peer, whom it waits for, and how long at most."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from plumbob.counting import seconds
from plumbob.net.reliable import ReliableLink
from plumbob.protocol.channel import Channel

SECONDS_BEFORE = 2.0  # Of silence: most waits are shorter.
SECONDS_BETWEEN = 5.0
CALCULATING_SECONDS = 10.0  # A peer that is there and works is left alone for this long.


@dataclass(frozen=True)
class Waiting:
    """What a command may be waiting for, seen from outside."""

    links: Mapping[str, ReliableLink]
    channels: Mapping[str, Channel]
    patience: float
    started: float
    meeting: float
    """Seconds that all peers have to come."""

    def sentence(self, now: float) -> str:
        """The sentence for people; empty while nobody is waited for."""
        strangers = [peer for peer, link in self.links.items() if not link.has_met]
        if strangers:
            return (
                f"waiting for {', '.join(strangers)} to connect, {seconds(round(now - self.started))} of at most "
                f"{seconds(self.meeting)}; the same command must run there"
            )
        parting = [peer for peer, link in self.links.items() if link.is_parting]
        if parting:
            return f"finished here; waiting for {', '.join(parting)} to confirm that it has everything"
        return next(filter(None, (self._due(peer, now) for peer in self.channels)), "")

    def _due(self, peer: str, now: float) -> str:
        awaited = self.channels[peer].waiting_for
        if awaited is None:
            return ""
        message, since = awaited
        passed = f"{seconds(round(now - since))} of at most {seconds(self.patience)}"
        if not self.links[peer].is_connected:
            return f"{peer} is not connected; waiting for it to come back, {passed} (it resumes by the same command)"
        return f"waiting for {peer}'s {message}, {passed}" if now - since >= CALCULATING_SECONDS else ""


@contextmanager
def tell_while_waiting(waiting: Waiting, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell it every few seconds, from a separate thread, until the end."""
    ended = threading.Event()

    def watch() -> None:
        pause = SECONDS_BEFORE
        while not ended.wait(pause):
            if sentence := waiting.sentence(time.monotonic()):
                tell(sentence)
            pause = SECONDS_BETWEEN

    thread = threading.Thread(target=watch, name="waiting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
