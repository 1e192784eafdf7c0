"""How long one pass of lattice products takes: scores, sigmoid and gradients for both parties, on one thread.

Matrices are transformed, and keys are made and tested, before the clock starts: both happen once per run. CPU seconds
are counted, because a pass is short and other programs run too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from plumbob.crypto import SYSTEM_RANDOMNESS, lattice
from plumbob.crypto.lattice import (
    Evaluator,
    KeyContext,
    KeyProof,
    KeyTest,
    LatticeEngine,
    Layout,
    Owner,
    OwnerKey,
    ParameterSet,
    PrivateMatrix,
    Register,
    SlotEvaluator,
    SlotLayout,
    SlotOwner,
    TestedKey,
    angles,
    pairs,
    sets,
)
from plumbob.crypto.lattice.layout import Direction

HARMONICS = tuple(range(1, 16, 2))
AMPLITUDES = tuple(1 / harmonic for harmonic in HARMONICS)
BITS: dict[Direction, tuple[int, int]] = {"scores": (51, 32), "gradients": (104, 88)}
SETS: dict[Direction, ParameterSet] = {"scores": sets.SCORES, "gradients": sets.GRADIENTS}
SHAPES = ((27_000, (11, 12)),)


@dataclass
class PassCost:
    """CPU seconds by stage, and bytes in both directions."""

    seconds: dict[str, float] = field(default_factory=dict)
    sent: int = 0

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def add(self, stage: str, work: Callable[[], None]) -> None:
        start = time.process_time()
        work()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.process_time() - start


class MatrixProduct:
    """One direction for one party's columns, ready to run."""

    def __init__(self, engine: LatticeEngine, direction: Direction, rows: int, columns: int, number: int) -> None:
        generator = np.random.default_rng(number)
        parameters, self.direction = SETS[direction], direction
        self.layout = Layout.choose(parameters, direction, rows, columns, *BITS[direction])
        matrix = PrivateMatrix(engine, self.layout, generator.integers(-(2**15), 2**15, (rows, columns)))
        key, tested = make_keys(engine, parameters, f"{direction} {number}")
        self.owner = Owner(key, 1, self.layout)
        self.evaluator = Evaluator(matrix, tested, 1, SYSTEM_RANDOMNESS.draw(32), Register())
        drawn = generator.integers(0, 2**64, (self.layout.inputs, 2), dtype=np.uint64)
        self.values = pairs.reduce(drawn, self.layout.input_bits)

    def run(self, cost: PassCost) -> None:
        def work() -> None:
            request = self.owner.request(self.values)
            answer = self.evaluator.reply(request)
            self.owner.open(answer.reply)
            cost.sent += len(request) + len(answer.reply)

        cost.add(self.direction, work)


class SlotProduct:
    """The sigmoid of all rows, ready to run."""

    def __init__(self, engine: LatticeEngine, rows: int) -> None:
        self.engine, self.layout = engine, SlotLayout(sets.SLOTS, rows, 2 * len(HARMONICS))
        key, tested = make_keys(engine, sets.SLOTS, "sigmoid")
        self.owner = SlotOwner(key, 1, self.layout)
        self.evaluator = SlotEvaluator(engine, self.layout, tested, 1, SYSTEM_RANDOMNESS.draw(32), Register())
        self.angles = np.random.default_rng(0).integers(0, 2**32, rows).astype(np.uint32)

    def run(self, cost: PassCost) -> None:
        def work() -> None:
            request = self.owner.request(angles.owner_factors(self.engine, self.angles, HARMONICS))
            factors = angles.evaluator_factors(self.engine, self.angles, HARMONICS, AMPLITUDES)
            answer = self.evaluator.reply(request, factors)
            for share, is_first in ((self.owner.open(answer.reply), True), (answer.share, False)):
                pairs.lift(share, sets.SLOTS.slot_modulus, is_first)
            cost.sent += len(request) + len(answer.reply)

        cost.add("sigmoid", work)


class Pass:
    """All products of one pass between two parties."""

    def __init__(self, engine: LatticeEngine, rows: int, columns: tuple[int, int]) -> None:
        directions: tuple[Direction, ...] = ("scores", "gradients")
        self.products: list[MatrixProduct | SlotProduct] = [
            MatrixProduct(engine, direction, rows, width, number)
            for number, width in enumerate(columns)
            for direction in directions
        ]
        self.products.append(SlotProduct(engine, rows))

    def run(self) -> PassCost:
        cost = PassCost()
        for product in self.products:
            product.run(cost)
        return cost


def make_keys(engine: LatticeEngine, parameters: ParameterSet, kind: str) -> tuple[OwnerKey, TestedKey]:
    """A key on both sides, tested until it passes."""
    key = OwnerKey(
        engine,
        parameters,
        KeyContext(SYSTEM_RANDOMNESS.draw(16), "first", "second", kind, 1),
        SYSTEM_RANDOMNESS.draw(32),
    )
    public = key.public_bytes()
    while True:
        test = KeyTest(engine, parameters, key.context, public, SYSTEM_RANDOMNESS.draw(32))
        proof = KeyProof(key, public, SYSTEM_RANDOMNESS.draw(32))
        nonce = proof.reveal(test.reveal(proof.commit(test.challenge())))
        if nonce is not None:
            return key, test.finish(nonce)


def best_of(prepared: Pass, rounds: int) -> PassCost:
    """The cheapest of some runs: other programs only ever add to a run."""
    return min((prepared.run() for _ in range(rounds)), key=lambda cost: cost.total)


def measure(rounds: int, progress: Callable[[str], None]) -> dict[str, PassCost]:
    """The native engine's passes, by shape; the reference is for reading, not for speed."""
    engine = lattice.choose(threads=1)
    measured: dict[str, PassCost] = {}
    for rows, columns in SHAPES if engine.name != "python" else ():
        name = f"{rows} x ({columns[0]}+{columns[1]})"
        progress(f"lattice {engine.name}: one pass over {name}")
        measured[f"{engine.name}  {name}"] = best_of(Pass(engine, rows, columns), rounds)
    return measured


def lines(measured: dict[str, PassCost]) -> list[str]:
    """For people."""
    found = ["One pass of lattice products, both parties, one thread, CPU seconds:"] if measured else []
    for name, cost in measured.items():
        parts = ", ".join(f"{stage} {seconds:.4f}" for stage, seconds in cost.seconds.items())
        found.append(f"{name:>44}  {cost.total:.4f}  {cost.sent:,} bytes  ({parts})")
    return found
