"""Real parties on the loopback: identities, connectors that collect what they are given, and an HTTP proxy."""

import base64
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from plumbob.errors import DeadlineError, TransportError
from plumbob.net.connector import Connection, Connector, Peer
from plumbob.net.identity import Identity
from plumbob.net.wire import OPENING, Timeouts

LARGEST = 1 << 20
At = tuple[str, int]
"""Host and port."""
PATIENCE = 120.0  # seconds until a test is lost; nothing waits that long in a sound run
QUICK = Timeouts(handshake=60, ping=0.2, silence=60, closing=0.5, first_retry=0.02, longest_retry=0.1, give_way=0.3)


class Collected:
    """A connector, and whatever it was given or told."""

    def __init__(
        self,
        identity: Identity,
        peers: list[Peer],
        *,
        listen: str | None = None,
        proxy: str | None = None,
        timeouts: Timeouts = QUICK,
        largest: int = LARGEST,
    ) -> None:
        self.connections: queue.Queue[Connection] = queue.Queue()
        self.refusals: queue.Queue[str] = queue.Queue()
        self.connector = Connector(
            identity,
            peers,
            listen=listen,
            proxy=proxy,
            largest_message=largest,
            on_connection=self.connections.put,
            on_refusal=self.refusals.put,
            timeouts=timeouts,
        )

    def next(self) -> Connection:
        """The next connection."""
        return self.connections.get(timeout=PATIENCE)

    def refusal(self) -> str:
        """The next sentence about a refusal."""
        return self.refusals.get(timeout=PATIENCE)

    def reason(self, peer: str) -> str:
        """Why a peer cannot be reached, once that was tried."""
        while (error := self.connector.why_not(peer)) is None:
            time.sleep(0.01)
        return str(error)


def peer_of(identity: Identity, address: str | None = None) -> Peer:
    """How others know this party."""
    return Peer(identity.name, identity.certificate.der, address)


@contextmanager
def opened(*connectors: Collected) -> Iterator[None]:
    """Keep the connectors open until the block ends."""
    try:
        for item in connectors:
            item.connector.open()
        yield
    finally:
        for item in connectors:
            item.connector.close()


@contextmanager
def listening(
    identity: Identity, *others: Identity, timeouts: Timeouts = QUICK, largest: int = LARGEST
) -> Iterator[Collected]:
    """A connector that the others may call."""
    peers = [peer_of(other) for other in others]
    collected = Collected(identity, peers, listen="127.0.0.1:0", timeouts=timeouts, largest=largest)
    with opened(collected):
        yield collected


@contextmanager
def dialling(
    identity: Identity,
    other: Identity,
    address: str | None,
    *,
    proxy: str | None = None,
    timeouts: Timeouts = QUICK,
    largest: int = LARGEST,
) -> Iterator[Collected]:
    """A connector that calls the other one there."""
    collected = Collected(identity, [peer_of(other, address)], proxy=proxy, timeouts=timeouts, largest=largest)
    with opened(collected):
        yield collected


@contextmanager
def connected(here: Identity, there: Identity, timeouts: Timeouts = QUICK) -> Iterator[tuple[Connection, Connection]]:
    """Both ends of one connection, the dialling one first."""
    with (
        listening(there, here, timeouts=timeouts) as server,
        dialling(here, there, server.connector.address, timeouts=timeouts) as client,
    ):
        yield client.next(), server.next()


def plain_context(identity: Identity | None = None) -> ssl.SSLContext:
    """A TLS client that believes everybody, as a stranger's may."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if identity is not None:
        context.load_cert_chain(identity.certificate_file, identity.key_file)
    return context


def where(collected: Collected) -> At:
    """Host and port of a listening connector."""
    assert collected.connector.address is not None
    host, _, port = collected.connector.address.rpartition(":")
    return host, int(port)


def ended(connection: object, seconds: float = PATIENCE) -> str:
    """How a connection ended, in its own words."""
    with pytest.raises(TransportError) as caught:
        connection.receive(seconds)  # type: ignore[attr-defined]
    assert not isinstance(caught.value, DeadlineError)
    return str(caught.value)


def speaking(identity: Identity, address: tuple[str, int], words: bytes = OPENING) -> tuple[ssl.SSLSocket, bytes]:
    """A pinned party whose side of the connection is written by hand, and what it was answered."""
    sock = plain_context(identity).wrap_socket(socket.create_connection(address, timeout=PATIENCE))
    sock.sendall(words)
    return sock, sock.recv(4096)


def over_tls(at: At, context: ssl.SSLContext, words: bytes = b"") -> str:
    """What a TLS client hears that says these words: the alert's name, or an answer."""
    try:
        with socket.create_connection(at, timeout=PATIENCE) as raw, context.wrap_socket(raw) as sock:
            sock.sendall(words)
            return repr(sock.recv(100))
    except ssl.SSLError as error:
        return str(error.reason)


class Answering:
    """A plain server in a thread: each connection is given to a function."""

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._one, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _one(self, sock: socket.socket) -> None:
        with sock, suppress(OSError):
            self._answer(sock)

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)


class ConnectProxy(Answering):
    """An HTTP proxy that knows CONNECT and nothing else, with a user and password if wanted."""

    def __init__(self, credentials: str | None = None) -> None:
        self.credentials = credentials
        self.targets: list[str] = []
        super().__init__(self._tunnel)

    @property
    def url(self) -> str:
        """The proxy's address without credentials."""
        return f"http://{self.address}"

    def _tunnel(self, client: socket.socket) -> None:
        lines = _head(client)
        method, target, _ = lines[0].split()
        if self.credentials is not None and f"Proxy-Authorization: Basic {_base64(self.credentials)}" not in lines:
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        elif method != "CONNECT":
            client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
        else:
            self.targets.append(target)
            self._carry(client, target)

    def _carry(self, client: socket.socket, target: str) -> None:
        host, _, port = target.rpartition(":")
        try:
            server = socket.create_connection((host, int(port)), timeout=PATIENCE)
        except OSError:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        with server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\nVia: a test\r\n\r\n")
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join(PATIENCE)


def _head(sock: socket.socket) -> list[str]:
    head = b""
    while b"\r\n\r\n" not in head:
        data = sock.recv(4096)
        if not data:
            raise ConnectionError
        head += data
    return head.decode().split("\r\n")


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until one side ends; then the other hears of it."""
    source.settimeout(None)
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for sock in (source, target):
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def identities(folder: Path, *names: str) -> list[Identity]:
    """New parties of these names."""
    return [Identity.create(folder / name, name) for name in names]
