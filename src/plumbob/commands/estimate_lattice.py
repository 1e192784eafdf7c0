"""The cost of the products of `shares`: seconds from small products of each kind, and the keys' memory."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from plumbob.checking.figures import Figures
from plumbob.crypto import SYSTEM_RANDOMNESS, lattice
from plumbob.crypto.lattice import KeyContext, KeyProof, KeyTest, Layout, OwnerKey, SlotLayout, TestedKey
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.protocol.shares.shape import TERMS, LatticeShape

TRIES = 5
"""How often a product is timed."""
MANY = 8
"""How many polynomials the request or reply of a timed product has."""


@dataclass(frozen=True)
class LatticeCost:
    """The cost of one run for all parties together."""

    setup_seconds: float
    step_seconds: float
    """The seconds of all steps together."""
    key_memory: int
    """Bytes of all keys before the first pass, in one process."""


def lattice_cost(figures: Figures, engine: lattice.LatticeEngine) -> LatticeCost:
    """Measure the cost now, with products of a few polynomials."""
    whole = LatticeShape(figures.plan, figures.rows)
    of_matrix = _measured_matrix(whole, engine)
    of_slots = {turn: _measured_slots(whole, engine, turn) for turn in {stage.is_turn for stage in whole.stages}}
    steps = 0.0
    for shape, passes in whole.levels:
        matrices = sum(map(of_matrix.of, _matrices(shape)))
        staged = sum(layout.requests * of_slots[layout.is_turn].block for layout in _slots(shape)) / TERMS
        steps += passes * (staged + matrices)
    setup = sum(of_slots[layout.is_turn].key for _, shape in whole.keyed_passes for layout in _slots(shape))
    return LatticeCost(setup, steps, key_memory(whole))


def key_memory(whole: LatticeShape) -> int:
    """The bytes of all keys, which are tested before the first pass; each is kept at its owner and its evaluators."""
    ends = []
    for _, shape in whole.keyed_passes:
        ends += [layout.parameters for layout in _matrices(shape)] * 2
        for stage in shape.stages:
            ends += [shape.profile[2]] * len(shape.pieces) * (len(stage.owners) + stage.pairs)
    return sum(8 * len(one.primes) * one.degree + one.polynomial_bytes for one in ends)


def _matrices(shape: LatticeShape) -> list[Layout]:
    """The layouts of every party's matrix with every peer's numbers."""
    of_parties = ([shape.scores(party.name), *shape.gradients(party.name)] for party in shape.plan.learners)
    return list(chain.from_iterable(of_parties)) * (shape.parties - 1)


def _slots(shape: LatticeShape) -> list[SlotLayout]:
    """The layouts of every pair's product in every stage of the sigmoid."""
    return [
        shape.slots(piece, is_turn=stage.is_turn)
        for stage in shape.stages
        for piece in shape.pieces
        for _ in range(stage.pairs)
    ]


class SlotSeconds(NamedTuple):
    """Seconds for one block of rows, and for one key with its test."""

    block: float
    key: float


def _measured_slots(shape: LatticeShape, engine: lattice.LatticeEngine, is_turn: bool) -> SlotSeconds:
    layout = SlotLayout(shape.profile[2], shape.profile[2].degree, TERMS, is_turn)
    started = time.perf_counter()
    key, tested = _tested(engine, layout, "slots")
    key_seconds = time.perf_counter() - started
    ones = np.ones((TERMS, layout.rows), dtype=np.int32)

    def multiply() -> None:
        owner = lattice.SlotOwner(key, 1, layout)
        draw = SYSTEM_RANDOMNESS.draw(SEED_BYTES)
        evaluator = lattice.SlotEvaluator(engine, layout, tested, 1, draw, lattice.Register())
        owner.open(evaluator.reply(owner.request(ones), ones).reply)

    return SlotSeconds(fastest(multiply), key_seconds)


class MatrixSeconds(NamedTuple):
    """Seconds of a product with a matrix: per polynomial of the request, of the reply, and of the matrix."""

    request: float
    reply: float
    entry: float
    size: int
    """The size of the polynomials that this was measured with."""

    def of(self, layout: Layout) -> float:
        """Seconds of one product."""
        requests, replies = layout.requests, layout.replies
        counted = requests * self.request + replies * self.reply + requests * replies * self.entry
        return counted * _size(layout.parameters) / self.size


def _measured_matrix(shape: LatticeShape, engine: lattice.LatticeEngine) -> MatrixSeconds:
    """Measure three products: with many polynomials in the request, in the reply, and in both."""
    parameters = shape.gradients(shape.plan.feature_parties[0].name)[0].parameters
    long, wide, both = (_product_seconds(parameters, engine, *one) for one in ((MANY, 1), (1, MANY), (MANY, MANY)))
    # Linear equations: `MANY` of the one, one of the other, and as many entries as both have together.
    reply_and_entries, request_and_entries = (both - long) / (MANY - 1), (both - wide) / (MANY - 1)
    request, reply = max(0.0, long - reply_and_entries) / MANY, max(0.0, wide - request_and_entries) / MANY
    return MatrixSeconds(request, reply, max(0.0, reply_and_entries - reply) / MANY, _size(parameters))


def _size(parameters: lattice.ParameterSet) -> int:
    """How many numbers a polynomial modulo q has."""
    return parameters.degree * len(parameters.primes)


def _product_seconds(
    parameters: lattice.ParameterSet, engine: lattice.LatticeEngine, requests: int, replies: int
) -> float:
    layout = Layout(parameters, "gradients", requests * parameters.degree, replies, 1, 128, 104)
    key, tested = _tested(engine, layout, "gradients")
    entries, values = np.ones((layout.rows, layout.columns), np.int32), np.ones((layout.inputs, 2), np.uint64)

    def multiply() -> None:
        owner = lattice.Owner(key, 1, layout)
        matrix = lattice.PrivateMatrix(engine, layout, entries)
        evaluator = lattice.Evaluator(matrix, tested, 1, SYSTEM_RANDOMNESS.draw(SEED_BYTES), lattice.Register())
        owner.open(evaluator.reply(owner.request(values)).reply)

    return fastest(multiply)


def fastest(work: Callable[[], None]) -> float:
    """Seconds of the fastest try: the first one fills caches, and other programs on the machine only ever add."""
    seconds = []
    for _ in range(TRIES):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _tested(engine: lattice.LatticeEngine, layout: Layout | SlotLayout, kind: str) -> tuple[OwnerKey, TestedKey]:
    context = KeyContext(b"estimate", "owner", "evaluator", kind, 1)
    key = OwnerKey(engine, layout.parameters, context, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
    public = key.public_bytes()
    while True:
        test = KeyTest(engine, layout.parameters, context, public, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
        proof = KeyProof(key, public, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
        nonce = proof.reveal(test.reveal(proof.commit(test.challenge())))
        if nonce is not None:
            return key, test.finish(nonce)
