"""The widths of everything that travels, from public numbers only: the plan, the aligned rows, the parties' columns.

They are proved here, before a run starts, to hold whatever an honest party can have to say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto.fixed_point import Encoding
from plumbob.data.whitening import CLIP, gamma_for
from plumbob.errors import RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.defences import largest_released

UNSCALED_BITS = 7  # Without scaling or clipping, features must stay below 128.
LATTICE_BITS = 7  # Integer bits of an entry of a lattice product's matrix.
ASSUMED_ROWS = 10_000  # Where a plan does not say; used for nothing that travels.
SCORE_BITS = 10  # Beyond 1024 a run has diverged, and the guard of `model.logistic` stops it.


@dataclass(frozen=True)
class Widths:
    """Encodings of the learner's matrix and of the helper's vector, and the rows that one sum may run over."""

    features: Encoding
    residuals: Encoding

    def sums(self, rows: int, helpers: int) -> int:
        """Bits, sign included, of a sum over a batch and over all helpers."""
        magnitude = (self.features.bits - 1) + (self.residuals.bits - 1)
        return magnitude + (rows * helpers).bit_length() + 1

    def decode_sums(self, sums: Sequence[int]) -> Vector:
        """The numbers that integer sums stand for."""
        scale = 2.0 ** -(self.features.fraction_bits + self.residuals.fraction_bits)
        try:
            return np.array([float(value) for value in sums]) * scale
        except OverflowError:
            # Whole plaintexts (replies = "paper") have room for more than a floating-point number.
            raise RemoteProtocolError(
                "an opened sum is wider than any honest one; is the peer's key the agreed one?"
            ) from None


def widths_for(plan: Plan, training_rows: int) -> Widths:
    """From the plan and the number of training rows."""
    integer_bits = feature_integer_bits(plan, training_rows)
    features = Encoding(plan.feature_bits, integer_bits)
    residuals = Encoding(plan.residual_bits, _residual_integer_bits(plan))
    return Widths(features, residuals)


def feature_integer_bits(plan: Plan, training_rows: int) -> int:
    """A standardised column of n rows stays within sqrt(n - 1), a clipped row within its norm; the intercept is 1."""
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
    """No whitened column has more than one deviation; nor can it exceed a row of clipped columns, whitened."""
    widest = max(party.features for party in plan.learners)
    # Clipped to +-5 and centred again, an entry is at most 10; the matrix is at most 1 / sqrt(gamma).
    by_columns = 2.0 * CLIP * math.sqrt(widest / gamma_for(plan.l2, plan.blocks))
    return min(math.sqrt(training_rows), by_columns)


def _residual_integer_bits(plan: Plan) -> int:
    """Scores up to the guard's limit, labels, and eight standard deviations of noise."""
    return math.ceil(math.log2(2.0**SCORE_BITS + largest_released(plan)))


def columns_of(plan: Plan, name: str) -> int:
    """A party's columns, with the intercept's at the label party."""
    party = plan.party(name)
    return party.features + (1 if plan.intercept and party.role == "label" else 0)
