"""Whether a table is one that a reader makes, and numbers those that a replay calculates, within the plan's limits.

Integers must be the same but for one entry in 100,000, by one unit, because processors round differently; a model
part's floating-point numbers but for their last digits, in units in which a row could notice.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.angles import FACTOR_BITS
from plumbob.crypto.lattice.layout import ENTRY_BITS
from plumbob.data import Table
from plumbob.data.encoder import choices_of
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
    if differs.sum() > max(1, calculated.size // ONE_IN):
        return False
    # Python's integers do not wrap around.
    pairs = zip(calculated[differs].tolist(), kept[differs].tolist(), strict=True)
    return all(abs(one - other) <= 1 for one, other in pairs)


# Limits that every table keeps to, whatever is in it: the protocol's proofs rest on them.


def impossible_in(plan: Plan, party: str, table: Table) -> str:
    """What stands in a table that the reader never makes, in words and without a value; empty where there is nothing.

    A party with other software commits to whatever it likes: a label of 127 would weigh as much as 255 people.
    """
    labels, weights = table.labels, table.weights
    is_label_party = plan.label_party.name == party
    if labels is not None and not (is_label_party and np.isin(labels, (0, 1)).all()):
        return "a label that is neither 0 nor 1" if is_label_party else "labels"
    if weights is not None and not (is_label_party and ((weights >= 0.0) & (weights <= 1.0)).all()):
        return "a row's weight outside 0 to 1" if is_label_party else "weights of rows"
    if any(np.isinf(column.numbers).any() for column in table.columns if not column.is_text):
        return "a number that is not finite"
    return _impossible_columns(plan, table)


def _impossible_columns(plan: Plan, table: Table) -> str:
    """The same about how the party's whole file made its columns numbers; each column refuses what no fit gives."""
    if table.fitted is None:
        return ""
    fitted = table.fitted.columns
    if [(own.name, own.is_text) for own in fitted] != [(column.name, column.is_text) for column in table.columns]:
        return "other columns than were fitted"
    if any(len(own.cuts) > max(plan.bins - 1, 0) for own in fitted):
        return "other bins or levels of a column than the plan allows"
    return "" if table.fitted.choices == choices_of(plan) else "columns of another plan"


def exceeded_limit(plan: Plan, party: str, numbers: Numbers) -> str:
    """What is larger than the plan allows, in words; empty where all is within."""
    entries, signs, weights = numbers["rows"], numbers.get("signs"), numbers.get("row weights")
    if signs is not None and not np.isin(signs, (-1.0, 1.0)).all():
        return "a sign that is neither -1 nor +1"
    if weights is not None and ((weights < 0) | (weights > 1 << FACTOR_BITS)).any():
        return "a row's weight"
    # The smallest integer of a type has no absolute value in it.
    if max(int(entries.max(initial=0)), -int(entries.min(initial=0))) >= 1 << (ENTRY_BITS - 1):
        return f"an entry of {ENTRY_BITS} bits or more"
    if "penalty" not in numbers:
        # Rows to score: held out, or new.
        return ""
    trained = entries[: len(entries) - len(numbers["penalty"])]
    if plan.noise == "rows":
        return "" if _keeps_to_norms(plan.on(len(trained)), party, trained) else "a row's norm"
    return "" if _keeps_to_moments(plan, party, trained) else "a column's second moment"


def _keeps_to_norms(plan: Plan, party: str, entries: NDArray[Any]) -> bool:
    """Whether rows are within the norms on which a promise about whole rows rests: in whole numbers, without slack."""
    from plumbob.privacy.rows import squared_norm_units
    from plumbob.protocol.row_cost import norms  # Late: a plan without such a promise needs nothing of it.

    place = [learner.name for learner in plan.learners].index(party)
    most, own = squared_norm_units(norms(plan)[place], plan.feature_bits), plan.party(party).features
    intercept = squared_norm_units(1.0, plan.feature_bits)
    return all(
        (squares[:, :own].sum(axis=1) <= most).all() and (squares[:, own:] <= intercept).all()
        for squares in _squares(entries)
    )


def _keeps_to_moments(plan: Plan, party: str, entries: NDArray[Any]) -> bool:
    """Whether each whitened column has a second moment of at most one, but for rounding."""
    own, unit = plan.party(party).features, 2.0**-plan.feature_bits
    moments = sum((squares[:, :own].sum(axis=0, dtype=float) for squares in _squares(entries)), np.zeros(own))
    return bool((moments * unit**2 <= len(entries) * (1.0 + 2 * unit)).all())


def _squares(entries: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """The squares of some rows at a time: all of them could be more than fits memory."""
    for start in range(0, len(entries), ROWS_AT_ONCE):
        yield np.square(entries[start : start + ROWS_AT_ONCE].astype(np.int64))


# Model parts.


def is_same_part(kept: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """Whether two model parts are the same: shares exactly, encoders so that no row is encoded differently."""
    spread = [LAST_DIGITS * abs(1.0 / factor) if factor else 0.0 for factor in made["encoder"]["factor"]]
    # A whitened column has a spread of one.
    slack = {"whitening": LAST_DIGITS, "encoder": {"shift": spread, "fill": spread}}
    return _is_alike(kept, made, slack)


def _is_alike(one: Any, other: Any, slack: Any = 0.0) -> bool:
    """Whether two values of JSON are the same, floats but for `slack`: a number, or one for each field or element."""
    if isinstance(one, dict) and isinstance(other, dict):
        of = slack if isinstance(slack, dict) else dict.fromkeys(one, slack)
        return one.keys() == other.keys() and all(_is_alike(one[name], other[name], of.get(name, 0.0)) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        each = slack if isinstance(slack, list) else [slack] * len(one)
        return len(one) == len(other) == len(each) and all(map(_is_alike, one, other, each))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=LAST_DIGITS, abs_tol=slack if isinstance(slack, float) else 0.0)
    return type(one) is type(other) and bool(one == other)
