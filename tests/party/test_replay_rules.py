"""The public limits that a replay holds kept integers to."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.party.replay_rules import exceeded_limit, follows
from plumbob.plan import Plan

ROWS = 50
UNIT = 1 << 13  # Of the plan's 13 fraction bits.
PLAN = Plan.for_columns((2, 2))
# Noise is cheap, and the public norm 2: each party's half of a row is no longer than the square root of 2.
CLIPPED = PLAN.replace(noise="rows", epsilon=100.0)


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


@pytest.mark.parametrize("has_penalty", [True, False], ids=["training", "scored"])
def test_the_smallest_integer_is_wider_than_an_entry(*, has_penalty: bool) -> None:
    """It has no absolute value in its own type."""
    numbers = flat(0.5)
    numbers["rows"][0, 0] = np.iinfo(np.int32).min
    if not has_penalty:
        del numbers["penalty"]
    assert exceeded_limit(PLAN, "features", numbers) == f"an entry of {ENTRY_BITS} bits or more"


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
def test_no_difference_wraps_around(kind: type[np.integer[Any]]) -> None:
    """One entry may differ by one unit, and by nothing that a type makes of a larger difference."""
    calculated, limits = np.zeros(3, kind), np.iinfo(kind)
    for value, is_close in ((1, True), (2, False), (limits.min, limits.min == 0), (limits.max, False)):
        kept = calculated.copy()
        kept[0] = value
        assert follows("rows", calculated, kept) is is_close
        assert follows("rows", kept, calculated) is is_close
