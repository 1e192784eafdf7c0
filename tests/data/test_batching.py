"""Batches: every row once an epoch, never a tiny batch, the same everywhere from the same seed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.data import Batch, batches, largest_batch, seed_from_int, steps_per_epoch, stream
from plumbob.errors import DataError
from plumbob.plan import PAPER, Plan

SEED = seed_from_int(7)


def run(n_rows: int, seed: bytes = SEED, **keys: Any) -> list[Batch]:
    """All batches of a run over this many rows."""
    return list(batches(seed, n_rows, plan_of(**keys)))


def plan_of(**keys: Any) -> Plan:
    """A plan whose batches are small and reshuffled, unless the keys say otherwise."""
    return Plan.for_columns((1, 1), **{**(PAPER if "protocol" not in keys else {}), "protocol": "clear", **keys})


@given(st.integers(1, 60), st.integers(1, 60), st.binary(max_size=40))
def test_an_epoch_is_a_permutation_cut_into_pieces(n_rows: int, size: int, seed: bytes) -> None:
    """Every row once in an epoch, and no batch below the batch size."""
    size = min(size, n_rows)
    found = run(n_rows, seed, batch_size=size, epochs=2)
    assert [batch.step for batch in found] == list(range(1, 2 * (n_rows // size) + 1))
    for epoch in (1, 2):
        pieces = [batch.rows for batch in found if batch.epoch == epoch]
        assert [len(piece) for piece in pieces[:-1]] == [size] * (n_rows // size - 1)
        assert len(pieces[-1]) == size + (n_rows % size)
        assert sorted(np.concatenate(pieces)) == list(range(n_rows))
    plan = plan_of(batch_size=size)
    assert steps_per_epoch(n_rows, plan) == n_rows // size
    assert largest_batch(n_rows, plan) == max(map(len, found))


def test_the_same_seed_gives_the_same_batches() -> None:
    """Two parties that share a seed need no message to agree; another seed gives another order."""
    first, second, other = (
        [batch.rows.tolist() for batch in run(100, seed, batch_size=10)] for seed in (SEED, SEED, seed_from_int(8))
    )
    assert first == second
    assert first != other


def test_the_order_is_frozen() -> None:
    """Two versions of the program, or of numpy, must draw the same batches."""
    assert run(8, batch_size=8, epochs=1)[0].rows.tolist() == [6, 7, 1, 4, 0, 2, 5, 3]


def test_reshuffled_and_fixed_and_full() -> None:
    """Reshuffled draws anew each epoch, fixed repeats the first one, full takes all rows at once."""
    reshuffled, fixed, full = (
        run(64, batch_size=16, epochs=2, batches=kind) for kind in ("reshuffled", "fixed", "full")
    )
    assert reshuffled[0].rows.tolist() != reshuffled[4].rows.tolist()
    assert [batch.rows.tolist() for batch in fixed[:4]] == [batch.rows.tolist() for batch in fixed[4:]]
    assert [batch.rows.tolist() for batch in full] == [list(range(64))] * 2
    assert [batch.step for batch in full] == [1, 2]
    assert largest_batch(64, plan_of(batches="full")) == 64


def test_samples_are_nested_and_frozen() -> None:
    """The passes of a level use one sample, each sample is part of the next, and every version draws the same."""
    found = run(60_000, protocol="shares")
    assert [(len(batch), batch.epoch) for batch in found] == [
        (rows, epoch) for epoch, rows in enumerate([*[5000] * 13, *[17_320] * 4, *[60_000] * 4], 1)
    ]
    assert all(len(np.unique(batch.rows)) == len(batch) for batch in found)
    assert found[0].rows.tolist() == found[12].rows.tolist()
    assert np.isin(found[0].rows, found[13].rows).all()
    assert found[0].rows[:6].tolist() == [4, 38, 40, 77, 80, 95]
    assert found[-1].done == 1.0


def test_every_place_is_equally_likely() -> None:
    """Over many seeds each row is in the first batch as often as any other (chi-square, one in 10,000)."""
    counts, plan = np.zeros(10), plan_of(batch_size=5, epochs=1)
    for number in range(1000):
        counts[next(batches(seed_from_int(number), 10, plan)).rows] += 1
    # Counts of rows drawn 5 of 10 without replacement have variance n / 4 * 10 / 9; 9 degrees of freedom.
    assert ((counts - 500) ** 2).sum() / (250 * 10 / 9) < 33.7


def test_streams_of_different_purposes_are_independent() -> None:
    """Starting weights and batches never share random numbers."""
    assert stream(SEED, "weights").random() != stream(SEED, "batches").random()
    assert stream(b"a", "bc").random() != stream(b"ab", "c").random()


def test_a_batch_larger_than_the_data_is_refused() -> None:
    """The command line says what to change; no rows at all is refused too."""
    with pytest.raises(DataError, match="batch_size 256 is more than the 100 training rows"):
        run(100)
    with pytest.raises(DataError, match="got none"):
        run(0, batches="full")
    assert len(run(100, batches="full", epochs=10)) == 10
