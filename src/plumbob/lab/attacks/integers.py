"""Integers side by side in one number, and integers from linear equations: the arithmetic of the active attacks."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto import Encoding
from plumbob.crypto.engines.interface import IntegerMatrix
from plumbob.crypto.packing import centred
from plumbob.plan import Plan
from plumbob.plan.settings import label_scale
from plumbob.protocol import defences
from plumbob.protocol.party import TrainingParty

LARGEST_PART = 4.0  # Beyond it Criterion 4.2 reads no label: abs(score) < 2, plus 2 for the label.


def signed_digits(value: int, bits: int, count: int) -> list[int]:
    """The signed digits of a number, lowest first; a negative one borrowed from the next."""
    digits = []
    for _ in range(count):
        digits.append(centred(value, 1 << bits))
        value = (value - digits[-1]) >> bits
    return digits


def exact_product(values: Sequence[int], matrix: IntegerMatrix) -> list[int]:
    """values @ matrix, however wide."""
    wide: NDArray[Any] = np.array(values, dtype=object) @ matrix.astype(object)
    return [int(value) for value in wide]


def solve_exactly(matrix: IntegerMatrix, sums: Sequence[int]) -> list[int] | None:
    """The only integers v with v @ matrix = sums; None where least squares does not find them, or they are not unique.

    Floating point brings v near enough to be rounded; integer arithmetic then proves it.
    """
    solved, _, rank, _ = np.linalg.lstsq(
        matrix.T.astype(np.float64), np.array([float(value) for value in sums]), rcond=None
    )
    values = [int(value) for value in np.rint(solved)]
    return values if rank == len(matrix) and exact_product(values, matrix) == list(sums) else None


def narrow_residual(plan: Plan) -> Encoding:
    """The narrowest encoding that still tells labels apart, for an attacker where room is scarce."""
    helpers = len(plan.learners) - 1
    magnitude = max(LARGEST_PART, defences.largest_released(plan)) * math.sqrt(helpers)
    return Encoding(plan.residual_bits, math.ceil(math.log2(magnitude)))


def is_noisy(plan: Plan) -> bool:
    """Whether anybody adds noise to its residuals."""
    return any(defences.noise_std(plan, party.role) > 0 for party in plan.learners)


def label_unit(plan: Plan, label_weight: float) -> int:
    """What a label alone adds to an encoded residual, or takes from it."""
    return round(math.ldexp(label_weight * label_scale(plan.label_flip_epsilon), plan.residual_bits))


def own_generator(me: TrainingParty) -> np.random.Generator:
    """The generator of an attacker's own numbers."""
    return np.random.default_rng(int.from_bytes(me.participant.draws.of("attack").draw(16), "little"))
