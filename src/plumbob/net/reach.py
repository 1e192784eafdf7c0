"""The way to a peer's address: directly, or through an HTTP proxy with one CONNECT.

After its answer the proxy only carries our TLS.
"""

import asyncio
import base64
import errno
import re
import socket
import threading
from concurrent.futures import Future
from typing import Any

from plumbob.errors import IdentityError, TransportError
from plumbob.net.address import Address, Proxy

LARGEST_ANSWER = 16384
STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")


async def reach(address: Address, proxy: Proxy | None) -> socket.socket:
    """A connected socket; raises TransportError for what the proxy answers, OSError for the network."""
    if proxy is None:
        return await _connected(address)
    try:
        sock = await _connected(proxy.address)
    except OSError as error:
        raise TransportError(
            f"the proxy {proxy.address} cannot be reached ({error.strerror or type(error).__name__}); check `proxy`"
        ) from error
    try:
        await asyncio.get_running_loop().sock_sendall(sock, _request(proxy, address))
        _refuse_unless_open(await _status(sock), proxy, address)
    except BaseException:
        sock.close()
        raise
    return sock


async def _connected(address: Address) -> socket.socket:
    """A socket to the first place of this address that answers; the error of the last one where none does."""
    failure = OSError(errno.EADDRNOTAVAIL, "the address has no place")
    for family, kind, protocol, _, place in await _places(address):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, place)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


async def _places(address: Address) -> list[Any]:
    """What the system knows of an address.

    It looks names up in no other way than blocking, perhaps for minutes. So each lookup has a thread of its own, and
    nobody waits for the thread when the attempt is given up; asyncio would, at its end, for those that it starts.
    """
    found: Future[list[Any]] = Future()
    # From here on it cannot be cancelled: the thread may always say what it found.
    found.set_running_or_notify_cancel()

    def look_up() -> None:
        try:
            found.set_result(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except Exception as error:
            found.set_exception(error)

    try:
        threading.Thread(target=look_up, name="plumbob lookup", daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "no thread could be started") from error
    return await asyncio.wrap_future(found)


def _request(proxy: Proxy, target: Address) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.user is not None:
        secret = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {secret}")
    return "\r\n".join([*lines, "", ""]).encode()


async def _status(sock: socket.socket) -> int:
    """The status of the answer, read byte by byte, so that nothing behind its end is taken from TLS."""
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        byte = await asyncio.get_running_loop().sock_recv(sock, 1)
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
