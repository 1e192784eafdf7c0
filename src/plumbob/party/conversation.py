"""All of one party's links for one purpose: opened, met and, at the end, left.

Whatever stops this side for good once it has met its peers is told to them, so that they end at once. What the peer did
wrong is told in full; of our own mistakes only the kind (`PlumbobError.for_peers`), because their words may name
columns, folders or counts. Where the network or the disk fails, or somebody types Ctrl-C, a run that can be resumed is
not stopped for good: the peers wait.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from plumbob import counting
from plumbob.callbacks import Tell
from plumbob.errors import (
    CiphertextRefusedError,
    IdentityError,
    KeyRefusedError,
    PeerAwayError,
    PlumbobError,
    RemoteProtocolError,
    TransportError,
)
from plumbob.net import Connection
from plumbob.net.greeting import Greeting
from plumbob.net.reliable import ReliableLink
from plumbob.party.waiting import Waiting, Watch
from plumbob.protocol.channel import Channel
from plumbob.protocol.journal import SqliteJournal

PARTING_SECONDS = 60.0
MOMENT = 0.1  # Seconds for which one peer is awaited before the others are listened to.
RESUMABLE = ("train",)  # A side that went away can come back; anything else is simply done again.
MET = "run/"  # Before a peer's name: the fact in the journal which run of its own it is in.


class AnyConnector(Protocol):
    """Makes connections to peers; see `net.connector`."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def why_not(self, peer: str) -> TransportError | None:
        """Why the last attempt at this peer failed, if one did."""


ConnectorFor = Callable[[Callable[[Connection], None]], AnyConnector]
"""Makes a connector that hands each connection to this function."""


@dataclass(frozen=True, repr=False)
class Conversation:
    """This party's side of a conversation, once every peer is there."""

    channels: dict[str, Channel]
    links: dict[str, ReliableLink]

    def leave(self, seconds: float = PARTING_SECONDS) -> list[str]:
        """Wait until the peers have everything; return the names of those who did not say so in time."""
        # To all at once: waiting for one peer must not keep the others.
        for link in self.links.values():
            link.say_goodbye()
        deadline = time.monotonic() + seconds
        return [
            peer
            for peer, link in self.links.items()
            if not link.wait_for_goodbye(max(0.0, deadline - time.monotonic()))
        ]


@contextmanager
def conversation(
    topic: Greeting,
    peers: Sequence[str],
    journal: SqliteJournal,
    connector_for: ConnectorFor,
    *,
    patience: float,
    meeting: float | None = None,
    tell: Tell = lambda words: None,
    watch: Watch | None = None,
) -> Iterator[Conversation]:
    """Meet every peer and hand over a channel to each; `tell` hears whom we wait for, `watch` may look on.

    The topic is what this side greets with: both ends must say the same purpose, plan and name.

    All of them have `meeting` seconds to come, `patience` if nothing is said.
    """
    links = {peer: _link(topic, peer, journal, tell) for peer in peers}
    channels = {peer: Channel(peer, link, patience, journal) for peer, link in links.items()}
    if watch is not None:
        watch.links, watch.channels = links, channels
    connector = connector_for(lambda connection: links[connection.peer].attach(connection))
    connector.open()
    meeting = patience if meeting is None else meeting
    waiting = Waiting(links, channels, patience, time.monotonic(), meeting, connector.why_not)
    try:
        with waiting.told(tell):
            for peer, run in _met(links, connector, meeting).items():
                # Remembered before anything is sent: a peer that loses its journal later must not pass for the same.
                journal.note(f"{MET}{peer}", run.encode())
            yield Conversation(channels, links)
    except BaseException as error:
        if words := _words_for_peers(error, topic):
            for link in links.values():
                link.abort(words)
        raise
    finally:
        for link in links.values():
            link.close()
        connector.close()


def _words_for_peers(error: BaseException, topic: Greeting) -> str:
    """The words that peers read about an error; none where they wait for this side to come back."""
    if isinstance(error, RemoteProtocolError | KeyRefusedError | CiphertextRefusedError):
        return str(error)
    if isinstance(error, TransportError) or not isinstance(error, Exception):
        return "" if topic.purpose in RESUMABLE else "it was interrupted"
    return error.for_peers if isinstance(error, PlumbobError) else PlumbobError.for_peers


def _met(links: Mapping[str, ReliableLink], connector: AnyConnector, seconds: float) -> dict[str, str]:
    """Each peer's side of the run. All are listened to in turn: one may refuse while another is still awaited.

    PeerAwayError names all who did not come, and why if that is known.
    """
    deadline = time.monotonic() + seconds
    while True:
        runs = {peer: link.meet(min(MOMENT, seconds)) for peer, link in links.items()}
        missing = [peer for peer, run in runs.items() if not run]
        if not missing:
            return runs
        if time.monotonic() > deadline:
            break
    reasons = {peer: connector.why_not(peer) for peer in missing}
    words = " And ".join(
        f"{peer}: expected it within {counting.seconds(seconds)}; is it running, with this plan?{links[peer].last_end}"
        + (f" The last attempt: {reason}" if reason else "")
        for peer, reason in reasons.items()
    )
    # Waiting longer does not help where only a person can.
    is_refused = any(isinstance(reason, IdentityError) for reason in reasons.values())
    raise IdentityError(words) if is_refused else PeerAwayError(words)


def _link(topic: Greeting, peer: str, journal: SqliteJournal, tell: Tell) -> ReliableLink:
    knows = (journal.fact(f"{MET}{peer}") or b"").decode()
    return ReliableLink(
        peer,
        msgspec.structs.replace(topic, run=journal.identity(), knows=knows),
        journal.link_state(peer),
        stored=partial(journal.stored, peer),
        digest=partial(journal.digest, peer),
        on_confirmed=partial(journal.confirm, peer),
        on_waiting=tell,
    )
