"""The engine `ray` for lattices: blocks of rows go to a cluster's workers, what is little work stays here.

Blocks of rows are independent. A worker makes its part from the place of its first polynomial in the streams, so that
the bytes are those of one process. It gets what the part takes: the secret of a key or the keys of a reply's streams,
its rows of a vector, and, once, its rows of a matrix. All of that is the party's own: its cluster serves nobody else.
"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from plumbob.crypto.lattice.interface import (
    Answered,
    LatticeEngine,
    Packed,
    Pairs,
    ReplyKeys,
    RequestKeys,
    Residues,
    SlotValues,
    Small,
    choose,
)
from plumbob.crypto.lattice.layout import Layout
from plumbob.crypto.lattice.products import PrivateMatrix, added_up, at_place, joined
from plumbob.crypto.lattice.sets import ParameterSet
from plumbob.crypto.lattice.workers import StoredValue, Task, workers

ENCRYPTION, SLOT_TERM, TURN_TERM, OPENING, REPLY, ADDITION = 4, 5, 13, 5, 18, 5
"""About how many transforms each operation takes as long as."""


class RayLatticeEngine:
    """Passes small calls to `local`, and cuts large ones up for the workers."""

    name = "ray"

    def __init__(self, local: LatticeEngine) -> None:
        self._local, self._workers = local, workers()
        # One polynomial each, or less work than sending their numbers.
        self.secret, self.public_key, self.challenge = local.secret, local.public_key, local.challenge
        self.unpack, self.transform, self.uniform = local.unpack, local.transform, local.uniform
        self.combine, self.high_bits, self.waves = local.combine, local.high_bits, local.waves
        self.own_scores, self.own_sums = local.own_scores, local.own_sums
        self.add_up, self.hide = local.add_up, local.hide

    def encrypt(self, parameters: ParameterSet, keys: RequestKeys, messages: Pairs, bits: int, seed: bytes) -> bytes:
        return self._encrypted("encrypt", parameters, keys, messages, (bits,), seed)

    def encrypt_slots(self, parameters: ParameterSet, keys: RequestKeys, values: SlotValues, seed: bytes) -> bytes:
        return self._encrypted("encrypt_slots", parameters, keys, values, (), seed)

    def _encrypted(
        self,
        operation: str,
        parameters: ParameterSet,
        keys: RequestKeys,
        values: SlotValues,
        bits: tuple[int, ...],
        seed: bytes,
    ) -> bytes:
        parts = self._parts(parameters, len(values), ENCRYPTION)
        if len(parts) < 2:
            request: bytes = getattr(self._local, operation)(parameters, keys, values, *bits, seed)
            return request
        pieces = [(parameters, at_place(keys, part), values[part], *bits, b"") for part in parts]
        return b"".join([seed, *self._done(operation, pieces)])

    def reply(self, matrix: PrivateMatrix, keys: ReplyKeys, packed: Packed) -> Answered:
        layout = matrix.layout
        is_forward = layout.direction == "scores"
        parts = self._parts(layout.parameters, layout.blocks, REPLY if is_forward else ADDITION + layout.groups)
        if len(parts) < 2:
            return self._local.reply(matrix, keys, packed)
        sent = self._sent(matrix, parts)
        if is_forward:
            return joined(self._done("reply", [(at_place(keys, part), packed) for part in parts], sent))
        sums = self._done("add_up", [(keys.uniform, part.start, packed[part]) for part in parts], sent)
        return self._local.hide(layout, keys, added_up(layout.parameters, sums))

    def reply_slots(
        self, parameters: ParameterSet, keys: ReplyKeys, packed: Packed, values: SlotValues, is_turn: bool
    ) -> Answered:
        blocks, terms = values.shape[:2]
        parts = self._parts(parameters, blocks, (TURN_TERM if is_turn else SLOT_TERM) * terms)
        pieces = [
            (parameters, at_place(keys, part), packed[part.start * terms : part.stop * terms], values[part], is_turn)
            for part in parts
        ]
        return joined(self._done("reply_slots", pieces))

    def open(self, layout: Layout, secret: Residues, packed: Packed) -> Pairs:
        parts = self._parts(layout.parameters, len(packed), OPENING)
        return np.concatenate(self._done("open", [(layout, secret, packed[part]) for part in parts]))

    def open_slots(self, parameters: ParameterSet, secret: Residues, packed: Packed) -> Pairs:
        parts = self._parts(parameters, len(packed), OPENING)
        return np.concatenate(self._done("open_slots", [(parameters, secret, packed[part]) for part in parts]))

    def _parts(self, parameters: ParameterSet, length: int, transforms: int) -> list[slice]:
        """Cut items that take this many transforms each into parts; a single part if more are not worth it."""
        seconds = length * transforms * _seconds_per_transform(parameters)
        return self._workers.parts(length, seconds) or [slice(0, length)]

    def _sent(self, matrix: PrivateMatrix, parts: Sequence[slice]) -> list[StoredValue]:
        """Each part's blocks of rows, stored for as long as the matrix exists."""
        if self.name not in matrix.prepared:
            matrix.prepared[self.name] = [self._parcel(matrix, part) for part in parts]
        sent: list[StoredValue] = matrix.prepared[self.name]
        return sent

    def _parcel(self, matrix: PrivateMatrix, part: slice) -> StoredValue:
        layout = matrix.layout
        rows = matrix.entries[part.start * layout.rows_per_block : part.stop * layout.rows_per_block]
        digest = hashlib.sha256(matrix.digest + repr((layout, part)).encode()).digest()
        return self._workers.parcel(digest, _matrix, replace(layout, rows=len(rows)), rows)

    def _done(
        self, operation: str, pieces: Sequence[tuple[Any, ...]], sent: Sequence[StoredValue] | None = None
    ) -> list[Any]:
        """The results, in order; a single piece is done here."""
        if len(pieces) == 1:
            return [getattr(self._local, operation)(*pieces[0])]
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
def own_engine() -> LatticeEngine:
    """The best engine of this machine, on one thread."""
    return choose("auto", threads=1)
