"""One whole pass on shares: scores, a Fourier series of them, and gradients, against floating point."""

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.crypto.lattice import (
    Evaluator,
    LatticeEngine,
    Layout,
    Owner,
    Pairs,
    PrivateMatrix,
    Register,
    SlotEvaluator,
    SlotLayout,
    SlotOwner,
    angles,
    choose,
    pairs,
    sets,
)
from plumbob.crypto.lattice.layout import Direction
from plumbob.crypto.lattice.local import pairs_of
from tests.crypto.lattice.support import EVALUATOR_SEED, admitted, make_key, random_pairs, to_floats, to_ints

ROWS, COLUMNS = 5000, (3, 5)
PERIOD, MATRIX_BITS, WEIGHT_BITS = 64, 13, 32
SCORE_RING = 6 + MATRIX_BITS + WEIGHT_BITS
RESIDUAL_RING, RESIDUAL_BITS, GRADIENT_RING = 104, 2 * angles.FACTOR_BITS, 88
HARMONICS, AMPLITUDES = (1, 3, 5, 7), (-0.6, -0.2, -0.1, -0.05)
Floats = NDArray[np.float64]


def split(values: list[int], bits: int, generator: np.random.Generator) -> tuple[Pairs, Pairs]:
    """Uniform shares of numbers."""
    first = random_pairs(generator, len(values), bits)
    rest = [value - share for value, share in zip(values, to_ints(first), strict=True)]
    return first, pairs.reduce(pairs_of(rest), bits)


def own_product(matrix: NDArray[np.int64], share: Pairs, layout: Layout) -> Pairs:
    """What the evaluator does alone with its own share: multiply, and cut as the lattice product does."""
    numbers = np.array(to_ints(share), dtype=object)
    exact = (matrix if layout.direction == "scores" else matrix.T).astype(object) @ numbers
    dropped = layout.input_bits - layout.output_bits
    return pairs_of([(int(value) % (1 << layout.input_bits)) >> dropped for value in exact])


def product(
    engine: LatticeEngine, direction: Direction, matrix: NDArray[np.int64], own: Pairs, other: Pairs, number: int
) -> tuple[Pairs, Pairs]:
    """Shares of the matrix times a shared vector: the evaluator's, and the other party's."""
    parameters = sets.SCORES if direction == "scores" else sets.GRADIENTS
    bits = (SCORE_RING, 32) if direction == "scores" else (RESIDUAL_RING, GRADIENT_RING)
    layout = Layout.choose(parameters, direction, len(matrix), matrix.shape[1], *bits)
    key = make_key(engine, parameters, direction, number)
    owner = Owner(key, 1, layout)
    answer = Evaluator(PrivateMatrix(engine, layout, matrix), admitted(key), 1, EVALUATOR_SEED, Register()).reply(
        owner.request(pairs.reduce(other, layout.input_bits))
    )
    mine = pairs.add(answer.share, own_product(matrix, own, layout))
    return pairs.reduce(mine, layout.output_bits), owner.open(answer.reply)


def series(engine: LatticeEngine, first: Pairs, second: Pairs) -> tuple[Pairs, Pairs]:
    """Shares modulo 2**104 of the series at the shared scores."""
    turns = [share[:, 0].astype(np.uint32) for share in (first, second)]
    layout = SlotLayout(sets.SLOTS, ROWS, 2 * len(HARMONICS))
    key = make_key(engine, sets.SLOTS, "sigmoid")
    owner = SlotOwner(key, 1, layout)
    evaluator = SlotEvaluator(engine, layout, admitted(key), 1, EVALUATOR_SEED, Register())
    request = owner.request(angles.owner_factors(engine, turns[1], HARMONICS))
    answer = evaluator.reply(request, angles.evaluator_factors(engine, turns[0], HARMONICS, AMPLITUDES))
    modulus = sets.SLOTS.slot_modulus
    lifted = (pairs.lift(answer.share, modulus, True), pairs.lift(owner.open(answer.reply), modulus, False))
    return pairs.reduce(lifted[0], RESIDUAL_RING), pairs.reduce(lifted[1], RESIDUAL_RING)


@pytest.fixture(scope="module")
def data() -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Both parties' columns with 13 fraction bits, and weights with 32."""
    generator = np.random.default_rng(9)
    matrices = [np.rint(generator.normal(size=(ROWS, d)) * 2**MATRIX_BITS).astype(np.int64) for d in COLUMNS]
    weights = [np.rint(generator.normal(size=d) * 2**WEIGHT_BITS).astype(np.int64) for d in COLUMNS]
    return matrices, weights


def test_a_pass_is_that_of_floating_point(data: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]) -> None:
    """The gradient divided by the rows is within 1e-6 of the one that is computed in the clear."""
    matrices, weights = data
    engine, generator = choose(threads=1), np.random.default_rng(10)
    shares = [split(each.tolist(), SCORE_RING, generator) for each in weights]
    mine, theirs = product(engine, "scores", matrices[0], shares[0][0], shares[0][1], 1)
    theirs_too, mine_too = product(engine, "scores", matrices[1], shares[1][0], shares[1][1], 2)
    first, second = pairs.add(mine, mine_too), pairs.add(theirs, theirs_too)
    residuals = series(engine, pairs.reduce(first, 32), pairs.reduce(second, 32))
    clear = clear_residuals(matrices, weights)
    for party, matrix in enumerate(matrices):
        got = product(engine, "gradients", matrix, residuals[party], residuals[1 - party], 3 + party)
        fraction_bits = RESIDUAL_BITS + MATRIX_BITS - (RESIDUAL_RING - GRADIENT_RING)
        gradient = to_floats(pairs.add(*got), GRADIENT_RING, fraction_bits)
        assert abs(gradient - matrix.T @ clear / 2**MATRIX_BITS).max() / ROWS < 1e-6


def clear_residuals(matrices: list[NDArray[np.int64]], weights: list[NDArray[np.int64]]) -> Floats:
    """The series at the scores of the same rounded numbers."""
    scores = np.zeros(ROWS)
    for matrix, weight in zip(matrices, weights, strict=True):
        scores += (matrix / 2**MATRIX_BITS) @ (weight / 2**WEIGHT_BITS)
    residuals = np.zeros(ROWS)
    for harmonic, amplitude in zip(HARMONICS, AMPLITUDES, strict=True):
        residuals += amplitude * np.sin(2 * np.pi * harmonic * scores / PERIOD)
    return residuals
