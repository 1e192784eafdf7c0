"""Lattice products on every path of the kernel: `python -m benchmarks.lattice [--rounds 5] [--shape 12665,392,392]`.

- the transform of one polynomial of degree 8192 modulo a prime of 50 bits, and one encryption modulo three primes
- one pass of `shares` (scores, sigmoid and gradients, both parties) over credit's shape and a wide one

Everything runs on one thread. Times are the best of the rounds, because other programs only ever add to a run, and the
paths take turns. Matrices are transformed, and keys are made and tested, before the clock starts.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from plumbob.crypto import SYSTEM_RANDOMNESS
from plumbob.crypto.lattice import (
    KeyContext,
    KeyProof,
    KeyTest,
    Layout,
    OwnerKey,
    ParameterSet,
    PrivateMatrix,
    Register,
    SlotFactors,
    SlotLayout,
    TestedKey,
    angles,
    answer_request,
    make_request,
    open_reply,
    pairs,
    sets,
)
from plumbob.crypto.lattice.interface import RequestKeys
from plumbob.crypto.lattice.kernel import Engine, available_paths
from plumbob.crypto.lattice.layout import Direction

SHAPES = ("27000,11,12", "12665,392,392")
REPEATS = 400
HARMONICS = tuple(range(1, 16, 2))
AMPLITUDES = tuple(1 / harmonic for harmonic in HARMONICS)
BITS: dict[Direction, tuple[int, int]] = {"scores": (51, 32), "gradients": (104, 88)}
SETS: dict[Direction, ParameterSet] = {"scores": sets.SCORES, "gradients": sets.GRADIENTS}
DIRECTIONS: tuple[Direction, ...] = ("scores", "gradients")


@dataclass
class Cost:
    """CPU seconds per stage, and the bytes in both directions."""

    seconds: dict[str, float] = field(default_factory=dict)
    sent: int = 0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds what the block takes."""
        started = time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - started

    @property
    def total(self) -> float:
        """Of all stages."""
        return sum(self.seconds.values())


def main(words: Sequence[str]) -> None:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description="lattice products on every path of the kernel")
    parser.add_argument("--rounds", type=int, default=5, help="the best is taken of these")
    parser.add_argument("--shape", action="append", help="rows,columns,columns of one pass; may be repeated")
    options = parser.parse_args(words)
    engines = {path: Engine(path, 1) for path in available_paths()}
    print_operations(engines)
    print_passes(engines, options.shape or SHAPES, options.rounds)


def print_operations(engines: dict[str, Engine]) -> None:
    """One transform and one encryption of a polynomial, on each path."""
    print("| degree 8192 | transform, one prime of 50 bits | encryption, three primes |\n|---|---|---|")
    for path, engine in engines.items():
        transform, encryption = seconds_of(engine)
        print(f"| {path} | {1e6 * transform:.1f} us | {1e6 * encryption:.0f} us |", flush=True)


def seconds_of(engine: Engine) -> tuple[float, float]:
    """The least of many: a transform, and an encryption."""
    one = sets.insecure_for_tests(8192, 1)
    values = np.random.default_rng(0).integers(0, one.primes[0], (1, 8192), dtype=np.uint64)
    transform = encryption = float("inf")
    secret, uniform, errors = (SYSTEM_RANDOMNESS.draw(32) for _ in range(3))
    keys = RequestKeys(engine.secret(sets.GRADIENTS, secret), uniform, errors)
    messages = pairs.reduce(np.random.default_rng(1).integers(0, 2**64, (1, 8192, 2), dtype=np.uint64), 104)
    for _ in range(REPEATS):
        start = time.perf_counter()
        engine.repeat_transform(one, values, 8)
        middle = time.perf_counter()
        engine.encrypt(sets.GRADIENTS, keys, messages, 104, b"")
        transform, encryption = min(transform, (middle - start) / 8), min(encryption, time.perf_counter() - middle)
    return transform, encryption


def print_passes(engines: dict[str, Engine], shapes: Sequence[str], rounds: int) -> None:
    """One pass of each shape on each path, in turns."""
    print("\n| one pass, both parties: scores, sigmoid, gradients | CPU ms | MB | stages, ms |\n|---|---|---|---|")
    for shape in shapes:
        rows, *columns = map(int, shape.split(","))
        prepared = {path: Pass(engine, rows, columns) for path, engine in engines.items()}
        costs: dict[str, list[Cost]] = {path: [] for path in prepared}
        for _ in range(rounds):
            for path, each in prepared.items():
                costs[path].append(each.run())
        for path, runs in costs.items():
            best = min(runs, key=lambda cost: cost.total)
            stages = ", ".join(f"{stage} {1e3 * seconds:.1f}" for stage, seconds in best.seconds.items())
            name = f"{rows:,} x ({'+'.join(map(str, columns))}), {path}"
            print(f"| {name} | {1e3 * best.total:.0f} | {best.sent / 1e6:.1f} | {stages} |", flush=True)


class Pass:
    """All products of one pass between two parties, ready to run."""

    def __init__(self, engine: Engine, rows: int, columns: Sequence[int]) -> None:
        self.products: list[MatrixProduct | SlotProduct] = [
            MatrixProduct(engine, direction, rows, width, number)
            for number, width in enumerate(columns)
            for direction in DIRECTIONS
        ]
        self.products.append(SlotProduct(engine, rows))

    def run(self) -> Cost:
        """What it took."""
        cost = Cost()
        for product in self.products:
            product.run(cost)
        return cost


class MatrixProduct:
    """One direction for one party's columns."""

    def __init__(self, engine: Engine, direction: Direction, rows: int, columns: int, number: int) -> None:
        generator = np.random.default_rng(number)
        parameters, self.direction = SETS[direction], direction
        self.layout = Layout.choose(parameters, direction, rows, columns, *BITS[direction])
        self.matrix = PrivateMatrix(engine, self.layout, generator.integers(-(2**15), 2**15, (rows, columns)))
        self.key, self.tested = make_keys(engine, parameters, f"{direction} {number}")
        self.answering_key, self.register = SYSTEM_RANDOMNESS.draw(32), Register()
        drawn = generator.integers(0, 2**64, (self.layout.inputs, 2), dtype=np.uint64)
        self.values = pairs.reduce(drawn, self.layout.input_bits)

    def run(self, cost: Cost) -> None:
        """Request, reply, opening."""
        with cost.stage(self.direction):
            request = make_request(self.key, 1, self.layout, self.values)
            answer = answer_request(self.matrix, self.tested, 1, request, self.answering_key, self.register)
            open_reply(self.key, self.layout, answer.reply)
        cost.sent += len(request) + len(answer.reply)


class SlotProduct:
    """The sigmoid of all rows."""

    def __init__(self, engine: Engine, rows: int) -> None:
        self.engine, self.layout = engine, SlotLayout(sets.SLOTS, rows, 2 * len(HARMONICS))
        self.key, self.tested = make_keys(engine, sets.SLOTS, "sigmoid")
        self.answering_key, self.register = SYSTEM_RANDOMNESS.draw(32), Register()
        self.angles = np.random.default_rng(0).integers(0, 2**32, rows).astype(np.uint32)

    def run(self, cost: Cost) -> None:
        """Request, reply, opening, and both sides' shares in the larger modulus."""
        with cost.stage("sigmoid"):
            values = angles.owner_factors(self.engine, self.angles, HARMONICS)
            request = make_request(self.key, 1, self.layout, values)
            own = angles.evaluator_factors(self.engine, self.angles, HARMONICS, AMPLITUDES)
            factors = SlotFactors(self.engine, self.layout, own)
            answer = answer_request(factors, self.tested, 1, request, self.answering_key, self.register)
            for share, is_first in ((open_reply(self.key, self.layout, answer.reply), True), (answer.share, False)):
                pairs.lift(share, sets.SLOTS.slot_modulus, is_first)
        cost.sent += len(request) + len(answer.reply)


def make_keys(engine: Engine, parameters: ParameterSet, kind: str) -> tuple[OwnerKey, TestedKey]:
    """A key on both sides, tested until it passes."""
    context = KeyContext(SYSTEM_RANDOMNESS.draw(16), "first", "second", kind, 1)
    key = OwnerKey(engine, parameters, context, SYSTEM_RANDOMNESS.draw(32))
    public = key.public
    while True:
        test = KeyTest(engine, parameters, key.context, public, SYSTEM_RANDOMNESS.draw(32))
        proof = KeyProof(key, public, SYSTEM_RANDOMNESS.draw(32))
        nonce = proof.reveal(test.reveal(proof.commit(test.challenge())))
        if nonce is not None:
            return key, test.finish(nonce)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(sys.argv[1:])
