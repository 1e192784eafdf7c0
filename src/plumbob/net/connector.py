"""This party's place on the network: it listens, dials, and hands over every authenticated connection.

Mutual TLS 1.3 with pinned certificates. Nothing of a caller is parsed before its certificate has proved who it is;
until then it has a deadline, and few may wait at a time (`strangers`). Dialling continues until the connector is
closed: a connection that ends is dialled again, with growing pauses while that fails.

All of it is one event loop in one thread: a task for each caller, each peer that is dialled, and each connection.
"""

import asyncio
import logging
import os
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from plumbob.errors import IdentityError, TransportError
from plumbob.net import tls, wire
from plumbob.net.address import Address, Proxy
from plumbob.net.frames import Data
from plumbob.net.identity import Certificate, Identity, now
from plumbob.net.reach import reach
from plumbob.net.strangers import Strangers
from plumbob.net.tls import Peer, TlsStream
from plumbob.net.wire import Timeouts, Wire


class Link(Protocol):
    """One end of a link. Every error is a TransportError, except LocalProtocolError for a message of ours too long."""

    def send(self, *parts: Data) -> None:
        """Send one message, in parts that need not be joined; it may still be on its way when this returns."""

    def receive(self, seconds: float) -> Data:
        """The next message, waited for at most this long; DeadlineError if none comes."""

    def close(self) -> None:
        """Close this end; the other end hears of it at its next call."""


class Connection(Link, Protocol):
    """One live, authenticated connection to a peer: whole messages, in order, while it lasts."""

    @property
    def peer(self) -> str:
        """The pinned name that the certificate proved."""


__all__ = ["Connection", "Connector", "Peer", "Timeouts"]

MOST_CONNECTIONS_A_PEER = 4
MOST_SENTENCES = 256

T = TypeVar("T")

log = logging.getLogger("plumbob.net")


def _log_refusal(sentence: str) -> None:
    log.warning("%s", sentence)


class Connector:
    """Listens and dials in the background from `open` to `close`.

    `on_connection` is called in a thread of its own for every connection, whoever dialled; it may keep the thread or
    return at once. `on_refusal` gets one sentence for people, once per reason. Dialling continues after a refusal,
    because the peer may still put it right; `why_not` tells the last reason.
    """

    def __init__(
        self,
        identity: Identity,
        peers: Sequence[Peer],
        *,
        listen: str | None,
        proxy: str | None,
        largest_message: int,
        on_connection: Callable[[Connection], None],
        on_refusal: Callable[[str], None] = _log_refusal,
        timeouts: Timeouts = Timeouts(),  # noqa: B008  # Frozen.
    ) -> None:
        self._identity = identity
        self._peers = tuple(peers)
        self._listen = None if listen is None else Address.parse(listen, any_port=True)
        self._proxy = None if proxy is None else Proxy.parse(proxy)
        self._largest = largest_message
        self._on_connection = on_connection
        self._on_refusal = on_refusal
        self._timeouts = timeouts
        _refuse_wrong_peers(identity, self._peers, listen)
        self._listener: socket.socket | None = None
        self._reasons: dict[str, TransportError] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # The loop's own.
        self._closing = asyncio.Event()
        self._strangers = Strangers()
        self._tasks: set[asyncio.Task[None]] = set()
        """Those that accept, greet and dial; every live connection has one of its own."""
        self._live: dict[str, dict[Wire, asyncio.Task[None]]] = {peer.name: {} for peer in self._peers}
        self._sentences: set[str] = set()

    @property
    def address(self) -> str | None:
        """The address we listen on, with the port that the system chose; None if we do not listen."""
        if self._listener is None:
            return None
        host, port = self._listener.getsockname()[:2]
        return str(Address(host, port))

    def open(self) -> None:
        """Start and return at once. IdentityError for our own certificate, TransportError for a port in use."""
        _refuse_stale(self._identity.certificate)
        context = tls.server_context(self._identity, self._peers)
        if self._listen is not None:
            self._listener = _listening(self._listen)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, args=(self._loop, context), name="plumbob network", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End every connection; returns when they have ended, or soon will by themselves."""
        if self._loop is not None and self._thread is not None:
            # Closed twice, the second time finds no loop.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()
        if self._listener is not None:
            self._listener.close()

    def why_not(self, peer: str) -> TransportError | None:
        """Why the last attempt at this peer failed: an IdentityError if only a person can change it."""
        return self._reasons.get(peer)

    # From here on: the loop's thread alone.

    def _run(self, loop: asyncio.AbstractEventLoop, context: ssl.SSLContext) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._work(context))

    async def _work(self, context: ssl.SSLContext) -> None:
        """Do everything until the connector is closed, and then end it."""
        if self._listener is not None:
            self._listener.setblocking(False)
            self._await_callers(self._listener, context)
        for peer in self._peers:
            if peer.address is not None:
                self._start(self._keep_dialling(peer, Address.parse(peer.address)))
        await self._closing.wait()
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
        for task in self._tasks:
            task.cancel()
        live = [(connection, task) for connections in self._live.values() for connection, task in connections.items()]
        for connection, _ in live:
            connection.part()
        await asyncio.gather(*self._tasks, *(task for _, task in live), return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Callers.

    def _await_callers(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        if not self._closing.is_set():
            asyncio.get_running_loop().add_reader(listener, self._accept_caller, listener, context)

    def _accept_caller(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        try:
            caller, address = listener.accept()
        except OSError as error:
            # No more file descriptors, or a caller that left again: neither may end the listening.
            log.debug("accepting a caller failed (%s)", type(error).__name__)
            loop = asyncio.get_running_loop()
            loop.remove_reader(listener)
            loop.call_later(0.05, self._await_callers, listener, context)
            return
        stream = TlsStream(caller, context, server_side=True)
        task = self._start(self._greet_caller(stream, str(address[0])))
        # A task may be cancelled before it has begun.
        task.add_done_callback(lambda task: stream.close() if task.cancelled() else None)

    async def _greet_caller(self, stream: TlsStream, source: str) -> None:
        where, limits = f"a caller from {source}", self._timeouts
        try:
            with _closed_on_error(stream), self._strangers.admit(source, lambda: stream.is_understood):
                async with asyncio.timeout(limits.handshake):
                    await stream.handshake(limits.first_byte)
                    peer = stream.proven_peer(self._peers)
                    where = f"{peer.name}, who called,"
                    await wire.open_caller(stream, peer.name)
        except OSError as error:
            self._tell(tls.caller_refused(error, where, self._peers))
        except TransportError as error:
            self._tell(type(error)(f"{where} was refused: {error}"))
        else:
            self._hand_over(Wire(stream, peer.name, self._largest, limits))

    # Dialling.

    async def _keep_dialling(self, peer: Peer, address: Address) -> None:
        pauses = _pauses(self._timeouts)
        while True:
            if self._is_second(peer):
                await asyncio.sleep(self._timeouts.give_way)
            if live := self._live[peer.name]:
                # There is nothing to dial until the connection that the peer dialled ends.
                await asyncio.wait(live.values())
                continue
            began = time.monotonic()
            connection = await self._dial(peer, address)
            if connection is not None:
                await asyncio.wait([self._hand_over(connection)])
                if time.monotonic() - began > self._timeouts.ping:
                    pauses = _pauses(self._timeouts)
            await asyncio.sleep(next(pauses))

    def _is_second(self, peer: Peer) -> bool:
        """Whether the peer may be dialling us just as well, and is the one to do it."""
        return self._listen is not None and peer.name < self._identity.name

    async def _dial(self, peer: Peer, address: Address) -> Wire | None:
        limits = self._timeouts
        try:
            async with asyncio.timeout(limits.handshake):
                context = tls.client_context(self._identity, peer)
                sock = await reach(address, self._proxy)
                stream = TlsStream(sock, context, server_side=False)
                with _closed_on_error(stream):
                    await stream.handshake()
                    stream.proven_peer([peer])
                    await wire.open_called(stream, peer.name)
                    return Wire(stream, peer.name, self._largest, limits)
        except OSError as error:
            self._note_failure(peer, tls.peer_refused(error, peer))
        except TransportError as error:
            self._note_failure(peer, error)
        return None

    def _note_failure(self, peer: Peer, error: TransportError) -> None:
        self._reasons[peer.name] = error
        if isinstance(error, IdentityError):
            self._tell(error)
        else:
            log.info("%s", error)

    # What came of it.

    def _hand_over(self, connection: Wire) -> asyncio.Task[None]:
        """Move the connection's messages until it ends, and give it to whoever uses it."""
        live = self._live[connection.peer]
        for old in [*live][: max(0, len(live) + 1 - MOST_CONNECTIONS_A_PEER)]:
            old.part()
        task = asyncio.create_task(connection.move())
        live[connection] = task
        task.add_done_callback(lambda _: live.pop(connection))
        self._reasons.pop(connection.peer, None)
        if self._closing.is_set():
            connection.part()
            return task
        log.info("connected with %s", connection.peer)
        if not _in_thread(self._give, connection):
            # It may have a thread for it when the peer comes again.
            connection.part()
        return task

    def _give(self, connection: Wire) -> None:
        try:
            self._on_connection(connection)
        except Exception:
            log.exception("what uses the connection to %s failed", connection.peer)
            connection.close()

    def _tell(self, error: TransportError) -> None:
        """Tell people one sentence, once: a stranger who calls all night must not fill their screen."""
        sentence = str(error)
        if self._closing.is_set():
            return
        if sentence in self._sentences or len(self._sentences) >= MOST_SENTENCES:
            log.debug("again: %s", sentence)
            return
        self._sentences.add(sentence)
        # In a thread: a terminal that is stopped must not stop the network.
        _in_thread(self._tell_people, sentence)

    def _tell_people(self, sentence: str) -> None:
        try:
            self._on_refusal(sentence)
        except Exception:
            log.exception("a refusal could not be told")


@contextmanager
def _closed_on_error(stream: TlsStream) -> Iterator[None]:
    """Close the stream where nobody takes it over."""
    try:
        yield
    except BaseException:
        stream.close()
        raise


def _in_thread(work: Callable[[T], None], argument: T) -> bool:
    """Let a thread of its own do some work; False where the system has none left, which ends nothing else."""
    try:
        threading.Thread(target=work, args=(argument,), name="plumbob connector", daemon=True).start()
    except RuntimeError:
        log.warning("no thread could be started")
        return False
    return True


def _refuse_wrong_peers(identity: Identity, peers: Sequence[Peer], listen: str | None) -> None:
    names = [identity.name.lower(), *(peer.name.lower() for peer in peers)]
    if not peers:
        raise TransportError("there is no peer yet; type: plumbob party join TOKEN")
    if len(set(names)) < len(names):
        raise IdentityError(f"two parties have the same name, among {', '.join(names)}; one needs another identity")
    if len({peer.certificate for peer in peers} | {identity.certificate.der}) < len(names):
        raise IdentityError("two parties have the same certificate; one of them must make its own identity")
    for peer in peers:
        if Certificate.parse(peer.certificate).name != peer.name:
            raise IdentityError(f"{peer.name} is pinned with a certificate of another name; join its invitation again")
        if peer.address is None and listen is None:
            raise TransportError(
                f"nobody can dial: we have no address of {peer.name} and do not listen ourselves; "
                f"set `listen` in party.toml, or join {peer.name} again with --address HOST:PORT"
            )
        if peer.address is not None:
            Address.parse(peer.address)


def _refuse_stale(certificate: Certificate) -> None:
    mistake = certificate.mistake_at(now())
    if mistake is not None:
        raise IdentityError(f"our certificate is not valid: {mistake}")


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Whoever listens everywhere means both kinds of addresses.
    both = address.host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((address.host, address.port), family=family, dualstack_ipv6=both)
    except OSError as error:
        raise TransportError(
            f"cannot listen on {address}: {_plainly(error)}; choose another `listen`, or stop the "
            "program that uses this port"
        ) from error


def _plainly(error: OSError) -> str:
    # Python adds the address to the system's words, but the numbers of unknown hosts are not the system's.
    if error.errno is None or isinstance(error, socket.gaierror):
        return str(error.strerror or type(error).__name__)
    return os.strerror(error.errno)


def _pauses(timeouts: Timeouts) -> Iterator[float]:
    """Pauses between attempts: doubling up to a limit, each randomly shortened so that many do not come at once."""
    pause = timeouts.first_retry
    while True:
        yield pause * random.uniform(0.5, 1)  # noqa: S311  # No secret.
        pause = min(pause * 2, timeouts.longest_retry)
