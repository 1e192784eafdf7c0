"""One live connection: whole messages over an authenticated TLS connection.

What travels are frames (`frames`). Before the first one, each side says `OPENING` once: in TLS 1.3 only this answer
tells the side that dials that its certificate was taken.

Reading and writing are two tasks of one event loop, because two sides that send long messages at the same time would
otherwise wait for ever. Nothing is compressed, which would tell lengths about contents.
"""

import asyncio
import logging
import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass

from plumbob import counting
from plumbob.errors import DeadlineError, LocalProtocolError, TransportError
from plumbob.net.frames import ALIVE, LEAVING, SIZE, TOO_LONG, Data, signal
from plumbob.net.tls import CHUNK, TlsStream

OPENING = b"plumbob\x02"
INBOX_MESSAGES = 64

log = logging.getLogger("plumbob.net")


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


class Wire:
    """A live connection to a peer: whole frames without their sizes, in order, while it lasts.

    What has come is kept until it is received, about one longest message and 64 short ones; beyond that the peer has to
    wait. Any thread may send, receive and close.
    """

    def __init__(self, stream: TlsStream, peer: str, largest: int, timeouts: Timeouts) -> None:
        self.peer = peer
        self._stream = stream
        self._largest = largest
        self._timeouts = timeouts
        # Shared with the threads that call, under one lock.
        self._arrived = threading.Condition()
        self._inbox: deque[Data] = deque()
        self._inbox_bytes = 0
        self._outgoing: deque[tuple[tuple[Data, ...], Future[None]]] = deque()
        self._end: str | None = None
        # The loop's own.
        self._loop = asyncio.get_running_loop()
        self._has_orders = asyncio.Event()
        self._has_room = asyncio.Event()
        self._farewell: int | None = None
        """What to say before the end, once it is certain that we end the connection."""
        self._reason: str | None = None

    def send(self, *parts: Data) -> None:
        """Returns when the network has taken the message over; blocks while it, or the peer, is slow."""
        size = sum(map(len, parts))
        if size > self._largest:
            raise LocalProtocolError(
                f"our message to {self.peer} has {size} bytes, the plan allows {self._largest}; do its rows agree "
                "with those that were aligned?"
            )
        sent: Future[None] = Future()
        with self._arrived:
            if self._end is not None:
                raise TransportError(self._end)
            self._outgoing.append((parts, sent))
            self._loop.call_soon_threadsafe(self._has_orders.set)
        sent.result()
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
            data = self._inbox.popleft()
            self._inbox_bytes -= len(data)
            if self._end is None:
                self._loop.call_soon_threadsafe(self._has_room.set)
        log.debug("received %d bytes from %s", len(data), self.peer)
        return data

    def close(self) -> None:
        """Say goodbye; what was sent before still arrives. Returns when the connection has ended."""
        with self._arrived:
            if self._end is None:
                self._loop.call_soon_threadsafe(self.part)
                self._arrived.wait_for(lambda: self._end is not None)

    # From here on: the loop's thread alone.

    def part(self) -> None:
        """Begin to end the connection from this side."""
        self._part(LEAVING, f"this side closed the connection to {self.peer}")

    async def move(self) -> None:
        """Read and write until the connection has ended."""
        try:
            await self._move()
        except Exception:
            # Nothing may end without a word to those who wait for it.
            log.exception("moving messages of %s", self.peer)
            self._because(f"the connection to {self.peer} was given up after an error of ours; see the log")
        finally:
            self._finish()

    async def _move(self) -> None:
        """Read and write until one of the two ends, and then end properly."""
        reading = asyncio.create_task(self._read_messages())
        writing = asyncio.create_task(self._write_messages())
        try:
            await asyncio.wait((reading, writing), return_when=asyncio.FIRST_COMPLETED)
            if self._farewell is not None:
                # What was sent before the goodbye arrives, unless the peer does not take it.
                await asyncio.wait((writing,), timeout=self._timeouts.closing)
            if not reading.done():
                # After our goodbye the peer hangs up: a socket that is closed with unread bytes would take it back. And
                # where nothing can be written any more, the reason may be in what has come.
                await asyncio.wait((reading,), timeout=self._timeouts.closing)
        finally:
            reading.cancel()
            writing.cancel()
            results = await asyncio.gather(reading, writing, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    def _part(self, farewell: int, reason: str) -> None:
        """Begin to end the connection from this side: the writer says farewell, and the reader throws away."""
        self._because(reason)
        self._farewell = self._farewell or farewell
        self._has_orders.set()
        self._has_room.set()

    def _because(self, reason: str) -> None:
        """Note why the connection ends; the first reason is the right one."""
        self._reason = self._reason or reason

    def _finish(self) -> None:
        self._stream.close()
        with self._arrived:
            self._end = (
                self._reason or f"the connection to {self.peer} ended without a goodbye; look there for the reason"
            )
            abandoned = [sent for _, sent in self._outgoing]
            self._outgoing.clear()
            self._arrived.notify_all()
        for sent in abandoned:
            sent.set_exception(TransportError(self._end))
        log.debug("%s", self._end)

    # Reading.

    async def _read_messages(self) -> None:
        try:
            while await self._read_message():
                pass
        except TimeoutError:
            self._because(
                f"no sign of life from {self.peer} for {counting.seconds(self._timeouts.silence)}; the link is dead"
            )
        except EOFError:
            self._because(f"the connection to {self.peer} ended without a goodbye; look there for the reason")
        except OSError as error:
            self._because(f"the connection to {self.peer} broke ({_kind(error)})")

    async def _read_message(self) -> bool:
        """Take in one frame; False where nothing follows."""
        (size,) = SIZE.unpack(await self._read(SIZE.size))
        if size > self._largest:
            self._part(
                TOO_LONG, f"{self.peer} sent a message above {self._largest} bytes, the most that the plan allows"
            )
            await self._throw_away()
        frame = await self._read(size)
        kind = frame[0] if size else None
        if kind == LEAVING:
            self._because(f"{self.peer} closed the connection; look there for the reason")
            return False
        if kind == TOO_LONG:
            self._because(f"{self.peer} refused a message as too long; do both sides have the same plan?")
            return False
        if kind != ALIVE:
            await self._deliver(frame)
        return True

    async def _read(self, size: int) -> memoryview:
        """The next bytes, put into their place as they come: a long message is not copied."""
        whole = memoryview(bytearray(size))
        at = 0
        while at < size:
            more = await self._stream.read_into(whole[at:], self._timeouts.silence)
            if not more:
                raise EOFError
            at += more
        return whole

    async def _throw_away(self) -> None:
        """Read on without keeping anything, until the peer hangs up."""
        room = memoryview(bytearray(CHUNK))
        while await self._stream.read_into(room, self._timeouts.silence):
            pass
        raise EOFError

    async def _deliver(self, message: memoryview) -> None:
        """Hand a message to whoever receives, and hold the peer back while too much waits there."""
        if self._farewell is not None:
            return
        with self._arrived:
            self._inbox.append(message)
            self._inbox_bytes += len(message)
            self._arrived.notify_all()
        while self._is_full() and self._farewell is None:
            self._has_room.clear()
            # Looked at again, because a receiver may have made room before the event was cleared.
            if self._is_full():
                await self._has_room.wait()

    def _is_full(self) -> bool:
        with self._arrived:
            return self._inbox_bytes > self._largest or len(self._inbox) >= INBOX_MESSAGES

    # Writing.

    async def _write_messages(self) -> None:
        try:
            while self._farewell is None or self._outgoing:
                await self._write_next()
            await self._write(signal(self._farewell))
        except OSError:
            # The reader looks for the reason in what has come, before the end is told.
            return

    async def _write_next(self) -> None:
        """Write the next message, or a sign of life where there is none for a while."""
        if not self._outgoing and self._farewell is None:
            self._has_orders.clear()
            try:
                async with asyncio.timeout(self._timeouts.ping):
                    # Looked at again, because an order may have come before the event was cleared.
                    if not self._outgoing:
                        await self._has_orders.wait()
            except TimeoutError:
                await self._write(signal(ALIVE))
                return
        if self._outgoing:
            parts, sent = self._outgoing[0]
            await self._write_message(parts)
            self._outgoing.popleft()
            sent.set_result(None)

    async def _write_message(self, parts: tuple[Data, ...]) -> None:
        *short, last = parts or (b"",)
        rest = memoryview(last).cast("B")
        # One piece with the size: small pieces would travel as packets of their own.
        await self._write(b"".join([SIZE.pack(sum(map(len, parts))), *short, rest[:CHUNK]]))
        for at in range(CHUNK, len(rest), CHUNK):
            await self._write(rest[at : at + CHUNK])

    async def _write(self, piece: Data) -> None:
        await self._stream.write(memoryview(piece))


def _kind(error: OSError) -> str:
    return getattr(error, "reason", None) or error.strerror or type(error).__name__


async def open_called(stream: TlsStream, peer: str) -> None:
    """Say the opening where we dialled; raises TransportError unless it is answered in kind, OSError."""
    await stream.write(memoryview(OPENING))
    if await _first_words(stream) != OPENING:
        raise TransportError(f"{peer} answered, but not as Plumbob does; compare versions")


async def open_caller(stream: TlsStream, peer: str) -> None:
    """Answer a caller that says the right words; raises TransportError for any others, OSError."""
    if await _first_words(stream) != OPENING:
        raise TransportError(f"{peer} connected but did not speak the Plumbob protocol; compare versions")
    await stream.write(memoryview(OPENING))


async def _first_words(stream: TlsStream) -> bytes:
    """The first bytes from the other side, as many as an opening has; fewer where it hangs up."""
    words, room = b"", memoryview(bytearray(len(OPENING)))
    while len(words) < len(OPENING) and (more := await stream.read_into(room[len(words) :])):
        words = bytes(room[: len(words) + more])
    return words
