"""The public limits that a replay holds kept integers to."""

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.party.kept_numbers import exceeded_limit
from plumbob.plan import Plan

ROWS = 50
UNIT = 1 << 13  # Of the plan's 13 fraction bits.
PLAN = Plan.for_columns((2, 2), feature_bits=13)
CLIPPED = PLAN.replace(noise="rows", row_norm=2.0)  # Each party's half of a row is no longer than the square root of 2.


def flat(size: float) -> dict[str, NDArray[np.int32]]:
    """Rows whose entries are all of this size, with signs in turns, and no penalty."""
    signs = np.where(np.arange(2 * ROWS).reshape(ROWS, 2) % 3, 1, -1)
    return {"rows": np.rint(size * UNIT * signs).astype(np.int32), "penalty": np.zeros((0, 2), np.int32)}


@pytest.mark.parametrize(
    ("plan", "size", "said"),
    [
        (PLAN, 1.0, ""),
        (PLAN, 1.01, "a column's second moment"),
        (PLAN, 2.0 ** (ENTRY_BITS - 1) / UNIT, f"an entry of {ENTRY_BITS} bits or more"),
        (CLIPPED, 1.0, ""),
        (CLIPPED, 1.01, "a row's norm"),
    ],
)
def test_what_exceeds_a_limit_is_said(plan: Plan, size: float, said: str) -> None:
    """Each limit by its own name; just within it, nothing."""
    assert exceeded_limit(plan, "features", flat(size)) == said


def test_scored_rows_have_no_moments() -> None:
    """Rows to score come without a penalty, and only their width is limited."""
    numbers = flat(1.5)
    del numbers["penalty"]
    assert exceeded_limit(PLAN, "features", numbers) == ""
