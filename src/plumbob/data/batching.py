"""Which rows each step uses: the same at every party, from the same seed, with no message.

Full batches may be of a sample first (plan/levels.py): the first rows of one order, so that every sample is part of the
next.

Only numpy's bit generator is used, not its `permutation`: raw streams stay the same from one version to the next,
and two organisations rarely have the same one.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from plumbob.errors import DataError
from plumbob.plan import Plan


@dataclass(frozen=True, eq=False)
class Batch:
    """The training rows of one step; steps and epochs count from 1, as in the paper."""

    step: int
    epoch: int
    rows: NDArray[np.intp]
    told: str = ""
    """What a person is told of the batch besides its number."""
    done: float = 0.0
    """The share of all steps' rows that is worked through after this step."""

    def __len__(self) -> int:
        return len(self.rows)


def batches(seed: bytes, n_rows: int, plan: Plan) -> Iterator[Batch]:
    """All batches of a run, in order; rows that are left over join the last batch of their epoch."""
    per_epoch, done = steps_per_epoch(n_rows, plan), 0
    in_all = sum(level.passes * level.rows for level in plan.levels(n_rows))
    for epoch, order in enumerate(_orders(seed, n_rows, plan), 1):
        whole = "all" if len(order) == n_rows else f"{len(order):,} of"
        told = f"on {whole} {n_rows:,} rows" if plan.batches == "full" else f"epoch {epoch}"
        for place, rows in enumerate(_pieces(order, per_epoch, plan)):
            done += len(rows)
            yield Batch((epoch - 1) * per_epoch + place + 1, epoch, rows, told, done / in_all)


def all_steps(n_rows: int, plan: Plan) -> int:
    """How many batches a run has."""
    return steps_per_epoch(n_rows, plan) * plan.passes(n_rows)


def steps_per_epoch(n_rows: int, plan: Plan) -> int:
    """How many batches an epoch has."""
    if n_rows == 0:
        raise DataError("expected training rows, got none")
    if plan.batches == "full":
        return 1
    if plan.batch_size > n_rows:
        raise DataError(
            f'batch_size {plan.batch_size} is more than the {n_rows} training rows; lower it or set batches = "full"'
        )
    return n_rows // plan.batch_size


def largest_batch(n_rows: int, plan: Plan) -> int:
    """Rows of the longest batch, the one that left-over rows joined."""
    if plan.batches == "full":
        return n_rows
    return plan.batch_size + n_rows % plan.batch_size


def _orders(seed: bytes, n_rows: int, plan: Plan) -> Iterator[NDArray[np.intp]]:
    """The rows of every epoch, in the order in which they are used."""
    for level in plan.levels(n_rows):
        if plan.batches == "full":
            yield from repeat(sampled_rows(seed, n_rows, level.rows), level.passes)
            continue
        # An epoch's order depends on nothing before it, so a resumed run need not replay the earlier ones.
        for epoch in range(1, level.passes + 1):
            yield _drawn_order(seed, f"batches of epoch {1 if plan.batches == 'fixed' else epoch}", n_rows)


def sampled_rows(seed: bytes, n_rows: int, size: int) -> NDArray[np.intp]:
    """The public sample of this size, in the table's order; smaller samples are parts of it."""
    return np.arange(n_rows) if size == n_rows else np.sort(_drawn_order(seed, "samples of rows", n_rows)[:size])


def _drawn_order(seed: bytes, purpose: str, n_rows: int) -> NDArray[np.intp]:
    return np.argsort(stream(seed, purpose).bit_generator.random_raw(n_rows), kind="stable")


def _pieces(order: NDArray[np.intp], n_steps: int, plan: Plan) -> list[NDArray[np.intp]]:
    if plan.batches == "full":
        return [order]
    ends = [plan.batch_size * place for place in range(1, n_steps + 1)]
    ends[-1] = len(order)
    return [order[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def stream(seed: bytes, purpose: str) -> np.random.Generator:
    """A separate generator for each purpose, so that one more draw for one changes no other. Not for secrets."""
    digest = hashlib.sha256(len(seed).to_bytes(8, "big") + seed + purpose.encode()).digest()
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(int.from_bytes(digest, "big"))))


def seed_from_int(value: int) -> bytes:
    """The seed's bytes for an experiment's number (`seed`, `random_state`)."""
    return b"experiment " + str(value).encode()
