"""Whether numbers that a party kept are those that a replay calculates, and within the plan's public limits.

Integers must be the same but for one entry in 100,000, by one unit, because processors round differently; a model
part's floating-point numbers but for their last digits, in units in which a row could notice.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.plan import Plan
from plumbob.protocol.account import Numbers

EXACT = ("signs", "shifts", "row weights")
ONE_IN = 100_000
ROUNDING = 2.0**-48  # What floating point may differ by between processors: the last few bits.
LAST_DIGITS = 1e-9  # The same after a training's worth of additions.
ROWS_AT_ONCE = 1 << 16


def shapes(numbers: Numbers) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type and shape of each array: a number of another type is another number."""
    return {name: (np.asarray(one).dtype.str, np.shape(one)) for name, one in numbers.items()}


def follows(name: str, calculated: NDArray[Any], kept: NDArray[Any]) -> bool:
    """Whether kept numbers are the calculated ones, except where other processors round differently."""
    if name in EXACT:
        return bool(np.array_equal(calculated, kept))
    if calculated.dtype.kind == "f":
        return bool(np.allclose(calculated, kept, rtol=ROUNDING, atol=0))
    differs = calculated != kept
    differences = np.abs(calculated[differs].astype(np.int64) - kept[differs])
    return len(differences) <= max(1, calculated.size // ONE_IN) and bool(differences.max(initial=0) <= 1)


# Limits that every table keeps to, whatever is in it: the protocol's proofs rest on them.


def exceeded_limit(plan: Plan, party: str, numbers: Numbers) -> str:
    """A sentence on what is larger than the plan allows; empty where all is within."""
    entries = numbers["rows"]
    if entries.dtype.kind != "i":
        return ""
    if np.abs(entries).max(initial=0) >= 1 << (ENTRY_BITS - 1):
        return f"an entry of {ENTRY_BITS} bits or more"
    if "penalty" not in numbers:
        # Rows to score: held out, or new.
        return ""
    rows, unit = len(entries) - len(numbers["penalty"]), 2.0**-plan.feature_bits
    own = plan.party(party).features
    longest, squares = 0.0, np.zeros(own)
    for start in range(0, rows, ROWS_AT_ONCE):
        piece = unit * entries[start : min(start + ROWS_AT_ONCE, rows), :own]
        longest = max(longest, float(np.linalg.norm(piece, axis=1).max(initial=0.0)))
        squares += np.square(piece).sum(axis=0)
    limit = plan.norm_over(rows) * math.sqrt(own / max(1, plan.columns))
    if limit and longest > limit + unit * math.sqrt(own):
        return "a row's norm"
    has_moments = plan.scale in ("whitened", "standard") and plan.noise != "rows"
    if has_moments and (squares > rows * (1.0 + 2 * unit)).any():
        return "a column's second moment"
    return ""


# Model parts.


def is_same_part(kept: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """Whether two model parts are the same: shares exactly, encoders so that no row is encoded differently."""
    spread = [abs(1.0 / factor) if factor else 0.0 for factor in made["factor"]]
    slack = {name: [LAST_DIGITS * one for one in spread] for name in ("shift", "fill")}
    return kept.keys() == made.keys() and all(
        # A whitened column has a spread of one.
        _is_alike(kept[name], made[name], LAST_DIGITS if name == "whitening" else slack.get(name, 0.0))
        for name in made
    )


def _is_alike(one: Any, other: Any, slack: float | Sequence[float]) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_alike(one[name], other[name], slack) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        each = [slack] * len(one) if isinstance(slack, float) else slack
        return len(one) == len(other) == len(each) and all(map(_is_alike, one, other, each))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=LAST_DIGITS, abs_tol=slack if isinstance(slack, float) else 0.0)
    return type(one) is type(other) and bool(one == other)
