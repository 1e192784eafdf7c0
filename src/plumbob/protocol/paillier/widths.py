"""The widths of what travels under a Paillier key, from public numbers only: the plan, its rows and columns.

They are proved here, before a run starts, to hold whatever an honest party can have to say.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Encoding, Slots
from plumbob.crypto.profiles import Profile, for_key_bits, insecure_for_tests
from plumbob.data import largest_batch
from plumbob.errors import RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.defences import largest_released
from plumbob.protocol.widths import feature_encoding

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
    """The widths for a plan and this many training rows."""
    residuals = Encoding(plan.residual_bits, _residual_integer_bits(plan))
    return Widths(feature_encoding(plan, training_rows), residuals)


def _residual_integer_bits(plan: Plan) -> int:
    """Integer bits of a residual: scores up to the guard's limit, labels, and eight standard deviations of noise."""
    return math.ceil(math.log2(2.0**SCORE_BITS + largest_released(plan)))


def profile_of(plan: Plan) -> Profile:
    """The encryption parameters for the plan's key length."""
    return insecure_for_tests(plan.key_bits) if plan.test_only_keys else for_key_bits(plan.key_bits)


def slots_for(plan: Plan, widths: Widths, columns: int, training_rows: int) -> Slots:
    """How a learner's sums travel under a helper's key."""
    # In `arbiter` the joint residuals hold the learner's own part too.
    helpers = len(plan.learners) - (1 if plan.arbiter is None else 0)
    bits, profile = widths.sums(largest_batch(training_rows, plan), helpers), profile_of(plan)
    if plan.replies == "packed":
        return Slots.packed(profile, columns, bits, plan.reply_slots)
    return Slots.paper(profile, columns, bits)
