"""How wide a party's numbers are, from public numbers only: the plan, the aligned rows, the parties' columns."""

import math

from plumbob.crypto.fixed_point import Encoding
from plumbob.data.whitening import CLIP, gamma_for
from plumbob.plan import Plan

UNSCALED_BITS = 7  # Without scaling or clipping, features must stay below 128.
LATTICE_BITS = 7  # Integer bits of an entry of a lattice product's matrix.
ASSUMED_ROWS = 10_000  # Where a plan does not say; used for nothing that travels.


def feature_encoding(plan: Plan, training_rows: int) -> Encoding:
    """Of own rows; what does not fit is refused before anything depends on it."""
    return Encoding(plan.feature_bits, feature_integer_bits(plan, training_rows))


def feature_integer_bits(plan: Plan, training_rows: int) -> int:
    """Integer bits of a feature: a standardised column stays within sqrt(n - 1), a clipped row within its norm."""
    if plan.kind.has_lattices:
        return LATTICE_BITS
    if plan.joint_norm > 0:
        bound = plan.joint_norm
    elif plan.scale == "standard":
        bound = math.sqrt(training_rows)
    elif plan.is_whitened:
        bound = largest_whitened(plan, training_rows)
    else:
        return UNSCALED_BITS
    # Features are rounded after scaling and clipping, which can take them up to their bound's next multiple.
    bound += 2.0**-plan.feature_bits
    return max(1, math.floor(math.log2(max(bound, 1.0))) + 1)


def largest_whitened(plan: Plan, training_rows: int) -> float:
    """The largest entry of a whitened column: its deviation is at most 1, and its row is clipped before."""
    widest = max(party.features for party in plan.learners)
    # Clipped to +-5 and centred again, an entry is at most 10; the matrix is at most 1 / sqrt(gamma).
    by_columns = 2.0 * CLIP * math.sqrt(widest / gamma_for(plan.l2, plan.blocks))
    return min(math.sqrt(training_rows), by_columns)


def columns_of(plan: Plan, name: str) -> int:
    """A party's columns, with the intercept's at the label party."""
    party = plan.party(name)
    return party.features + (1 if plan.intercept and party.role == "label" else 0)
