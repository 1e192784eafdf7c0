"""A plan's defences as numbers: each party's noise, what it costs, and the flipping of labels."""

import math

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.plan import Plan
from plumbob.plan.settings import label_scale
from plumbob.plan.sigmoids import SIGMOIDS
from plumbob.privacy.accounting import LabelCost, proved_std
from plumbob.privacy.noise_cost import HeuristicNoise, flips


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
    """What a run costs for one label, where that is a sound statement: with `sound` noise only."""
    if plan.noise != "sound":
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


def flipped_signs(signs: Vector, epsilon: float, random_bytes: bytes) -> Vector:
    """Labels as -1/+1, each flipped by randomised response and scaled so that gradients stay unbiased."""
    if epsilon == 0:
        return signs
    flipped = flips(len(signs), epsilon, lambda count: random_bytes[:count])
    return np.where(flipped, -signs, signs) * label_scale(epsilon)


def flipped_labels(plan: Plan, y: NDArray[np.int8] | None, signs: Vector | None) -> NDArray[np.bool_] | None:
    """Which labels (0/1) differ from those that training used; None where none could."""
    if plan.label_flip_epsilon == 0 or y is None or signs is None:
        return None
    is_flipped: NDArray[np.bool_] = (signs > 0) != (y == 1)
    return is_flipped


def largest_released(plan: Plan) -> float:
    """The most that labels and eight standard deviations of noise add to a score in a residual."""
    label = 2.0 * SIGMOIDS[plan.sigmoid].label_weight * label_scale(plan.label_flip_epsilon)
    return label + 8.0 * max(noise_std(plan, "label"), noise_std(plan, "features"))


def whole_units(std: float, fraction_bits: int) -> int:
    """A deviation in units of the encoding, rounded up: never less noise than was asked for."""
    return math.ceil(math.ldexp(std, fraction_bits))
