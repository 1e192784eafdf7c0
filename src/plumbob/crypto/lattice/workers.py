"""The workers of a Ray cluster, to which a party gives parts of large answers.

Each worker does its part with the kernel of its own machine, on one thread. What outlives a call lies in the
cluster's object store once and is kept by each worker under its digest. All of it is the party's own, and much of it
secret: whoever can read the cluster's memory can read the keys and the columns.
"""

import importlib
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, pairwise
from typing import Any

from plumbob.errors import EngineError

SCHEME = "ray://"
LEAST_SECONDS = 0.05
"""Least work in one task; with less, sending it would take longer."""
RETRIES = 3
"""How often a task is given out again after its worker, or its node, was lost."""
RESERVED = 0.001
"""The part of a processor that each worker reserves.

With a whole one there would be none left for those that move to another node, and Ray puts a worker that reserves
nothing anywhere, even all of them on one node.
"""
PATIENCE = 10.0
"""Seconds that a cluster has to answer."""
KEPT = 32
"""How many values a worker keeps; a party has about eight."""


@dataclass(frozen=True, repr=False)
class StoredValue:
    """Where a worker finds a value that it does not have yet."""

    digest: bytes
    reference: Any


@dataclass(frozen=True, repr=False)
class Task:
    """One part of a call: an engine's method, with what workers keep first, and then the arguments of this part."""

    engine: Callable[[], Any]
    """Returns the engine of the worker's machine."""
    operation: str
    kept: tuple[StoredValue, ...]
    arguments: tuple[Any, ...]


# Here: the connection to the cluster.


class Workers:
    """One process for each processor of the cluster. All engines of this process share them, a call at a time."""

    def __init__(self, cluster: str) -> None:
        self._ray = _connected(cluster)
        nodes = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"]}
        self._places = [node for node, processors in nodes.items() for _ in range(processors)] or list(nodes)
        """The node of each worker: one for each processor."""
        self._lock = threading.Lock()
        self._started: list[Any] = []

    @property
    def count(self) -> int:
        return len(self._places)

    def parts(self, length: int, seconds: float) -> list[slice]:
        """Cut that much work into as many parts as there are workers, or fewer, so that none is too small."""
        count = min(self.count, length, int(seconds / LEAST_SECONDS) if LEAST_SECONDS else length)
        ends = [length * part // max(count, 1) for part in range(count + 1)]
        return [slice(start, end) for start, end in pairwise(ends)]

    def parcel(self, digest: bytes, make: Callable[..., Any], *arguments: Any) -> StoredValue:
        """Store `make` and its arguments in the object store, for as long as somebody here holds the result."""
        return StoredValue(digest, self._ray.put((make, arguments)))

    def done(self, tasks: Sequence[Task]) -> list[Any]:
        """All results, in the order of the tasks. ValueError where an engine refuses its arguments."""
        results = self.map(carry_out, tasks)
        for result in results:
            if isinstance(result, ValueError):
                raise result
        return results

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """`work` of each item, in the order of the items."""
        with self._lock:
            self._started = self._started or [self._start(node) for node in self._places]
            results: dict[int, Any] = {}
            for _ in range(1 + RETRIES):
                self._try(work, {place: item for place, item in enumerate(items) if place not in results}, results)
                if len(results) == len(items):
                    return [results[place] for place in range(len(items))]
        raise EngineError(
            f"the cluster lost the same work {1 + RETRIES} times; look at it with `ray status`, then run "
            "the same command again to resume"
        )

    def _try(self, work: Callable[[Any], Any], items: Mapping[int, Any], results: dict[int, Any]) -> None:
        """Give each item to a worker. Those out of reach are replaced, and their items stay without a result."""
        numbers = dict(zip(items, cycle(range(self.count)), strict=False))
        given = {place: self._started[numbers[place]].do.remote(work, item) for place, item in items.items()}
        lost: set[int] = set()
        for place, reference in given.items():
            try:
                results[place] = self._ray.get(reference)
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
                lost.add(numbers[place])
        self._replace(lost)

    def _replace(self, lost: set[int]) -> None:
        """Replace lost workers by new ones on nodes that answer, if any does."""
        answering = [node for number, node in enumerate(self._places) if number not in lost] or self._places
        for number, node in zip(sorted(lost), cycle(answering), strict=False):
            self._ray.kill(self._started[number])
            self._places[number], self._started[number] = node, self._start(node)

    def _start(self, node: str) -> Any:
        """Start a worker that Ray restarts, with its task, if its process is lost; the others continue."""
        on_node = _module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy(node, soft=True)
        options = {"max_restarts": -1, "max_task_retries": RETRIES, "num_cpus": RESERVED}
        return self._ray.remote(WorkerProcess).options(scheduling_strategy=on_node, **options).remote()


@cache
def workers(cluster: str) -> Workers:
    """The workers of the cluster at ray://HOST:PORT."""
    return Workers(cluster)


def _connected(cluster: str) -> Any:
    # Read when Ray is imported: nothing is reported to anybody.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = _module("ray")
    if not ray.is_initialized():
        address = address_of(cluster)
        try:
            _knock(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except OSError:
            raise EngineError(
                f"cluster = {cluster!r}: nobody answers there; start it with `ray start --head`, or correct HOST:PORT "
                "in party.toml"
            ) from None
    return ray


def address_of(cluster: str) -> str:
    """HOST:PORT of a cluster, as `ray start` prints it."""
    host, _, port = cluster.removeprefix(SCHEME).rpartition(":")
    if not cluster.startswith(SCHEME) or not host or not port.isdigit():
        raise EngineError(f"cluster = {cluster!r}: expected {SCHEME}HOST:PORT, as `ray start --head` prints it")
    return f"{host}:{port}"


def _module(name: str) -> Any:
    """Import a module of an extra that may not be installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EngineError(
            "party.toml names a cluster, but Ray is not installed: pip install 'plumbob[ray]', or leave cluster out"
        ) from None


def _knock(address: str) -> None:
    """Refuse an address where nobody listens: Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), PATIENCE).close()


# There: what a worker does.


class WorkerProcess:
    """One process of the cluster."""

    def do(self, work: Callable[[Any], Any], item: Any) -> Any:
        """Do one piece of the work that `map` hands out."""
        return work(item)


_kept: dict[bytes, Any] = {}


def carry_out(task: Task) -> Any:
    """Carry out one task, with what this worker kept of earlier ones."""
    try:
        return getattr(task.engine(), task.operation)(*map(_opened, task.kept), *task.arguments)
    except ValueError as refusal:
        return refusal  # Raised here, it would come back with the whole trace of this process in its message.


def _opened(parcel: StoredValue) -> Any:
    """A value: kept, or made from what lies in the object store."""
    if parcel.digest not in _kept:
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        make, arguments = _module("ray").get(parcel.reference)
        _kept[parcel.digest] = make(*arguments)
    return _kept[parcel.digest]
