"""Both halves of a WebSocket's opening handshake, on a socket that TLS has authenticated."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake
from websockets.http11 import Request
from websockets.protocol import OPEN, Event
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from plumbob.errors import TransportError
from plumbob.net.timeouts import Timeouts
from plumbob.net.tls import Deadline
from plumbob.net.websocket import WebSocketConnection, silent_log

PATH = "/plumbob/1"


def dial(sock: ssl.SSLSocket, peer: str, largest: int, timeouts: Timeouts, deadline: Deadline) -> WebSocketConnection:
    """The client's half of the opening handshake; raises OSError or TransportError and closes the socket."""
    # The host's name says nothing inside TLS to a pinned peer.
    protocol = ClientProtocol(parse_uri(f"wss://plumbob{PATH}"), max_size=largest, logger=silent_log)
    with _close_on_failure(sock):
        protocol.send_request(protocol.connect())
        events = _exchange_until_event(sock, protocol, deadline)
        if protocol.state is not OPEN:
            raise TransportError(
                f"{peer} answered, but not as Plumbob does ({_http_reason(protocol)}); compare versions"
            )
    return WebSocketConnection(sock, protocol, peer, largest, timeouts).start(events[1:])


def answer(sock: ssl.SSLSocket, peer: str, largest: int, timeouts: Timeouts, deadline: Deadline) -> WebSocketConnection:
    """The server's half; only the one path is served, and no browser."""
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
    return WebSocketConnection(sock, protocol, peer, largest, timeouts).start(events[1:])


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
        data = sock.recv(4096)
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
