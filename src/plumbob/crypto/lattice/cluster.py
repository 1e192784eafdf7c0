"""Answers to a peer's requests on a party's own cluster: blocks of rows go to its workers, little work stays here.

Blocks of rows are independent. A worker makes its part from the place of its first polynomial in the streams, so that
the bytes are those of one process. It gets what the part takes: the keys of a reply's streams, its part of the request,
and, once, its rows of a matrix. All of that is the party's own: its cluster serves nobody else.
"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from plumbob.crypto.lattice.interface import Answered, Packed, ReplyKeys, SlotValues, Small
from plumbob.crypto.lattice.kernel import Engine
from plumbob.crypto.lattice.layout import Layout
from plumbob.crypto.lattice.products import PrivateMatrix, added_up, at_place, joined
from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.crypto.lattice.workers import StoredValue, Task, workers

SLOT_TERM, TURN_TERM, REPLY, ADDITION = 5, 13, 18, 5
"""About how many transforms each operation takes as long as."""
KEPT_FOR_WORKERS = "cluster"


class ClusterEngine(Engine):
    """Cuts large answers up for the workers of a cluster; everything else is done here."""

    def __init__(self, cluster: str, threads: int | None = None) -> None:
        super().__init__(threads=threads)
        self._workers = workers(cluster)

    def reply(self, matrix: PrivateMatrix, keys: ReplyKeys, packed: Packed) -> Answered:
        layout = matrix.layout
        is_forward = layout.direction == "scores"
        parts = self._parts(layout.parameters, layout.blocks, REPLY if is_forward else ADDITION + layout.groups)
        if len(parts) < 2:
            return super().reply(matrix, keys, packed)
        sent = self._sent(matrix, parts)
        if is_forward:
            return joined(self._done("reply", [(at_place(keys, part), packed) for part in parts], sent))
        sums = self._done("add_up", [(keys.uniform, part.start, packed[part]) for part in parts], sent)
        return self.hide(layout, keys, added_up(layout.parameters, sums))

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        blocks, terms = values.shape[:2]
        parts = self._parts(parameters, blocks, (TURN_TERM if is_turn else SLOT_TERM) * terms)
        pieces = [
            (parameters, at_place(keys, part), packed[part.start * terms : part.stop * terms], values[part], is_turn)
            for part in parts
        ]
        if len(parts) < 2:
            return super().reply_slots(*pieces[0])
        return joined(self._done("reply_slots", pieces))

    def _parts(self, parameters: ParameterSet, length: int, transforms: int) -> list[slice]:
        """Cut items that take this many transforms each into parts; a single part if more are not worth it."""
        seconds = length * transforms * _seconds_per_transform(parameters)
        return self._workers.parts(length, seconds) or [slice(0, length)]

    def _sent(self, matrix: PrivateMatrix, parts: Sequence[slice]) -> list[StoredValue]:
        """Each part's blocks of rows, stored for as long as the matrix exists."""
        if KEPT_FOR_WORKERS not in matrix.prepared:
            matrix.prepared[KEPT_FOR_WORKERS] = [self._parcel(matrix, part) for part in parts]
        sent: list[StoredValue] = matrix.prepared[KEPT_FOR_WORKERS]
        return sent

    def _parcel(self, matrix: PrivateMatrix, part: slice) -> StoredValue:
        layout = matrix.layout
        rows = matrix.entries[part.start * layout.rows_per_block : part.stop * layout.rows_per_block]
        digest = hashlib.sha256(matrix.digest + repr((layout, part)).encode()).digest()
        return self._workers.parcel(digest, _matrix, replace(layout, rows=len(rows)), rows)

    def _done(
        self, operation: str, pieces: Sequence[tuple[Any, ...]], sent: Sequence[StoredValue] | None = None
    ) -> list[Any]:
        """The workers' results, in order."""
        kept = [(each,) for each in sent] if sent is not None else [()] * len(pieces)
        return self._workers.done(
            [Task(own_engine, operation, first, piece) for first, piece in zip(kept, pieces, strict=True)]
        )


@cache
def _seconds_per_transform(parameters: ParameterSet) -> float:
    """Seconds to transform one polynomial on one thread here: the best of a few tries."""
    one, tried = np.ones((1, parameters.degree), dtype=np.int32), []
    for _ in range(4):
        started = time.perf_counter()
        own_engine().transform(parameters, one)
        tried.append(time.perf_counter() - started)
    return min(tried)


# There: what a worker does.


def _matrix(layout: Layout, entries: Small) -> PrivateMatrix:
    return PrivateMatrix(own_engine(), layout, entries)


@cache
def own_engine() -> Engine:
    """The kernel of this machine, on one thread."""
    return Engine(threads=1)
