"""The way to a peer's address: directly, or through an HTTP proxy with one CONNECT.

After its answer the proxy only carries our TLS. All of this blocks, because a name can be looked up in no other way;
so each attempt has a thread of its own, and nobody waits for the thread when the attempt is given up.
"""

import asyncio
import base64
import errno
import re
import socket
import threading
import time
from collections.abc import Callable

from plumbob.errors import IdentityError, TransportError
from plumbob.net.address import Address, Proxy

LARGEST_ANSWER = 16384
STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")


async def reach(address: Address, proxy: Proxy | None, seconds: float) -> socket.socket:
    """A connected socket; raises TransportError for what the proxy answers, OSError for the network."""
    loop = asyncio.get_running_loop()
    reached: asyncio.Future[socket.socket] = loop.create_future()

    def attempt() -> None:
        try:
            sock = _connected(address, proxy, _Deadline(seconds))
        except Exception as error:
            _answer(loop, _fail, reached, error)
        else:
            if not _answer(loop, _succeed, reached, sock):
                sock.close()

    try:
        threading.Thread(target=attempt, name="plumbob dialling", daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "no thread could be started") from error
    return await reached


def _answer(loop: asyncio.AbstractEventLoop, answer: Callable[..., None], *arguments: object) -> bool:
    """Let the loop hear the answer; False where it has ended, so that nobody waits any more."""
    try:
        loop.call_soon_threadsafe(answer, *arguments)
    except RuntimeError:
        return False
    return True


def _fail(reached: "asyncio.Future[socket.socket]", error: Exception) -> None:
    if not reached.done():
        reached.set_exception(error)


def _succeed(reached: "asyncio.Future[socket.socket]", sock: socket.socket) -> None:
    if reached.done():
        sock.close()
    else:
        reached.set_result(sock)


class _Deadline:
    """One deadline for several steps: each gets what is left."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds left, above 0; raises TimeoutError when none are."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


def _connected(address: Address, proxy: Proxy | None, deadline: _Deadline) -> socket.socket:
    if proxy is None:
        return socket.create_connection((address.host, address.port), timeout=deadline.left())
    try:
        sock = socket.create_connection((proxy.address.host, proxy.address.port), timeout=deadline.left())
    except OSError as error:
        raise TransportError(
            f"the proxy {proxy.address} cannot be reached ({error.strerror or type(error).__name__}); check `proxy`"
        ) from error
    try:
        sock.sendall(_request(proxy, address))
        _refuse_unless_open(_status(sock, deadline), proxy, address)
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


def _status(sock: socket.socket, deadline: _Deadline) -> int:
    """The status of the answer, read byte by byte, so that nothing behind its end is taken from TLS."""
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
