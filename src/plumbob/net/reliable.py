"""A link that outlives its connections: every message arrives once and in order, whatever happens in between.

What was sent is sent again on the next connection from where the peer left off; `numbered` says which message is news.
A connection lives as follows.

1. Both sides greet (`greeting`). Another purpose ends the connection, another plan or run ends the run.
2. The connection takes the place of an older one.
3. One thread writes: the messages from where the peer left off, then the goodbye.
4. Another reads, and every frame also says what is on the peer's disk.
5. It ends: broken, replaced, or with an abort, which ends the run too. What was not confirmed waits for the next one.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import structs

from plumbob import counting
from plumbob.errors import DeadlineError, LocalProtocolError, PlumbobError, RemoteProtocolError, TransportError
from plumbob.net import greeting
from plumbob.net.connector import Connection
from plumbob.net.frames import ABORT, FRAME, GOODBYE, MESSAGE, Data
from plumbob.net.greeting import GREETING_SECONDS, LISTENING_SECONDS, Greeting
from plumbob.net.numbered import Inbound, Memory, Outbound

log = logging.getLogger("plumbob.net")

ABORT_SECONDS = 5.0
LAST_WORDS_SECONDS = 1.0
OUTDATED_GREETINGS = 3  # So many in a row are no coincidence.
LONGEST_WORDS = 500  # Characters of a peer's reason that an error repeats.


class OutdatedGreetingError(TransportError):
    """Raised for a greeting that a later connection overtook, or that comes from an old journal."""


class ReliableLink:
    """One end of a reliable link. Connections come in through `attach`, from any thread; one thread sends and receives.

    `stored` says how many messages of the peer are on our disk, `digest` the SHA-256 of one that was just received, if
    somebody else has calculated it, `on_confirmed` hears how many of ours are on the peer's disk, and `on_waiting`
    hears, for a person to read, why a connection was not taken.
    """

    def __init__(
        self,
        peer: str,
        terms: Greeting,
        memory: Memory,
        *,
        stored: Callable[[], int],
        digest: Callable[[int], bytes | None] = lambda number: None,
        on_confirmed: Callable[[int], None] = lambda count: None,
        on_waiting: Callable[[str], None] = lambda words: None,
    ) -> None:
        self.peer = peer
        self._terms = terms
        self._stored = stored
        self._on_confirmed = on_confirmed
        self._on_waiting = on_waiting
        self._outbound, self._inbound = Outbound(peer, memory), Inbound(peer, memory, digest)
        self._connection: Connection | None = None
        self._peer_run: str | None = None
        self._failure: PlumbobError | None = None
        self._is_closed = False
        self._says_goodbye = self._said_goodbye = self._peer_said_goodbye = False
        self._outdated = 0
        self._ended: Connection | None = None
        self.last_end = ""
        """How the last connection ended, in brackets, for whoever waits in vain for a message; empty before."""
        self._topic_reason = ""
        # Under one lock: whoever writes is not woken by what comes.
        lock = threading.RLock()
        self._changed, self._to_write = threading.Condition(lock), threading.Condition(lock)
        self._taking = threading.Lock()

    # What the protocol's thread calls.

    def meet(self, seconds: float) -> str:
        """The identity of the peer's side of the run, to be remembered; empty if it did not come in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._peer_run is not None or self._failure is not None, seconds)
            self._raise_failure()
            return self._peer_run or ""

    def send(self, *parts: Data) -> None:
        with self._changed:
            self._raise_failure()
            self._outbound.add(parts)
            self._to_write.notify_all()

    def receive(self, seconds: float) -> Data:
        with self._changed:
            self._changed.wait_for(lambda: self._inbound or self._failure is not None or self._is_closed, seconds)
            self._raise_failure()
            if self._inbound:
                data = self._inbound.take()
                self._changed.notify_all()
                return data
            if self._is_closed:
                raise TransportError("this end is closed")
        state = "it is connected" if self.is_connected else "there is no connection to it"
        raise TransportError(f"no message arrived within {counting.seconds(seconds)}; {state}{self.last_end}")

    def say_goodbye(self) -> None:
        """Tell the peer, after everything that was sent, that nothing more will be."""
        with self._changed:
            self._says_goodbye = True
            self._to_write.notify_all()

    def wait_for_goodbye(self, seconds: float) -> bool:
        """Wait until both ends have everything and said so; False if the peer did not in time."""
        self.say_goodbye()
        with self._changed:
            self._changed.wait_for(self._is_over, seconds)
            return self._peer_said_goodbye

    def _is_over(self) -> bool:
        return (self._said_goodbye and self._peer_said_goodbye) or self._failure is not None

    def abort(self, why: str) -> None:
        """Tell the peer why we stop, if it can hear us, and close."""
        # In a thread: a peer that does not read would keep us here for ever.
        thread = threading.Thread(target=self._dismiss, args=(self._connection, why), name="abort", daemon=True)
        thread.start()
        thread.join(ABORT_SECONDS)
        self.close()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            connection, self._connection = self._connection, None
            self._notify_everybody()
        if connection is not None:
            connection.close()

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def has_met(self) -> bool:
        """Whether the peer has ever connected."""
        return self._peer_run is not None

    @property
    def is_parting(self) -> bool:
        """Whether only the peer's goodbye is missing."""
        return self._says_goodbye and not self._peer_said_goodbye

    # What the network's threads call.

    def attach(self, connection: Connection) -> None:
        """Use a new connection from now on, in place of an older one. Returns when it has ended."""
        try:
            theirs = self._greet(connection)
            if (theirs.purpose, theirs.name) != (self._terms.purpose, self._terms.name):
                self._dismiss(connection, self._say_to_wait(theirs))
                return
            try:
                self._refuse_other_run(theirs)
            except OutdatedGreetingError:
                self._hear_last_words(connection)
                raise
            self._take_over(connection, theirs)
            self._listen(connection)
        except TransportError as error:
            # Not the end: the next connection continues where this one broke.
            self._note_end(connection, error)
        except PlumbobError as error:
            self._fail(error)
            self._dismiss(connection, str(error))
        finally:
            with self._changed:
                if self._connection is connection:
                    self._connection = None
                self._notify_everybody()
            connection.close()

    def _note_end(self, connection: Connection, error: TransportError) -> None:
        log.debug("%s: the connection ended (%s)", self.peer, error)
        # The first reason is the right one, and that a newer connection took this one's place is no news.
        if self._connection is connection and self._ended is not connection:
            self._ended, self.last_end = connection, f" (the last connection ended: {error})"

    def _greet(self, connection: Connection) -> Greeting:
        ours = structs.replace(self._ours(), received=self._inbound.expected, clock=time.time())
        return greeting.exchange(connection, ours, GREETING_SECONDS)

    def _ours(self) -> Greeting:
        """What we say about the run, with what was learnt of the peer since the start."""
        return structs.replace(self._terms, knows=self._peer_run or self._terms.knows)

    def _say_to_wait(self, theirs: Greeting) -> str:
        """Answer somebody who comes for another purpose: that does not end a run, but a person is told once."""
        reason = f"{self.peer} is there to {_topic(theirs)}, we are here to {_topic(self._terms)}; do the same on both"
        self.last_end = f" ({reason})"
        if reason != self._topic_reason:
            self._topic_reason = reason
            self._on_waiting(reason)
        return reason

    def _refuse_other_run(self, theirs: Greeting) -> None:
        """Raise unless the peer is in this run, and knows of as many messages as both of us can know of."""
        greeting.refuse_other_run(self._ours(), theirs, self.peer)
        with self._changed:
            # Together: a confirmation that comes in between moves both.
            first, sent = self._outbound.first, self._outbound.sent
        if theirs.received > sent:
            raise LocalProtocolError(
                f"{self.peer}: has {theirs.received} messages of ours, our journal knows of {sent}: it is older than "
                "what was sent. Resuming would redraw randomness that has already been used; bring "
                "the newer journal back"
            )
        if theirs.received < first:
            self._outdated += 1
            words = f"asks for message {theirs.received}, but had confirmed {first}"
            if self._outdated < OUTDATED_GREETINGS:
                # It may have greeted here and then gone on over another connection: the next greeting will tell.
                raise OutdatedGreetingError(words)
            raise RemoteProtocolError(f"{self.peer}: {words}; is its journal an older copy?")

    def _hear_last_words(self, connection: Connection) -> None:
        """Let a peer whose journal really is older say so before it stops."""
        with suppress(TransportError):
            frame = connection.receive(LAST_WORDS_SECONDS)
            if frame[:1] == bytes([ABORT]):
                self._take(frame)

    def _take_over(self, connection: Connection, theirs: Greeting) -> None:
        with self._changed:
            if self._is_closed:
                raise TransportError("this end is closed")
            older, self._connection = self._connection, connection
            self._peer_run = theirs.run
            self._outdated = 0
            self._notify_everybody()
        if older is not None:
            older.close()
        log.debug("%s: connected, continues from message %d", self.peer, theirs.received)
        name = f"to {self.peer}"
        threading.Thread(target=self._write, args=(connection, theirs.received), name=name, daemon=True).start()

    def _write(self, connection: Connection, position: int) -> None:
        """Send from `position` on, until another connection takes over."""
        try:
            while (turn := self._next_turn(connection, position)) is not None:
                kind, number, parts = turn
                connection.send(FRAME.pack(kind, number, self._stored()), *parts)
                if kind == GOODBYE:
                    self._note_goodbye()
                    return
                position = number + 1
        except TransportError as error:
            self._note_end(connection, error)
            connection.close()
        except LocalProtocolError as error:
            # The next connection would not carry it either.
            self._fail(error)

    def _next_turn(self, connection: Connection, position: int) -> tuple[int, int, Sequence[Data]] | None:
        """What to send next, and its number, once there is something; None when another connection has taken over."""
        with self._changed:
            self._to_write.wait_for(
                lambda: self._connection is not connection or self._turn(position) is not None,
            )
            return self._turn(position) if self._connection is connection else None

    def _turn(self, position: int) -> tuple[int, int, Sequence[Data]] | None:
        if (message := self._outbound.message_from(position)) is not None:
            return MESSAGE, *message
        return (GOODBYE, max(position, self._outbound.first), ()) if self._says_goodbye else None

    def _notify_everybody(self) -> None:
        self._changed.notify_all()
        self._to_write.notify_all()

    def _note_goodbye(self) -> None:
        with self._changed:
            self._said_goodbye = True
            self._changed.notify_all()

    def _listen(self, connection: Connection) -> None:
        while self._connection is connection:
            try:
                self._take(connection.receive(LISTENING_SECONDS))
            except DeadlineError:
                continue

    def _take(self, frame: Data) -> None:
        if len(frame) < FRAME.size:
            raise RemoteProtocolError(f"{self.peer}: expected a frame of at least {FRAME.size} bytes, got {len(frame)}")
        kind, number, stored = FRAME.unpack_from(frame)
        # Two connections may overlap: one frame at a time.
        with self._taking:
            self._confirm(stored)
            if kind == MESSAGE:
                self._take_message(number, memoryview(frame)[FRAME.size :])
            elif kind == GOODBYE:
                self._take_goodbye(number)
            elif kind == ABORT:
                raise RemoteProtocolError(f"{self.peer} stopped: {_quote(bytes(frame[FRAME.size :]))}")
            else:
                raise RemoteProtocolError(
                    f"{self.peer}: frames of kind {kind} are unknown; is its version another one?"
                )

    def _confirm(self, stored: int) -> None:
        with self._changed:
            is_news = self._outbound.confirm(stored)
        if is_news:
            self._on_confirmed(stored)

    def _take_message(self, number: int, data: Data) -> None:
        with self._changed:
            if self._inbound.is_news(number, data):
                self._changed.wait_for(lambda: self._inbound.has_room_for(data) or self._is_closed)
                self._inbound.add(data)
                self._changed.notify_all()

    def _take_goodbye(self, number: int) -> None:
        with self._changed:
            if number != self._inbound.expected:
                raise RemoteProtocolError(
                    f"{self.peer}: says goodbye after message {number}, {self._inbound.expected} came"
                )
            self._peer_said_goodbye = True
            self._changed.notify_all()

    def _dismiss(self, connection: Connection | None, why: str) -> None:
        if connection is None:
            return
        try:
            connection.send(FRAME.pack(ABORT, 0, 0) + why.encode()[:LONGEST_WORDS])
        except TransportError:
            log.debug("%s: could not be told why", self.peer)

    def _fail(self, error: PlumbobError) -> None:
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _topic(terms: Greeting) -> str:
    return f"{terms.purpose} --name {terms.name}" if terms.name else terms.purpose


def _quote(words: bytes) -> str:
    """A peer's words as a short literal: they must not draw on our terminal or fill our log."""
    return repr(words[:LONGEST_WORDS].decode("utf-8", "replace"))
