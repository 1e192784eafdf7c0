"""The engine `ray`: large calls are cut into tasks for a cluster, small ones stay here.

Tasks go through joblib's backend for Ray, and each worker does its part with the best engine of its own machine, on one
thread. Results are fully reduced residues, so that they are the same bit for bit, wherever they were calculated. What
outlives a call, a modulus or a table's bases, lies in the cluster's object store once and is kept by each worker under
its digest. A modulus may be a secret prime: whoever can read the cluster's memory can read the key.
"""

import hashlib
import importlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from plumbob.crypto import engines
from plumbob.crypto.engines.interface import Digits, Engine, IntegerMatrix, Integers, PreparedPowers, Ring
from plumbob.crypto.engines.python import group_size, logarithm
from plumbob.crypto.limbs import Limbs, concatenate, from_ints, to_bytes
from plumbob.errors import CryptoError

LEAST_SECONDS = 0.05
"""Of work in one task; less would be eaten up by sending it."""
RETRIES = 3
"""How often a task is given out again after its worker was lost."""
PATIENCE = 10.0
"""Seconds for a cluster to answer."""
KEPT = 32
"""Moduli and tables that a worker keeps; a party has about eight."""
TRIED_ROWS, TRIED_BITS = 8, 256
"""The power by which the time of a product is measured: about 340 products a row."""
PRODUCTS_OF_TRIAL = TRIED_ROWS * 340


@dataclass(frozen=True, repr=False)
class StoredValue:
    """Where a worker finds what it does not have yet."""

    digest: bytes
    reference: Any


@dataclass(frozen=True, repr=False)
class Task:
    """One part of a call: the name of an engine's method, what is kept, and the arguments of this part."""

    operation: str
    parcel: StoredValue
    arguments: tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class SentTable:
    """A table here, and the bases from which each worker makes its own."""

    local: PreparedPowers
    ring: Ring
    parcel: StoredValue


class RayEngine:
    """Passes small calls to `local`, and cuts large ones up for the workers."""

    name = "ray"

    def __init__(self, local: Engine) -> None:
        self._local = local
        self._workers = workers()

    def multiply(self, ring: Ring, left: Limbs, right: Limbs) -> Limbs:
        # A product takes less time than sending its factors.
        return self._local.multiply(ring, left, right)

    def embed(self, ring: Ring, values: Integers) -> Limbs:
        return self._local.embed(ring, values)

    def power(self, ring: Ring, bases: Limbs, exponent: int) -> Limbs:
        parts = self._parts(ring, len(bases), len(bases) * exponent.bit_length() * 5 // 4)
        if len(parts) < 2:
            return self._local.power(ring, bases, exponent)
        return concatenate(self._done("power", self._sent(ring), [(bases[part], exponent) for part in parts]))

    def combine(self, ring: Ring, bases: Limbs, matrix: IntegerMatrix, bits: int) -> Limbs:
        rows, columns = matrix.shape
        parts = self._parts(ring, max(rows, columns), products_to_combine(rows, columns, bits))
        if len(parts) < 2 or len(bases) != rows:
            return self._local.combine(ring, bases, matrix, bits)
        if columns > rows:
            pieces = [(bases, matrix[:, part], bits) for part in parts]
            return concatenate(self._done("combine", self._sent(ring), pieces))
        # Rows share no table, so that cutting between them repeats nothing but the last few products.
        first, *others = self._done("combine", self._sent(ring), [(bases[part], matrix[part], bits) for part in parts])
        for other in others:
            first = self._local.multiply(ring, first, other)
        return first

    def pack(self, ring: Ring, values: Limbs, slots: int, slot_bits: int) -> Limbs:
        groups = self._parts(ring, -(-len(values) // max(slots, 1)), len(values) * (slot_bits + 1))
        if len(groups) < 2:
            return self._local.pack(ring, values, slots, slot_bits)
        pieces = [(values[group.start * slots : group.stop * slots], slots, slot_bits) for group in groups]
        return concatenate(self._done("pack", self._sent(ring), pieces))

    def table(self, ring: Ring, bases: Limbs, window: int) -> SentTable:
        content = (ring.root, ring.degree, bases, window)
        digest = hashlib.sha256(_ring_bytes(ring) + bytes([window]) + to_bytes(bases)).digest()
        return SentTable(self._local.table(ring, bases, window), ring, self._workers.parcel(digest, content))

    def look_up(self, table: SentTable, digits: Digits) -> Limbs:
        parts = self._parts(table.ring, len(digits), digits.size)
        if len(parts) < 2:
            return self._local.look_up(table.local, digits)
        return concatenate(self._done("look_up", table.parcel, [(digits[part],) for part in parts]))

    def join(self, first: Ring, second: Ring, left: Limbs, right: Limbs) -> Limbs:
        return self._local.join(first, second, left, right)

    def logarithms(self, rings: Sequence[Ring], values: Limbs, scales: Sequence[int]) -> list[Limbs]:
        return [logarithm(self, ring, values, scale) for ring, scale in zip(rings, scales, strict=True)]

    def _parts(self, ring: Ring, length: int, products: int) -> list[slice]:
        """As many parts as there are workers, or fewer, so that none is too little work."""
        seconds = products * _seconds_per_product(ring.width)
        count = min(self._workers.count, length, int(seconds / LEAST_SECONDS) if LEAST_SECONDS else length)
        ends = [length * part // max(count, 1) for part in range(count + 1)]
        return [slice(start, end) for start, end in pairwise(ends)]

    def _sent(self, ring: Ring) -> StoredValue:
        if self.name not in ring.prepared:
            digest = hashlib.sha256(_ring_bytes(ring)).digest()
            ring.prepared[self.name] = self._workers.parcel(digest, (ring.root, ring.degree))
        parcel: StoredValue = ring.prepared[self.name]
        return parcel

    def _done(self, operation: str, parcel: StoredValue, pieces: Sequence[tuple[Any, ...]]) -> list[Limbs]:
        return self._workers.done([Task(operation, parcel, piece) for piece in pieces])


def products_to_combine(rows: int, columns: int, bits: int) -> int:
    """Modular products of a call, as the engines count them (Four Russians, then Horner over the bit planes)."""
    if not rows or not columns:
        return 0
    size = group_size(rows, columns * bits)
    return -(-rows // size) * ((1 << size) + columns * bits) + 2 * columns * bits


@cache
def _seconds_per_product(width: int) -> float:
    """Of residues of this many limbs, with one thread here; a few milliseconds, once for each width."""
    engine = _own_engine()
    ring = Ring((1 << (32 * width)) - 1, 2) if width > 1 else Ring((1 << 61) - 1, 1)
    bases = from_ints([3] * TRIED_ROWS, ring.width)
    tried = []
    # The first also prepares the ring; the best counts, because others at work here only ever make it slower.
    for _ in range(4):
        started = time.perf_counter()
        engine.power(ring, bases, (1 << TRIED_BITS) - 1)
        tried.append(time.perf_counter() - started)
    return min(tried) / PRODUCTS_OF_TRIAL


def _ring_bytes(ring: Ring) -> bytes:
    return bytes([ring.degree]) + ring.root.to_bytes(-(-ring.root.bit_length() // 8), "little")


# Here: the connection to the cluster.


class Workers:
    """One process for each processor of the cluster. All engines of this process share them, a call at a time."""

    def __init__(self) -> None:
        self._ray = _connected()
        self.count = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._lock = threading.Lock()
        self._parallel: Any = None

    def parcel(self, digest: bytes, content: object) -> StoredValue:
        """Lies in the object store for as long as somebody here holds it."""
        return StoredValue(digest, self._ray.put(content))

    def done(self, tasks: Sequence[Task]) -> list[Limbs]:
        """All results, in the order of the tasks."""
        return self.map(carry_out, tasks)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """`work` of each item, in the order of the items."""
        delayed = _module("joblib").delayed
        with self._lock:
            if self._parallel is None:
                self._parallel = self._started()
            return list(self._parallel(delayed(work)(item) for item in items))

    def _started(self) -> Any:
        joblib = _module("joblib")
        _module("ray.util.joblib").register_ray()
        # A lost worker is started again and given its task again; the others' tasks continue. Workers reserve no
        # processor: after the loss of a machine there would be none left for those that move to another one.
        options = {"max_restarts": -1, "max_task_retries": RETRIES, "num_cpus": 0, "scheduling_strategy": "SPREAD"}
        with joblib.parallel_config(backend="ray", n_jobs=self.count, ray_remote_args=options):
            parallel = joblib.Parallel(batch_size=1, pre_dispatch="all")
            # Entered and kept open: starting the workers takes seconds.
            return parallel.__enter__()

    def close(self) -> None:
        """The workers end with the connection."""
        with self._lock:
            self._parallel = None
            self._ray.shutdown()


@cache
def workers() -> Workers:
    """The cluster that this process is connected to."""
    return Workers()


def disconnect() -> None:
    """End the workers and leave the cluster."""
    if workers.cache_info().currsize:
        workers().close()
        workers.cache_clear()


def _connected() -> Any:
    # Read when Ray is imported: nothing is reported to anybody.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = _module("ray")
    if not ray.is_initialized():
        try:
            _knock(os.environ.get("RAY_ADDRESS", ""))
            ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR)
        except OSError:
            raise CryptoError(
                "engine 'ray': no cluster answers; start one with `ray start --head`, or name one in RAY_ADDRESS as "
                "HOST:PORT"
            ) from None
    return ray


def _module(name: str) -> Any:
    """Of an extra that may not be installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CryptoError("engine 'ray' is not installed: pip install 'plumbob[ray]'; or use 'auto'") from None


def _knock(address: str) -> None:
    """Ray itself waits for minutes where nobody listens."""
    host, separator, port = address.rpartition(":")
    if separator and port.isdigit():
        socket.create_connection((host, int(port)), PATIENCE).close()


# There: what a worker does.

_kept: dict[bytes, Any] = {}


def carry_out(task: Task) -> Limbs:
    """One task, with what this worker kept of earlier ones."""
    subject = _opened(task.parcel)
    result: Limbs = getattr(_own_engine(), task.operation)(subject, *task.arguments)
    return result


def _opened(parcel: StoredValue) -> Any:
    """A ring or a table: kept, or made from what lies in the object store."""
    if parcel.digest not in _kept:
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        root, degree, *table = _module("ray").get(parcel.reference)
        ring = Ring(root, degree)
        _kept[parcel.digest] = _own_engine().table(ring, *table) if table else ring
    return _kept[parcel.digest]


@cache
def _own_engine() -> Engine:
    return engines.choose("native" if engines.native_is_built() else "python", threads=1)
