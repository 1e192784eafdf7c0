"""Residuals as released are those that training used, noise included."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plumbob.errors import DataError
from plumbob.lab.paper.released import Released, success
from plumbob.lab.paper.runs import made_up, trained

NOISE: dict[str, Any] = {"noise": "std", "noise_std": 5.0, "row_norm": 100.0}


@pytest.mark.parametrize("keys", [{"batches": "full"}, {"batch_size": 16}, {"batch_size": 16, **NOISE}], ids=str)
def test_they_give_the_sums_of_every_step(keys: dict[str, Any]) -> None:
    """Residuals times columns, over each batch, are the sums that the feature party received."""
    run = trained((3, 4), *made_up(64, 7, 1), start="xavier", epochs=2, **keys)
    released = Released.of(run)
    for batch, X, own_scores, sums in released.own.steps():
        residuals = released.residuals[batch.epoch - 1, batch.rows]
        np.testing.assert_allclose(residuals @ X, sums, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(released.own_scores[batch.epoch - 1, batch.rows], own_scores)


def test_another_run_is_refused() -> None:
    """Sums that the residuals do not give are not of this run."""
    run = trained((3, 4), *made_up(64, 7, 1), epochs=1, batch_size=16)
    other = replace(run.transcripts["features"], sums=run.transcripts["features"].sums + 1.0)
    with pytest.raises(DataError, match="do not give the sums"):
        Released.of(replace(run, transcripts={**run.transcripts, "features": other}))


def test_rows_that_were_dropped_count_for_nothing() -> None:
    """Success is the share among the rows that came into a batch."""
    assert success(np.array([1, 0, 1], dtype=np.int8), np.array([[-1.0, np.nan, 2.0]])) == [0.5]
    run = trained((3, 4), *made_up(70, 7, 1), epochs=1, batch_size=16, remainder="drop")
    assert int(np.isnan(Released.of(run).residuals).sum()) == 70 - 64
