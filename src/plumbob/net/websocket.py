"""One WebSocket over an authenticated TLS socket, moved by one thread of its own, and both halves of its opening.

The framing is that of the `websockets` library, without its threads. Its blocking connection reads and writes a TLS
socket from two threads, which OpenSSL does not allow, and holds one lock while it writes, so that two sides that send
long messages at the same time would wait for each other for ever. Here one thread does all that touches the socket.

No compression: it would tell lengths about contents, and make short messages long.
"""

import logging
import math
import selectors
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, PayloadTooBig, ProtocolError
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import CLIENT, CLOSED, OPEN, Event
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from plumbob import counting
from plumbob.errors import DeadlineError, LocalProtocolError, TransportError
from plumbob.net.frames import CHUNK, MessageFrames, framed
from plumbob.net.memory import Data
from plumbob.net.tls import Deadline


@dataclass(frozen=True)
class Timeouts:
    """How long things may take, in seconds."""

    handshake: float = 10.0  # from the first byte of a connection to its last handshake
    first_byte: float = 3.0  # from a call to the first byte of its handshake
    ping: float = 5.0  # a sign of life at least so often
    silence: float = 20.0  # without any byte for so long, the link is dead
    closing: float = 2.0  # for the goodbye
    first_retry: float = 0.1  # parties that are started together find each other at once
    longest_retry: float = 10.0
    give_way: float = 1.0  # where both sides could dial, the one named second waits so long


CHUNKS_A_TURN = 16
INBOX_MESSAGES = 64
# Answers to pings that the peer does not collect, beside one message of ours.
BACKLOG_SLACK = 2**20

log = logging.getLogger("plumbob.net")
# The library would show the beginning of each frame at level DEBUG.
silent_log = logging.getLogger("plumbob.net.frames")
silent_log.setLevel(logging.CRITICAL)


class WebSocketConnection:
    """A live connection to a peer: whole messages, in order, while it lasts.

    What has come is kept until it is received, about one longest message and 64 short ones; beyond that the peer has to
    wait. Any thread may send, receive and close.
    """

    def __init__(
        self,
        sock: ssl.SSLSocket,
        protocol: ClientProtocol | ServerProtocol,
        peer: str,
        largest: int,
        timeouts: Timeouts,
    ) -> None:
        self.peer = peer
        self._socket = sock
        self._protocol = protocol
        self._largest = largest
        self._timeouts = timeouts
        # Shared with other threads, under one lock: whoever waits for one of them is not woken by the other.
        lock = threading.RLock()
        self._arrived, self._taken_over = threading.Condition(lock), threading.Condition(lock)
        self._inbox: deque[Data] = deque()
        self._inbox_bytes = 0
        self._outgoing: tuple[Data, ...] = ()
        self._is_taken = False
        self._is_closing = False
        self._end: str | None = None
        self._one_sender = threading.Lock()
        self._waker, self._wake_up = socket.socketpair()
        self._waker.setblocking(False)
        self._wake_up.setblocking(False)
        # Of the moving thread alone.
        self._heard = self._spoke = 0.0
        self._gives_up: float | None = None
        self._wanted = 0
        """Which events of the socket the selector waits for."""
        self._incoming = memoryview(bytearray(CHUNK))
        self._broke: OSError | None = None
        self._frames = MessageFrames(protocol, largest)
        self._pieces: Iterator[Data] | None = None
        """The fragments of the message being sent that are not in the backlog yet."""
        self._answers: list[bytes] = []
        """What the library has to say once that message has left: a frame has no room for another."""
        self._backlog: deque[memoryview] = deque()
        self._backlog_bytes = 0
        self._reason: str | None = None
        self._thread = threading.Thread(target=self._run, name=f"plumbob {peer}", daemon=True)

    def send(self, *parts: Data) -> None:
        """Returns when the network has taken the message over; blocks while it, or the peer, is slow."""
        size = sum(map(len, parts))
        if size > self._largest:
            raise LocalProtocolError(
                f"our message to {self.peer} has {size} bytes, the plan allows {self._largest}; do its rows agree "
                "with those that were aligned?"
            )
        with self._one_sender, self._taken_over:
            # A message whose sender was interrupted may still be under way.
            self._wait_until_taken_over()
            self._outgoing = parts
            self._wake()
            self._wait_until_taken_over()
        log.debug("sent %d bytes to %s", size, self.peer)

    def receive(self, seconds: float) -> Data:
        """The next message; DeadlineError if none comes in time, TransportError when the connection has ended."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._inbox or self._end is not None, timeout=max(seconds, 0))
            if not self._inbox:
                if self._end is None:
                    raise DeadlineError(
                        f"expected a message from {self.peer} within {counting.seconds(seconds)}, none came"
                    )
                raise TransportError(self._end)
            was_full = self._is_full()
            data = self._inbox.popleft()
            self._inbox_bytes -= len(data)
            if was_full:
                self._wake()
        log.debug("received %d bytes from %s", len(data), self.peer)
        return data

    def close(self) -> None:
        """Say goodbye; what was sent before still arrives. Returns when the connection has ended."""
        with self._arrived:
            self._is_closing = True
            self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def wait_until_ended(self) -> None:
        self._thread.join()

    def start(self) -> Self:
        """Begin to move bytes."""
        self._thread.start()
        return self

    def _wait_until_taken_over(self) -> None:
        """Wait until the network has the whole message; TransportError if the connection ends before."""
        self._taken_over.wait_for(lambda: not self._outgoing or self._end is not None)
        if self._outgoing:
            raise TransportError(self._end)

    def _wake(self) -> None:
        with suppress(OSError):
            self._wake_up.send(b"x")

    # From here on: the moving thread alone.

    def _run(self) -> None:
        try:
            self._move()
        except (OSError, EOFError) as error:
            self._look_for_goodbye()
            # After the peer's goodbye, a socket that breaks is no news.
            if self._protocol.close_rcvd is None:
                self._because(f"the connection to {self.peer} broke ({getattr(error, 'reason', None) or _kind(error)})")
        except Exception:
            # Nothing may end this thread without a word to those who wait for it.
            log.exception("moving messages of %s", self.peer)
            self._because(f"the connection to {self.peer} was given up after an error of ours; see the log")
        finally:
            self._finish()

    def _move(self) -> None:
        self._socket.setblocking(False)
        self._heard = self._spoke = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._waker, selectors.EVENT_READ)
            while not self._is_over():
                self._take_orders()
                self._write()
                # Before the peer's goodbye is read: what was written by then is on its way all the same.
                self._hand_back()
                self._read()
                self._write()
                self._hand_back()
                if not self._is_over():
                    self._sleep(selector)

    def _look_for_goodbye(self) -> None:
        """Look in what has come for the reason why nothing can be written any more."""
        with suppress(OSError, EOFError):
            for _ in range(CHUNKS_A_TURN):
                self._understand(memoryview(self._socket.recv(CHUNK)))

    def _is_over(self) -> bool:
        if self._protocol.state is CLOSED:
            return True
        if self._protocol.close_expected() and self._gives_up is None:
            self._gives_up = time.monotonic() + self._timeouts.closing
        return self._gives_up is not None and time.monotonic() >= self._gives_up

    def _take_orders(self) -> None:
        """Do what other threads asked for: send one message, or end."""
        if self._protocol.state is not OPEN:
            return
        with self._taken_over:
            message = () if self._is_taken else self._outgoing
            self._is_taken = bool(self._outgoing)
            wants_end = self._is_closing
        if message:
            self._pieces = framed(message, is_masked=self._protocol.side is CLIENT)
        self._keep_alive()
        if wants_end:
            self._say_goodbye()

    def _say_goodbye(self) -> None:
        """Say goodbye once nothing is left to write; never, if the peer does not take what is left."""
        self._because(f"this side closed the connection to {self.peer}")
        if self._gives_up is None:
            self._gives_up = time.monotonic() + self._timeouts.closing
        if not self._has_more_to_write:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)

    def _keep_alive(self) -> None:
        """Ping when nothing else shows that we live; end when nothing shows that the peer does."""
        now = time.monotonic()
        if not self._has_more_to_write and now - self._spoke >= self._timeouts.ping:
            self._spoke = now
            self._protocol.send_ping(b"")
        if self._may_not_read():
            # We do not listen, so silence means nothing.
            self._heard = now
        elif now - self._heard >= self._timeouts.silence:
            self._because(
                f"no sign of life from {self.peer} for {counting.seconds(self._timeouts.silence)}; the link is dead"
            )
            # A goodbye would have nobody to hear it.
            self._gives_up = now

    def _read(self) -> None:
        for _ in range(CHUNKS_A_TURN):
            if self._may_not_read():
                return
            place = self._frames.place[:CHUNK]
            view = place or self._incoming
            size, is_over = self._fill(view)
            if size:
                self._heard = time.monotonic()
            if size and place:
                self._deliver(self._frames.placed(size))
            elif size:
                self._understand(view[:size])
            if is_over:
                self._protocol.receive_eof()
                self._take_in(self._protocol.events_received())
            if is_over or size < len(view):
                return

    def _fill(self, view: memoryview) -> tuple[int, bool]:
        """How many bytes have come, and whether the stream has ended. TLS gives 16 KB at a time, so ask repeatedly."""
        if self._broke is not None:
            raise self._broke
        size = 0
        while size < len(view):
            try:
                more = self._socket.recv_into(view[size:])
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return size, False
            except OSError as error:
                # What came before it counts.
                if not size:
                    raise
                self._broke = error
                return size, False
            if not more:
                return size, True
            size += more
        return size, False

    def _may_not_read(self) -> bool:
        if self._protocol.state is not OPEN:
            # What is still coming is thrown away, so it cannot fill anything.
            return False
        with self._arrived:
            is_full = self._is_full()
        return is_full or self._backlog_bytes > self._largest + BACKLOG_SLACK

    def _is_full(self) -> bool:
        return self._inbox_bytes > self._largest or len(self._inbox) >= INBOX_MESSAGES

    def _understand(self, data: memoryview) -> None:
        for message in self._frames.messages_in(data):
            self._deliver(message)
        self._take_in(self._protocol.events_received())

    def _take_in(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Frame) and event.opcode is Opcode.TEXT and self._protocol.state is OPEN:
                self._because(f"{self.peer} sent text, where only bytes are spoken")
                self._protocol.fail(CloseCode.UNSUPPORTED_DATA)

    def _deliver(self, message: memoryview | None) -> None:
        if message is None:
            return
        with self._arrived:
            self._inbox.append(message)
            self._inbox_bytes += len(message)
            self._arrived.notify_all()

    def _write(self) -> None:
        for _ in range(CHUNKS_A_TURN):
            self._collect()
            if not self._backlog:
                return
            first = self._backlog[0]
            try:
                sent = self._socket.send(first[:CHUNK]) if first else self._half_close()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            self._spoke = time.monotonic()
            self._backlog_bytes -= sent
            if sent == len(first):
                self._backlog.popleft()
            else:
                self._backlog[0] = first[sent:]

    def _collect(self) -> None:
        """The next piece of the message once nothing else is left; what the library has to say, between messages."""
        for data in self._protocol.data_to_send():
            self._answers.append(data)
            self._backlog_bytes += len(data)
        if self._pieces is not None and self._protocol.state is not OPEN:
            # Whoever sends the message hears how the connection ended.
            self._pieces, self._is_taken = None, False
        if self._pieces is not None and not self._backlog:
            self._queue_piece(self._pieces)
        if self._pieces is None:
            self._backlog.extend(map(memoryview, self._answers))
            self._answers.clear()

    def _queue_piece(self, pieces: Iterator[Data]) -> None:
        piece = next(pieces, None)
        if piece is None:
            self._pieces = None
        else:
            self._backlog.append(memoryview(piece))
            self._backlog_bytes += len(piece)

    @property
    def _has_more_to_write(self) -> bool:
        return bool(self._backlog) or self._pieces is not None

    def _half_close(self) -> int:
        # Past the TLS layer, whose own goodbye cannot be said while the peer is still sending; WebSockets have theirs.
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_WR)
        return 0

    def _hand_back(self) -> None:
        """Tell the sender that its message is on its way."""
        with self._taken_over:
            if self._is_taken and not self._has_more_to_write:
                self._outgoing = ()
                self._is_taken = False
                self._taken_over.notify_all()

    def _sleep(self, selector: selectors.BaseSelector) -> None:
        wanted = 0 if self._may_not_read() else selectors.EVENT_READ
        wanted |= selectors.EVENT_WRITE if self._has_more_to_write else 0
        if wanted != self._wanted:
            if self._wanted:
                selector.unregister(self._socket)
            if wanted:
                selector.register(self._socket, wanted)
            self._wanted = wanted
        # TLS may hold bytes that the socket no longer shows.
        has_more = bool(wanted & selectors.EVENT_READ) and self._socket.pending() > 0
        selector.select(0 if has_more else max(self._next_moment() - time.monotonic(), 0.001))
        with suppress(BlockingIOError):
            self._waker.recv(4096)

    def _next_moment(self) -> float:
        """The time at which there is something to do even if nothing happens."""
        if self._gives_up is not None:
            return self._gives_up
        # What waits to be written is the sign of life: no ping is due beside it.
        ping = math.inf if self._has_more_to_write else self._spoke + self._timeouts.ping
        return min(ping, self._heard + self._timeouts.silence)

    def _because(self, reason: str) -> None:
        """Note why the connection ends; the first reason is the right one."""
        self._reason = self._reason or reason

    def _finish(self) -> None:
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        self._socket.close()
        self._backlog.clear()
        with self._arrived:
            self._end = self._last_words()
            self._waker.close()
            self._wake_up.close()
            self._arrived.notify_all()
            self._taken_over.notify_all()
        log.debug("%s", self._end)

    def _last_words(self) -> str:
        heard = self._protocol.close_rcvd
        if isinstance(self._protocol.parser_exc, PayloadTooBig):
            return f"{self.peer} sent a message above {self._largest} bytes, the most that the plan allows"
        if isinstance(self._protocol.parser_exc, ProtocolError):
            return f"{self.peer} broke the rules of WebSockets; is it Plumbob of the same version?"
        if heard is not None and heard.code == CloseCode.MESSAGE_TOO_BIG:
            # Before our own reason: to be cut off in the middle of the message is only what follows.
            return f"{self.peer} refused a message as too long; do both sides have the same plan?"
        if self._reason is not None:
            return self._reason
        if heard is None:
            return f"the connection to {self.peer} ended without a goodbye; look there for the reason"
        return f"{self.peer} closed the connection; look there for the reason"


def _kind(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


PATH = "/plumbob/1"


def dial(sock: ssl.SSLSocket, peer: str, largest: int, timeouts: Timeouts, deadline: Deadline) -> WebSocketConnection:
    """The client's half of the opening handshake; raises OSError or TransportError and closes the socket."""
    # The host's name says nothing inside TLS to a pinned peer.
    protocol = ClientProtocol(parse_uri(f"wss://plumbob{PATH}"), max_size=largest, logger=silent_log)
    with _close_on_failure(sock):
        protocol.send_request(protocol.connect())
        _exchange_until_event(sock, protocol, deadline)
        if protocol.state is not OPEN:
            raise TransportError(
                f"{peer} answered, but not as Plumbob does ({_http_reason(protocol)}); compare versions"
            )
    return WebSocketConnection(sock, protocol, peer, largest, timeouts).start()


def answer(sock: ssl.SSLSocket, peer: str, largest: int, timeouts: Timeouts, deadline: Deadline) -> WebSocketConnection:
    """The server's half of the opening handshake; only one path is served, and no browser."""
    protocol = ServerProtocol(origins=[None], max_size=largest, logger=silent_log)
    with _close_on_failure(sock):
        events = _exchange_until_event(sock, protocol, deadline)
        request = events[0] if events else None
        if isinstance(request, Request):
            is_ours = request.path == PATH
            protocol.send_response(protocol.accept(request) if is_ours else protocol.reject(404, "not here\n"))
        _flush(sock, protocol, deadline)
        if protocol.state is not OPEN:
            raise TransportError(f"{peer} connected but did not speak the Plumbob protocol; compare versions")
    return WebSocketConnection(sock, protocol, peer, largest, timeouts).start()


@contextmanager
def _close_on_failure(sock: ssl.SSLSocket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        sock.close()
        raise


def _exchange_until_event(
    sock: ssl.SSLSocket, protocol: ClientProtocol | ServerProtocol, deadline: Deadline
) -> list[Event]:
    """Send what is due and read until something was understood, or will never be."""
    while True:
        _flush(sock, protocol, deadline)
        events = protocol.events_received()
        if events or protocol.handshake_exc is not None:
            return events
        sock.settimeout(deadline.left())
        # Byte by byte: what comes behind the handshake is left to whoever reads frames.
        data = sock.recv(1)
        if data:
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
            _flush(sock, protocol, deadline)
            return protocol.events_received()


def _flush(sock: ssl.SSLSocket, protocol: ClientProtocol | ServerProtocol, deadline: Deadline) -> None:
    for data in protocol.data_to_send():
        sock.settimeout(deadline.left())
        if data:
            sock.sendall(data)
        else:
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_WR)


def _http_reason(protocol: ClientProtocol | ServerProtocol) -> str:
    error = protocol.handshake_exc
    return type(error).__name__ if isinstance(error, InvalidHandshake) else "it hung up"
