"""What `shares` by lattices costs: bytes exactly from the layouts, seconds from one small product of each kind."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plumbob.checking.figures import Figures
from plumbob.crypto import SYSTEM_RANDOMNESS, lattice
from plumbob.crypto.lattice import Context, KeyProof, KeyTest, Layout, OwnerKey, SlotLayout, TestedKey
from plumbob.crypto.lattice.context import SEED_BYTES
from plumbob.protocol.lattice_keys import COMMITMENT_BYTES
from plumbob.protocol.lattice_sets import TERMS, LatticeShape
from plumbob.protocol.lattice_shares import ELEMENT_BYTES
from plumbob.protocol.messages import HEADER
from plumbob.protocol.openings import WEIGHTS

TEST_BYTES = COMMITMENT_BYTES + 2 * SEED_BYTES + 1
"""Of a key's test, besides the challenge."""
TEST_MESSAGES = 5
"""The keys themselves, and the four that test them; all at once, in either direction."""


@dataclass(frozen=True)
class LatticeCost:
    """Of one run, all parties together."""

    setup_seconds: float
    step_seconds: float
    bytes_sent: int


def lattice_cost(figures: Figures, engine: lattice.LatticeEngine) -> LatticeCost:
    """Measured now, with products of one polynomial."""
    shape = LatticeShape(figures.plan, figures.rows)
    slot_seconds, key_seconds = _measured_slots(shape, engine)
    product_seconds = _measured_product(shape, engine)
    blocks = sum(shape.slots(piece).blocks for piece in shape.pieces)
    polynomials = sum(layout.requests * layout.replies for layout in _matrices(shape))
    keys = figures.plan.passes * len(shape.pieces)
    return LatticeCost(
        setup_seconds=keys * key_seconds,
        step_seconds=blocks * slot_seconds + polynomials * product_seconds,
        bytes_sent=bytes_sent(shape),
    )


def bytes_sent(shape: LatticeShape) -> int:
    """By both parties, after the handshake; a key whose test is repeated adds a little."""
    plan = shape.plan
    columns = [layout.columns for layout in (shape.scores(party.name) for party in plan.learners)]
    slots = [shape.slots(piece) for piece in shape.pieces]
    layouts: list[Layout | SlotLayout] = [*_matrices(shape), *slots]
    of_pass = sum(layout.total_bytes + SEED_BYTES + 2 * HEADER.size for layout in layouts)
    keys = plan.passes * sum(_key_bytes(layout) for layout in layouts)
    setup = keys + 2 * TEST_MESSAGES * HEADER.size + sum(HEADER.size + ELEMENT_BYTES * count for count in columns)
    return setup + plan.passes * of_pass + _end_bytes(shape, columns)


def _end_bytes(shape: LatticeShape, columns: list[int]) -> int:
    """Opened weights, or what prediction is bound to."""
    if shape.plan.open == "own":
        return sum(HEADER.size + WEIGHTS.size(count) for count in columns)
    bound = [shape.scores(party.name, 1) for party in shape.plan.learners]
    requests = sum(HEADER.size + SEED_BYTES + layout.request_bytes for layout in bound)
    return requests + sum(_key_bytes(layout) for layout in bound) + 2 * TEST_MESSAGES * HEADER.size


def _key_bytes(layout: Layout | SlotLayout) -> int:
    """The key, and its test."""
    return 3 * layout.parameters.polynomial_bytes + TEST_BYTES


def _matrices(shape: LatticeShape) -> list[Layout]:
    makers: list[Callable[[str], Layout]] = [shape.scores, shape.gradients]
    if shape.has_penalty_products:
        makers.append(shape.penalties)
    return [make(party.name) for make in makers for party in shape.plan.learners]


def _measured_slots(shape: LatticeShape, engine: lattice.LatticeEngine) -> tuple[float, float]:
    """Seconds of one block of rows, and of one key with its test."""
    layout = SlotLayout(shape.profile[2], shape.profile[2].degree, TERMS)
    started = time.perf_counter()
    key, tested = _tested(engine, layout, "slots")
    key_seconds = time.perf_counter() - started
    ones = np.ones((TERMS, layout.rows), dtype=np.int32)
    started = time.perf_counter()
    owner = lattice.SlotOwner(key, layout)
    evaluator = lattice.SlotEvaluator(engine, layout, tested, SYSTEM_RANDOMNESS.draw(SEED_BYTES), lattice.Register())
    owner.open(evaluator.reply(owner.request(ones), ones).reply)
    return time.perf_counter() - started, key_seconds


def _measured_product(shape: LatticeShape, engine: lattice.LatticeEngine) -> float:
    """Seconds of a product of one polynomial with one."""
    party = shape.plan.feature_parties[0].name
    whole = shape.gradients(party)
    layout = Layout(whole.parameters, "gradients", whole.rows_per_block, whole.group, whole.group, 128, 104)
    key, tested = _tested(engine, layout, "gradients")
    matrix = lattice.Matrix(engine, layout, np.ones((layout.rows, layout.columns), dtype=np.int32))
    values = np.ones((layout.inputs, 2), dtype=np.uint64)
    started = time.perf_counter()
    owner = lattice.Owner(key, layout)
    evaluator = lattice.Evaluator(matrix, tested, SYSTEM_RANDOMNESS.draw(SEED_BYTES), lattice.Register())
    owner.open(evaluator.reply(owner.request(values)).reply)
    return time.perf_counter() - started


def _tested(engine: lattice.LatticeEngine, layout: Layout | SlotLayout, kind: str) -> tuple[OwnerKey, TestedKey]:
    context = Context(b"estimate", "owner", "evaluator", kind, 1)
    key = OwnerKey(engine, layout.parameters, context, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
    public = key.public_bytes()
    while True:
        test = KeyTest(engine, layout.parameters, context, public, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
        proof = KeyProof(key, public, SYSTEM_RANDOMNESS.draw(SEED_BYTES))
        nonce = proof.reveal(test.reveal(proof.commit(test.challenge())))
        if nonce is not None:
            return key, test.finish(nonce)
