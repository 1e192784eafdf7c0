"""This party's place on the network: it listens, dials, and hands over every authenticated connection.

Mutual TLS 1.3 with pinned certificates. Nothing of a caller is parsed before its certificate has proved who it is;
until then it has a deadline, and few may wait at a time (`strangers`). Dialling continues until the connector is
closed: a connection that ends is dialled again, with growing pauses while that fails.
"""

import logging
import os
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from plumbob.errors import IdentityError, TransportError
from plumbob.net import tls, wire
from plumbob.net.address import Address, Proxy
from plumbob.net.identity import Certificate, Identity, now
from plumbob.net.memory import Data
from plumbob.net.strangers import Strangers, await_hello, interrupt
from plumbob.net.tls import Deadline, Peer, open_tunnel
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
MOST_TOLD_REFUSALS = 256

log = logging.getLogger("plumbob.net")


def _log_refusal(sentence: str) -> None:
    log.warning("%s", sentence)


class Connector:
    """Listens and dials in background threads from `open` to `close`.

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
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._strangers = Strangers()
        self._dialled: set[socket.socket] = set()
        self._live: dict[str, list[Wire]] = {peer.name: [] for peer in self._peers}
        self._reasons: dict[str, TransportError] = {}
        self._told: set[str] = set()
        self._threads: list[threading.Thread] = []

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
        if self._listen is not None:
            self._listener = _listening(self._listen)
            self._start(self._accept_callers, self._listener, tls.server_context(self._identity, self._peers))
        for peer in self._peers:
            if peer.address is not None:
                self._start(self._keep_dialling, peer, Address.parse(peer.address))

    def close(self) -> None:
        """End every connection and thread; returns when they have ended, or soon will by themselves."""
        self._closed.set()
        self._strangers.close()
        with self._lock:
            for sock in self._dialled:
                interrupt(sock)
            live = [connection for connections in self._live.values() for connection in connections]
            threads = list(self._threads)
        if self._listener is not None:
            interrupt(self._listener)
        for connection in live:
            connection.close()
        end = time.monotonic() + self._timeouts.closing
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(end - time.monotonic(), 0))
        if self._listener is not None:
            self._listener.close()

    def why_not(self, peer: str) -> TransportError | None:
        """Why the last attempt at this peer failed: an IdentityError if only a person can change it."""
        with self._lock:
            return self._reasons.get(peer)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, name="plumbob connector", daemon=True)
        with self._lock:
            self._threads = [old for old in self._threads if old.is_alive()]
            # Inside the lock: a thread that was not started yet cannot be waited for.
            thread.start()
            self._threads.append(thread)

    # Callers.

    def _accept_callers(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        while not self._closed.is_set():
            try:
                caller, address = listener.accept()
            except OSError as error:
                # No more file descriptors, or a caller that left again: neither may end the listening.
                if not self._closed.is_set():
                    log.debug("accepting a caller failed (%s)", type(error).__name__)
                    self._closed.wait(0.05)
                continue
            try:
                self._start(self._greet_caller, caller, str(address[0]), context)
            except RuntimeError:
                # The system has no thread left for this caller; the next one may find one.
                log.warning("a caller was sent away, because no thread could be started for it")
                caller.close()

    def _greet_caller(self, caller: socket.socket, source: str, context: ssl.SSLContext) -> None:
        deadline = Deadline(self._timeouts.handshake)
        connection, where = None, f"a caller from {source}"
        try:
            with caller, self._strangers.admitted(caller, source) as stranger:  # Closed, unless TLS takes it over.
                _set_no_delay(caller)
                await_hello(caller, stranger, self._timeouts.first_byte, deadline)
                sock = tls.handshake(context, caller, deadline, server_side=True)
                try:
                    peer = tls.proven_peer(sock, self._peers)
                    where = f"{peer.name}, who called,"
                    connection = wire.answer(sock, peer.name, self._largest, self._timeouts, deadline)
                except BaseException:
                    sock.close()
                    raise
        except OSError as error:
            self._tell(tls.caller_refused(error, where, self._peers))
        except TransportError as error:
            self._tell(type(error)(f"{where} was refused: {error}"))
        if connection is not None:
            self._hand_over(connection)

    # Dialling.

    @contextmanager
    def _interruptible(self, sock: socket.socket) -> Iterator[None]:
        """Keep a connection that we dialled: nothing replaces it, but closing the connector ends it."""
        # TLS takes the socket object over, so a second one is kept to interrupt it.
        handle = sock.dup()
        with self._lock:
            self._dialled.add(handle)
            if self._closed.is_set():
                interrupt(handle)
        try:
            yield
        finally:
            with self._lock:
                self._dialled.discard(handle)
                handle.close()

    def _keep_dialling(self, peer: Peer, address: Address) -> None:
        pauses = _pauses(self._timeouts)
        while not self._closed.is_set():
            if self._is_second(peer):
                self._closed.wait(self._timeouts.give_way)
            if self._wait_for_live(peer) or self._closed.is_set():
                continue
            began = time.monotonic()
            connection = self._dial(peer, address)
            if connection is not None:
                self._hand_over(connection)
                if time.monotonic() - began > self._timeouts.ping:
                    pauses = _pauses(self._timeouts)
            self._closed.wait(next(pauses))

    def _is_second(self, peer: Peer) -> bool:
        """Whether the peer may be dialling us just as well, and is the one to do it."""
        return self._listen is not None and peer.name < self._identity.name

    def _wait_for_live(self, peer: Peer) -> bool:
        """Wait while a connection that the peer dialled lives: there is nothing to dial until it ends."""
        with self._lock:
            live = list(self._live[peer.name])
        for connection in live:
            connection.wait_until_ended()
        return bool(live)

    def _dial(self, peer: Peer, address: Address) -> Wire | None:
        deadline = Deadline(self._timeouts.handshake)
        try:
            context = tls.client_context(self._identity, peer)
            raw = self._reach(address, deadline)
            with raw, self._interruptible(raw):  # Closed, unless TLS takes it over.
                _set_no_delay(raw)
                sock = tls.handshake(context, raw, deadline, server_side=False)
                try:
                    tls.proven_peer(sock, [peer])
                    return wire.dial(sock, peer.name, self._largest, self._timeouts, deadline)
                except BaseException:
                    sock.close()
                    raise
        except OSError as error:
            self._note_failure(peer, tls.peer_refused(error, peer))
        except TransportError as error:
            self._note_failure(peer, error)
        return None

    def _reach(self, address: Address, deadline: Deadline) -> socket.socket:
        if self._proxy is not None:
            return open_tunnel(self._proxy, address, deadline)
        return socket.create_connection((address.host, address.port), timeout=deadline.left())

    def _note_failure(self, peer: Peer, error: TransportError) -> None:
        with self._lock:
            self._reasons[peer.name] = error
        if isinstance(error, IdentityError):
            self._tell(error)
        else:
            log.info("%s", error)

    # What came of it.

    def _hand_over(self, connection: Wire) -> None:
        """Hand over a connection, and watch it until it has ended."""
        with self._lock:
            live = self._live[connection.peer]
            live.append(connection)
            surplus = live[:-MOST_CONNECTIONS_A_PEER]
            self._reasons.pop(connection.peer, None)
        for old in surplus:
            old.close()
        if self._closed.is_set():
            connection.close()
        else:
            log.info("connected with %s", connection.peer)
            self._give(connection)
        connection.wait_until_ended()
        with self._lock:
            live.remove(connection)

    def _give(self, connection: Wire) -> None:
        try:
            self._on_connection(connection)
        except Exception:
            log.exception("what uses the connection to %s failed", connection.peer)
            connection.close()

    def _tell(self, error: TransportError) -> None:
        """Tell people one sentence, once: a stranger who calls all night must not fill their screen."""
        sentence = str(error)
        with self._lock:
            is_new = sentence not in self._told and len(self._told) < MOST_TOLD_REFUSALS
            if is_new:
                self._told.add(sentence)
        if self._closed.is_set():
            return
        if not is_new:
            log.debug("again: %s", sentence)
            return
        try:
            self._on_refusal(sentence)
        except Exception:
            # Telling people must not end the dialling.
            log.exception("a refusal could not be told")


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


def _set_no_delay(sock: socket.socket) -> None:
    # The protocol waits for each answer: small messages must not be held back.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)


def _pauses(timeouts: Timeouts) -> Iterator[float]:
    """Pauses between attempts: doubling up to a limit, each randomly shortened so that many do not come at once."""
    pause = timeouts.first_retry
    while True:
        yield pause * random.uniform(0.5, 1)  # noqa: S311  # No secret.
        pause = min(pause * 2, timeouts.longest_retry)
