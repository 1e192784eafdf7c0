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
from contextlib import suppress
from functools import partial

from plumbob.errors import IdentityError, TransportError
from plumbob.net.address import Address, Proxy

LARGEST_ANSWER = 16384
STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: [^\r\n]*)?\r\n")


async def reach(address: Address, proxy: Proxy | None, seconds: float) -> socket.socket:
    """A connected socket; raises TransportError for what the proxy answers, OSError for the network."""
    attempt = _Attempt(asyncio.get_running_loop())
    try:
        work = partial(_connected, address, proxy, _Deadline(seconds))
        threading.Thread(target=attempt.make, args=(work,), name="plumbob dialling", daemon=True).start()
        return await attempt.result()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "no thread could be started") from error
    except BaseException:
        attempt.give_up()
        raise


class _Attempt:
    """An attempt that a thread makes: its socket is taken, or closed by whoever comes second."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._is_over = loop, asyncio.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._error: Exception | None = None
        self._is_given_up = False

    def make(self, connect: Callable[[], socket.socket]) -> None:
        """Connect, in the thread."""
        try:
            sock = connect()
        except Exception as error:
            self._error = error
        else:
            with self._lock:
                self._socket = sock
                if self._is_given_up:
                    sock.close()
        # The loop may have ended meanwhile: then nobody waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._is_over.set)

    async def result(self) -> socket.socket:
        """The socket, once the attempt is over; raises what went wrong."""
        await self._is_over.wait()
        if self._socket is None:
            raise self._error or OSError(errno.EIO, "the attempt ended without a word")
        return self._socket

    def give_up(self) -> None:
        """Close what the attempt has brought, or will bring."""
        with self._lock:
            self._is_given_up = True
            if self._socket is not None:
                self._socket.close()


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
