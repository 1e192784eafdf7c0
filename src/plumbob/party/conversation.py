"""All of one party's links for one purpose: opened, met and, at the end, left.

Whatever stops this side for good is told to the peers, also before it has met them, so that they end at once and do not
wait for somebody who will not come. What the peer did wrong is told in full; of our own mistakes only the kind
(`PlumbobError.for_peers`), because their words may name columns, folders or counts. Where the network or the disk
fails, or somebody types Ctrl-C, a run that can be resumed is not stopped for good: the peers wait.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
from plumbob.net.greeting import GREETING_SECONDS, LARGEST_GREETING, Greeting, exchanged
from plumbob.net.reliable import FRAME, LAST_WORDS_SECONDS, LONGEST_WORDS, ReliableLink
from plumbob.party.status import Waiting, Watch
from plumbob.protocol.channel import Channel
from plumbob.protocol.sqlite_journal import SqliteJournal

PARTING_SECONDS = 60.0
MOMENT = 0.1  # Seconds for which one peer is awaited before the others are listened to.
FURTHEST_NUMBER = 1000
"""By how much a peer's run number may exceed our own: a dishonest peer could otherwise use up all numbers."""
RESUMABLE = ("align", "train")  # A side that went away can come back; anything else is simply done again.
MET = "run/"  # Before a peer's name: the fact in the journal which run of its own it is in.


class AnyConnector(Protocol):
    """Makes connections to peers; see `net.connector`."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def why_not(self, peer: str) -> TransportError | None:
        """Why the last attempt at this peer failed, if one did."""


ConnectorFor = Callable[[Callable[[Connection], None]], AnyConnector]
"""Makes a connector that hands each connection to this function."""


class OtherNumber(Exception):  # No mistake: the run continues under that number.
    """Raised where the parties count runs differently; all of them then take the highest number."""

    def __init__(self, number: int) -> None:
        super().__init__(f"the run's number is {number} on another side")
        self.number = number


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
    waiting = Waiting(links, channels, patience, time.monotonic(), meeting)
    try:
        with waiting.told(tell):
            for peer, run in _met(links, connector, meeting).items():
                # Remembered before anything is sent: a peer that loses its journal later must not pass for the same.
                journal.note(f"{MET}{peer}", run.encode())
            _refuse_other_number(topic, links.values())
            yield Conversation(channels, links)
    except OtherNumber:
        raise
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


def _refuse_other_number(topic: Greeting, links: Collection[ReliableLink]) -> None:
    """Raise OtherNumber before anything is sent, so that this side continues under the highest number, as all do."""
    if not topic.number:
        return
    for link in links:
        if link.peer_number > topic.number + FURTHEST_NUMBER:
            raise RemoteProtocolError(
                f"{link.peer} says that this is run {link.peer_number} of the plan, here {topic.number}; they "
                f"may differ by {FURTHEST_NUMBER} at most. Ask {link.peer} to move its older runs of the plan away."
            )
    highest = max(link.peer_number for link in links)
    if highest > topic.number:
        raise OtherNumber(highest)


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


# Longer than the longest pause between two attempts of a peer that dials us.
SECONDS_TO_TELL = 12.0
SECONDS_TO_REACH = 4.0  # Where we dial and nobody answers: a peer that was started at the same time answers by then.
LARGEST_REFUSAL = max(LARGEST_GREETING, FRAME.size + 4 * LONGEST_WORDS)
SECONDS_BETWEEN_LOOKS = 0.1


@contextmanager
def tell_refusals(topic: Greeting, peers: Sequence[str], connector_for: ConnectorFor, tell: Tell) -> Iterator[None]:
    """Tell peers about a refusal before a conversation begins; inside one, the conversation tells them."""
    try:
        yield
    except TransportError:
        # The network, the disk or another process: this side can come back, and the peers wait for it.
        raise
    except PlumbobError as error:
        # Whatever goes wrong now, or a Ctrl-C: whoever made the mistake should read of that one.
        with suppress(PlumbobError, KeyboardInterrupt):
            _tell_peers(topic, error.for_peers, peers, connector_for, tell)
        raise


def _tell_peers(topic: Greeting, sentence: str, peers: Sequence[str], connector_for: ConnectorFor, tell: Tell) -> None:
    told: set[str] = set()
    greeting = msgspec.structs.replace(topic, refuses=sentence, clock=time.time())

    def attach(connection: Connection) -> None:
        try:
            exchanged(connection, greeting, GREETING_SECONDS)
            # Until the peer has read it: it answers, and leaves.
            connection.receive(LAST_WORDS_SECONDS)
        except (PlumbobError, OSError):
            pass
        told.add(connection.peer)
        connection.close()

    connector = connector_for(attach)
    connector.open()
    try:
        at_most = counting.seconds(SECONDS_TO_TELL)
        tell(
            f"refused here; telling {', '.join(peers)}, if already waiting for us (at most {at_most}; "
            "Ctrl-C skips this) ..."
        )
        _wait(peers, told, connector)
    finally:
        connector.close()


def _wait(peers: Sequence[str], told: set[str], connector: AnyConnector) -> None:
    """Wait until all were told, or those that are missing are not there."""
    started = time.monotonic()
    while (passed := time.monotonic() - started) < SECONDS_TO_TELL:
        missing = [peer for peer in peers if peer not in told]
        if not missing or (passed > SECONDS_TO_REACH and all(map(connector.why_not, missing))):
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)
