"""Through an HTTP proxy to a peer: one CONNECT, after which the proxy only carries our TLS."""

import base64
import re
import socket

from plumbob.errors import IdentityError, TransportError
from plumbob.net.address import Address, Proxy
from plumbob.net.tls import Deadline

LARGEST_ANSWER = 16384
STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")


def open_tunnel(proxy: Proxy, target: Address, deadline: Deadline) -> socket.socket:
    """A socket that reaches the target; raises TransportError for what the proxy answers, OSError for the network."""
    try:
        sock = socket.create_connection((proxy.address.host, proxy.address.port), timeout=deadline.left())
    except OSError as error:
        raise TransportError(
            f"the proxy {proxy.address} cannot be reached ({error.strerror or type(error).__name__}); check `proxy`"
        ) from error
    try:
        sock.sendall(_request(proxy, target))
        _refuse_unless_open(_status(sock, deadline), proxy, target)
    except BaseException:
        sock.close()
        raise
    return sock


def _request(proxy: Proxy, target: Address) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.user is not None:
        secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    return "\r\n".join([*lines, "", ""]).encode()


def _status(sock: socket.socket, deadline: Deadline) -> int:
    """The answer's status. Byte by byte, so that nothing behind its end is taken from TLS."""
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        sock.settimeout(deadline.left())
        byte = sock.recv(1)
        if not byte or len(answer) >= LARGEST_ANSWER:
            raise TransportError("the proxy gave no proper answer to CONNECT; check `proxy`")
        answer += byte
    status = STATUS.match(answer)
    if status is None:
        raise TransportError("the proxy does not speak HTTP; check `proxy`")
    return int(status[1])


def _refuse_unless_open(status: int, proxy: Proxy, target: Address) -> None:
    if 200 <= status < 300:
        return
    if status == 407:
        raise IdentityError(f"the proxy {proxy.address} wants another user and password; set them in `proxy`")
    if status in (403, 405):
        raise TransportError(f"the proxy {proxy.address} does not allow CONNECT to {target}; ask its administrator")
    raise TransportError(f"the proxy {proxy.address} cannot reach {target} (HTTP {status})")
