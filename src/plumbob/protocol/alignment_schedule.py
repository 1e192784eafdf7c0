"""The messages of an alignment, in which a step is a chunk, and the held-out rows that a party may choose after it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.ristretto import POINT_BYTES
from plumbob.errors import LocalProtocolError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.account import HASH_BYTES
from plumbob.protocol.handshake import Participant
from plumbob.protocol.messages import Kind
from plumbob.protocol.schedules import Due, names_of, to_all

COUNT_BYTES = 4


@dataclass(frozen=True)
class AlignmentSchedule:
    """The messages between parties in a ring that bring this many ids each."""

    sizes: Mapping[str, int]
    chunk: int
    size_first: bool

    @property
    def names(self) -> list[str]:
        return list(self.sizes)

    def messages(self) -> Iterator[Due]:
        """The messages after the opening; unblinding depends on how many points are common."""
        step, is_pair = 1, len(self.sizes) == 2
        for hop in range(len(self.sizes) - 1):
            owners = {name: self.names[place - hop] for place, name in enumerate(self.names)}
            ends = [(name, self._after(name), self.sizes[owners[name]]) for name in self.names]
            yield from self._in_chunks(Kind.BLINDED_IDS, step, ends)
            step += self.chunks
        if is_pair:
            yield from to_all(Kind.RETURN_COMMITMENT, self.names, HASH_BYTES + POINT_BYTES, step)
            step += 1
        if not is_pair or self.size_first:
            shown = [(*ends, self.sizes[self._after(ends[0])]) for ends in permutations(self.names, 2)]
            yield from self._in_chunks(Kind.SHUFFLED_IDS, step, shown)
            step += self.chunks
        if self.size_first:
            yield from to_all(Kind.ALIGNMENT_DECISION, self.names, 1, step)
            step += 1
        if is_pair:
            yield from self._returned(step)
            yield from to_all(Kind.CONFIRMATION, self.names, HASH_BYTES)

    def _returned(self, step: int) -> Iterator[Due]:
        """Between two parties: everybody's own points, and a proof that none was exchanged for another."""
        back = [(sender, receiver, self.sizes[receiver]) for sender, receiver in permutations(self.names, 2)]
        yield from self._in_chunks(Kind.TWICE_BLINDED_IDS, step, back)
        yield from to_all(Kind.RETURN_CHALLENGE, self.names, 2 * HASH_BYTES, step + self.chunks)
        yield from to_all(Kind.RETURN_PROOF, self.names, 2 * HASH_BYTES, step + self.chunks + 1)

    def unblinding(self, step: int, common: int) -> Iterator[Due]:
        """Among three or more: one party after the other takes its scalar off the common points, and proves it."""
        for name in self.names if common else ():
            others = [other for other in self.names if other != name]
            for start in range(0, common, self.chunk):
                size = POINT_BYTES * min(self.chunk, common - start)
                for other in others:
                    yield Due(Kind.UNBLINDED_IDS, step, name, other, size)
                step += 1
            for other in others:
                yield Due(Kind.UNBLINDING_PROOF, step, name, other, POINT_BYTES + 2 * HASH_BYTES)
            step += 1
        yield from to_all(Kind.CONFIRMATION, self.names, HASH_BYTES)

    @property
    def chunks(self) -> int:
        """How many chunks the longest list has: everybody counts as many steps."""
        return -(-max(self.sizes.values()) // self.chunk)

    def _in_chunks(self, kind: Kind, step: int, ends: list[tuple[str, str, int]]) -> Iterator[Due]:
        for place in range(self.chunks):
            for sender, receiver, count in ends:
                ids = min(self.chunk, count - place * self.chunk)
                if ids > 0:
                    yield Due(kind, step + place, sender, receiver, POINT_BYTES * ids)

    def _after(self, name: str) -> str:
        return self.names[(self.names.index(name) + 1) % len(self.names)]


def id_counts(plan: Plan, pieces: Sequence[int]) -> Iterator[Due]:
    """Messages with a number for each common id, from everybody to everybody."""
    for size in pieces:
        yield from to_all(Kind.ID_COUNTS, names_of(plan), COUNT_BYTES * size)


def held_out_rows(plan: Plan, pieces: Sequence[int]) -> Iterator[Due]:
    """Messages with a bit for each common row, from the party that chooses those held out."""
    for size in pieces:
        for name in names_of(plan):
            if name != plan.held_out_by:
                yield Due(Kind.HELD_OUT_ROWS, 0, plan.held_out_by, name, -(-size // 8))


ROWS_AT_ONCE = 2**19


def agree_on_held_out(participant: Participant, rows: int, chosen: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """The held-out rows, the same at every party; `chosen` is given where this party chooses."""
    plan = participant.plan
    pieces = [piece.stop - piece.start for piece in pieces_of(rows)]
    participant.follow(partial(held_out_rows, plan, pieces))
    if participant.name == plan.held_out_by:
        if chosen is None or len(chosen) != rows or int(chosen.sum()) != plan.held_out(rows):
            raise LocalProtocolError(f"expected {plan.held_out(rows)} of {rows} rows to be chosen here")
        for piece in pieces_of(rows):
            participant.send_all(Kind.HELD_OUT_ROWS, np.packbits(chosen[piece]).tobytes())
        return chosen
    chooser = participant.data_peers[plan.held_out_by]
    body = b"".join(chooser.receive(Kind.HELD_OUT_ROWS, 0) for _ in pieces)
    bits = np.unpackbits(np.frombuffer(body, dtype=np.uint8)).astype(bool)
    heard, rest = bits[:rows], bits[rows:]
    if rest.any() or int(heard.sum()) != plan.held_out(rows):
        raise RemoteProtocolError(
            f"{plan.held_out_by}: it chose {int(bits.sum())} of {rows} rows to hold out, and the plan says"
            f" {plan.held_out(rows)}; align again"
        )
    return heard


def pieces_of(rows: int) -> list[slice]:
    """The rows of each message."""
    return [slice(start, min(start + ROWS_AT_ONCE, rows)) for start in range(0, rows, ROWS_AT_ONCE)]
