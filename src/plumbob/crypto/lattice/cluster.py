"""Answers to a peer's requests on a party's own Ray cluster: blocks of rows go to its nodes, little work stays here.

Blocks of rows are independent. A task makes its part from the place of its first polynomial in the streams, with the
kernel of its own machine on one thread, so that the bytes are those of one process. Ray gives a task whose worker or
node was lost to another one. A task gets what its part takes: the keys of a reply's streams, its part of the request,
and its rows of a matrix, which lie in the cluster's object store as long as the matrix exists. All of that is the
party's own, and much of it secret: whoever can read the cluster's memory can read the keys and the columns.
"""

import importlib
import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from plumbob.crypto.lattice.interface import Answered, Packed, ReplyKeys, Residues, SlotValues, Small
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.layout import Layout
from plumbob.crypto.lattice.products import PrivateMatrix, add_up_parts, at_place, join_answers
from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.errors import EngineError

SCHEME = "ray://"
SLOT_TERM, TURN_TERM, REPLY, ADDITION = 5, 13, 18, 5
"""About how many transforms each operation takes as long as."""
LEAST_SECONDS = 0.05
"""Least work in one task; with less, sending it would take longer."""
RETRIES = 3
"""How often a task is given out again after its worker, or its node, was lost."""
PATIENCE = 10.0
"""Seconds that a cluster has to answer."""
KEPT_FOR_CLUSTER = "cluster"


# Here: what is cut up, and what comes back.


class ClusterEngine(Engine):
    """Cuts large answers up for the nodes of a cluster; everything else is done here."""

    def __init__(self, cluster: str, threads: int | None = None) -> None:
        super().__init__(threads=threads)
        self._ray = connect(cluster)
        self._processors = int(self._ray.cluster_resources().get("CPU", 1))

    def reply(self, matrix: PrivateMatrix, keys: ReplyKeys, packed: Packed) -> Answered:
        layout = matrix.layout
        is_forward = layout.direction == "scores"
        parts = self._parts(layout.parameters, layout.blocks, REPLY if is_forward else ADDITION + layout.groups)
        if len(parts) < 2:
            return super().reply(matrix, keys, packed)
        stored = self._stored(matrix, parts)
        if is_forward:
            request = self._ray.put(packed)
            given = [(at_place(keys, part), request) for part in parts]
            return join_answers(
                self.spread(reply_of_rows, [(*rows, *more) for rows, more in zip(stored, given, strict=True)])
            )
        places = [(keys.uniform, part.start, packed[part]) for part in parts]
        sums = self.spread(sums_of_rows, [(*rows, *more) for rows, more in zip(stored, places, strict=True)])
        return self.hide(layout, keys, add_up_parts(layout.parameters, sums))

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        blocks, terms = values.shape[:2]
        parts = self._parts(parameters, blocks, (TURN_TERM if is_turn else SLOT_TERM) * terms)
        if len(parts) < 2:
            return super().reply_slots(parameters, keys, packed, values, is_turn)
        pieces = [
            (parameters, at_place(keys, part), packed[part.start * terms : part.stop * terms], values[part], is_turn)
            for part in parts
        ]
        return join_answers(self.spread(reply_of_slots, pieces))

    def spread(self, work: Callable[..., Any], pieces: Sequence[tuple[Any, ...]]) -> list[Any]:
        """`work` of each piece, in the order of the pieces. ValueError where an engine refuses its arguments."""
        task = self._ray.remote(work).options(max_retries=RETRIES, scheduling_strategy="SPREAD")
        try:
            results: list[Any] = self._ray.get([task.remote(*piece) for piece in pieces])
        except ValueError as refusal:
            # As it was raised there: Ray's own error has the whole trace of that process in its message.
            raise getattr(refusal, "cause", refusal) from None
        except self._ray.exceptions.RayError as error:
            raise EngineError(
                f"the cluster lost work and could not repeat it ({type(error).__name__}); look at it with `ray "
                "status`, then run the same command again to resume"
            ) from None
        return results

    def _parts(self, parameters: ParameterSet, length: int, transforms: int) -> list[slice]:
        """Cut items that take this many transforms each into parts, at most one for each processor, none too small."""
        seconds = length * transforms * _seconds_per_transform(parameters)
        most = int(seconds / LEAST_SECONDS) if LEAST_SECONDS else length
        count = max(1, min(self._processors, length, most))
        return [slice(start, end) for start, end in pairwise(length * part // count for part in range(count + 1))]

    def _stored(self, matrix: PrivateMatrix, parts: Sequence[slice]) -> list[tuple[Layout, Any]]:
        """The layout of each part's blocks of rows, and where these rows lie: stored for as long as the matrix is."""
        if KEPT_FOR_CLUSTER not in matrix.prepared:
            height = matrix.layout.rows_per_block
            rows = [matrix.entries[part.start * height : part.stop * height] for part in parts]
            matrix.prepared[KEPT_FOR_CLUSTER] = [
                (replace(matrix.layout, rows=len(each)), self._ray.put(each)) for each in rows
            ]
        stored: list[tuple[Layout, Any]] = matrix.prepared[KEPT_FOR_CLUSTER]
        return stored


@cache
def _seconds_per_transform(parameters: ParameterSet) -> float:
    """Seconds to transform one polynomial on one thread here: the best of a few tries."""
    one, tried = np.ones((1, parameters.degree), dtype=np.int32), []
    for _ in range(4):
        started = time.perf_counter()
        own_engine().transform(parameters, one)
        tried.append(time.perf_counter() - started)
    return min(tried)


def connect(cluster: str) -> Any:
    """Ray, connected with this cluster; EngineError where it is not installed, or where nobody answers."""
    # Read when Ray is imported: nothing is reported to anybody.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise EngineError(
            "party.toml names a cluster, but Ray is not installed: pip install 'plumbob[ray]', or leave cluster out"
        ) from None
    if not ray.is_initialized():
        host, port = address_of(cluster)
        try:
            # Ray itself would wait for minutes where nobody listens.
            socket.create_connection((host, port), PATIENCE).close()
            ray.init(address=f"{host}:{port}", log_to_driver=False, logging_level=logging.ERROR)
        except OSError:
            raise EngineError(
                f"cluster = {cluster!r}: nobody answers there; start it with `ray start --head`, or correct HOST:PORT "
                "in party.toml"
            ) from None
    return ray


def address_of(cluster: str) -> tuple[str, int]:
    """Host and port of a cluster, as `ray start` prints them."""
    host, _, port = cluster.removeprefix(SCHEME).rpartition(":")
    if not cluster.startswith(SCHEME) or not host or not port.isdigit():
        raise EngineError(f"cluster = {cluster!r}: expected {SCHEME}HOST:PORT, as `ray start --head` prints it")
    return host, int(port)


# There: what a task does.


def reply_of_rows(layout: Layout, rows: Small, keys: ReplyKeys, packed: Packed) -> Answered:
    """The replies for these rows of a matrix."""
    return own_engine().reply(PrivateMatrix(own_engine(), layout, rows), keys, packed)


def sums_of_rows(layout: Layout, rows: Small, uniform: bytes, first: int, packed: Packed) -> Residues:
    """What these rows of a matrix add to all replies."""
    return own_engine().add_up(PrivateMatrix(own_engine(), layout, rows), uniform, first, packed)


def reply_of_slots(
    parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
) -> Answered:
    """The replies for some blocks of rows in slots."""
    return own_engine().reply_slots(parameters, keys, packed, values, is_turn)


@cache
def own_engine() -> Engine:
    """The kernel of this machine, on one thread."""
    return Engine(threads=1)
