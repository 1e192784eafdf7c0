"""One party's secret scalar at work on many points: in this process, or spread over several.

A worker gets the scalar once, at its start and through a pipe, and draws nothing. Work is asked for first and fetched
later, so that messages travel while it is done.
"""

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import TypeVar

from plumbob.crypto.curve import ORDER, POINT_BYTES, Scalar, hashed_points
from plumbob.crypto.same_scalar import Prover
from plumbob.errors import LocalProtocolError

PIECE = 256  # Points of one task: some 20 ms.
BROKEN = "a worker process ended by itself; is there enough memory? Try fewer jobs"

Pending = Callable[[], bytes]
"""Points under way; the call waits for them."""

Piece = TypeVar("Piece", bytes, Sequence[bytes])


class Blinder:
    """Multiplies with a scalar and with its inverse."""

    def __init__(self, scalar: int, domain: bytes, jobs: int) -> None:
        self._domain = domain
        self._here = Worker(scalar, domain)
        # A fresh interpreter each: what this process has in memory is none of a worker's business.
        self._pool = ProcessPoolExecutor(jobs, get_context("spawn"), _settle, (scalar, domain)) if jobs > 1 else None

    def blind(self, texts: Sequence[bytes]) -> Pending:
        """Texts hashed to points, times the scalar."""
        return self._start(Worker.blind, [texts[start : start + PIECE] for start in range(0, len(texts), PIECE)])

    def raised(self, points: bytes) -> Pending:
        """Points times the scalar; the fetching raises CryptoError where one is no point."""
        return self._start(Worker.raised, _pieces(points))

    def lowered(self, points: bytes) -> Pending:
        """Points times the scalar's inverse."""
        return self._start(Worker.lowered, _pieces(points))

    def signs(self, points: bytes, products: bytes) -> Pending:
        """A byte for each product: which of two points above its x-coordinate the scalar gives."""
        pairs = zip(_pieces(points), _pieces(products), strict=True)
        return self._start(Worker.signs, [first + second for first, second in pairs])

    def hashed(self, texts: Sequence[bytes]) -> bytes:
        """Texts hashed to points, without a scalar."""
        return hashed_points(self._domain, texts)

    @property
    def is_spread(self) -> bool:
        """Whether asking does not wait for the work."""
        return self._pool is not None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _start(self, task: Callable[["Worker", Piece], bytes], pieces: Sequence[Piece]) -> Pending:
        if self._pool is None:
            done = b"".join(task(self._here, piece) for piece in pieces)
            return lambda: done
        try:
            futures = [self._pool.submit(_work, task, piece) for piece in pieces]
        except BrokenProcessPool:
            raise LocalProtocolError(BROKEN) from None
        return lambda: _fetch(futures)


class Worker:
    """What multiplies, in this process or in one of its own."""

    def __init__(self, scalar: int, domain: bytes) -> None:
        self._domain = domain
        self._scalar, self._inverse = Scalar(scalar), Scalar(pow(scalar, -1, ORDER))
        self._prover = Prover(scalar)

    def blind(self, texts: Sequence[bytes]) -> bytes:
        return self._scalar.times_hashed(self._domain, texts)

    def raised(self, points: bytes) -> bytes:
        return self._scalar.times(points)

    def lowered(self, points: bytes) -> bytes:
        return self._inverse.times(points)

    def signs(self, both: bytes) -> bytes:
        """Of points and, after them, their products."""
        return self._prover.signs(both[: len(both) // 2], both[len(both) // 2 :])


def _pieces(points: bytes) -> list[bytes]:
    size = PIECE * POINT_BYTES
    return [points[start : start + size] for start in range(0, len(points), size)]


def _fetch(futures: Sequence["Future[bytes]"]) -> bytes:
    try:
        return b"".join(future.result() for future in futures)
    except BrokenProcessPool:
        raise LocalProtocolError(BROKEN) from None


_worker: list[Worker] = []
"""In a worker's process: the one that works there."""


def _settle(scalar: int, domain: bytes) -> None:
    """A worker leaves when it is told to or when its party has gone, however that happened; Ctrl-C is the party's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    party = parent_process()
    if party is not None:
        Thread(target=_leave_after, args=(party,), daemon=True).start()
    _worker[:] = [Worker(scalar, domain)]


def _leave_after(party: BaseProcess) -> None:
    party.join()
    os._exit(1)


def _work(task: Callable[["Worker", Piece], bytes], piece: Piece) -> bytes:
    return task(_worker[0], piece)
