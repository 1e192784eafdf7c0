"""The numbers that verdicts on the paper's protocols need: the noise's deviations, and how wide what travels is.

`exchange` and `arbiter` themselves are in the lab, which nothing here may load; the lab takes these numbers from here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plumbob.arrays import Vector
from plumbob.crypto import Encoding
from plumbob.data.whitening import CLIP, gamma_for
from plumbob.errors import RemoteProtocolError
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.plan.study import label_scale
from plumbob.privacy.label_noise import HeuristicNoise, LabelCost, proved_std
from plumbob.protocol.openings import ENTRY_INTEGER_BITS

SLACK_BITS = 100  # A masked sum wraps around n with probability 2**-100 at most.
SCORE_BITS = 10  # Beyond 1024 a run has diverged, and the guard of `lab.one_step` stops it.
UNSCALED_BITS = 7  # Without scaling or clipping, features must stay below 128.


def noise_std(plan: Plan, role: str) -> float:
    """The deviation of the noise that a party of this role adds to its own residuals before they leave."""
    if plan.noise == "std":
        return plan.noise_std
    if plan.noise == "heuristic":
        noise = heuristic_noise(plan)
        return noise.label_party_std() if role == "label" else noise.feature_party_std()
    if plan.noise == "sound" and role == "label":
        # The label party's noise alone protects the labels; that is all that this mode promises.
        return proved_std(plan.epsilon, plan.delta, label_sensitivity(plan), plan.passes_without_sample)
    return 0.0


def heuristic_noise(plan: Plan) -> HeuristicNoise:
    """The paper's formulas (Theorem D.5), with the actual number of epochs where the plan gives none."""
    return HeuristicNoise(
        plan.epsilon,
        plan.delta,
        plan.heuristic.G,
        plan.heuristic.e or plan.passes_without_sample,
        plan.heuristic.T,
        plan.rate,
        plan.batch_size,
    )


def label_sensitivity(plan: Plan) -> float:
    """How far flipping one label moves one residual."""
    return 2.0 * SIGMOIDS[plan.sigmoid].label_weight


def label_cost(plan: Plan) -> LabelCost | None:
    """What a run costs for one label, where that is a sound statement: `sound` noise, labels of equal weight."""
    if plan.noise != "sound" or plan.class_weight != "none":
        return None
    return LabelCost(noise_std(plan, "label"), label_sensitivity(plan), plan.passes_without_sample)


def updates_with_released_noise(plan: Plan, role: str) -> bool:
    """Whether a party updates with the vector that it released, noise included: what makes the accounting sound."""
    return plan.noise == "sound" and role == "label"


def own_noise_returns(plan: Plan, role: str) -> bool:
    """Whether a party's own draws are in the sums that it gets; it knows them, and can take them out again."""
    # Through an arbiter everybody's sums come from one vector, to which all have added their noise.
    through_arbiter = plan.kind.has_arbiter and noise_std(plan, role) > 0
    return through_arbiter or updates_with_released_noise(plan, role)


def largest_released(plan: Plan) -> float:
    """The most that labels and eight standard deviations of noise add to a score in a residual."""
    label = 2.0 * SIGMOIDS[plan.sigmoid].label_weight * label_scale(plan.label_flip_epsilon)
    return label + 8.0 * max(noise_std(plan, "label"), noise_std(plan, "features"))


def whole_units(std: float, fraction_bits: int) -> int:
    """A deviation in units of the encoding, rounded up: never less noise than was asked for."""
    return math.ceil(math.ldexp(std, fraction_bits))


# Widths, from public numbers only: the plan, the aligned rows, the parties' columns.


def feature_encoding(plan: Plan, training_rows: int) -> Encoding:
    """Of own rows; what does not fit is refused before anything depends on it."""
    return Encoding(plan.feature_bits, feature_integer_bits(plan, training_rows))


def feature_integer_bits(plan: Plan, training_rows: int) -> int:
    """Integer bits of a feature: a standardised column stays within sqrt(n - 1), a clipped row within its norm."""
    if plan.kind.has_lattices:
        return ENTRY_INTEGER_BITS
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
