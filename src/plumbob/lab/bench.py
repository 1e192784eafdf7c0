"""Times the cryptography of one training iteration with the engines that are installed here.

An iteration of `exchange` is both directions of Protocol 1 for one batch: encrypt the residuals, multiply them with the
features, pack, mask, randomise, decrypt. Tables made once per key are not counted; tables that depend on the batch are.
A pass of `shares` is scores, sigmoid and gradients for both parties, on one thread: matrices are transformed, and keys
are made and tested, before the clock starts. CPU seconds are counted, because a pass is short and other programs run
too.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from plumbob import __version__, crypto
from plumbob.crypto import SYSTEM_RANDOMNESS, Encoding, Slots, engines, lattice, profiles
from plumbob.crypto.engines.interface import Engine
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
class Stopwatch:
    """Seconds per named stage, added up, the processor's seconds of all of them, and bytes in both directions."""

    clock: Callable[[], float] = time.perf_counter
    seconds: dict[str, float] = field(default_factory=dict)
    processor: float = 0.0
    sent: int = 0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start, worked = self.clock(), time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + self.clock() - start
        self.processor += time.process_time() - worked

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


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

    def run(self, cost: Stopwatch) -> None:
        with cost.stage(self.direction):
            request = self.owner.request(self.values)
            answer = self.evaluator.reply(request)
            self.owner.open(answer.reply)
        cost.sent += len(request) + len(answer.reply)


class SlotProduct:
    """The sigmoid of all rows, ready to run."""

    def __init__(self, engine: LatticeEngine, rows: int) -> None:
        self.engine, self.layout = engine, SlotLayout(sets.SLOTS, rows, 2 * len(HARMONICS))
        key, tested = make_keys(engine, sets.SLOTS, "sigmoid")
        self.owner = SlotOwner(key, 1, self.layout)
        self.evaluator = SlotEvaluator(engine, self.layout, tested, 1, SYSTEM_RANDOMNESS.draw(32), Register())
        self.angles = np.random.default_rng(0).integers(0, 2**32, rows).astype(np.uint32)

    def run(self, cost: Stopwatch) -> None:
        with cost.stage("sigmoid"):
            request = self.owner.request(angles.owner_factors(self.engine, self.angles, HARMONICS))
            factors = angles.evaluator_factors(self.engine, self.angles, HARMONICS, AMPLITUDES)
            answer = self.evaluator.reply(request, factors)
            for share, is_first in ((self.owner.open(answer.reply), True), (answer.share, False)):
                pairs.lift(share, sets.SLOTS.slot_modulus, is_first)
        cost.sent += len(request) + len(answer.reply)


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

    def run(self) -> Stopwatch:
        cost = Stopwatch(time.process_time)
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


def best_of(prepared: Pass, rounds: int) -> Stopwatch:
    """The cheapest of some runs: other programs only ever add to a run."""
    return min((prepared.run() for _ in range(rounds)), key=lambda cost: cost.total)


def measure(rounds: int, progress: Callable[[str], None]) -> dict[str, Stopwatch]:
    """The native engine's passes, by shape; the reference is for reading, not for speed."""
    engine = lattice.choose(threads=1)
    measured: dict[str, Stopwatch] = {}
    for rows, columns in SHAPES if engine.name != "python" else ():
        name = f"{rows} x ({columns[0]}+{columns[1]})"
        progress(f"lattice {engine.name}: one pass over {name}")
        measured[f"{engine.name}  {name}"] = best_of(Pass(engine, rows, columns), rounds)
    return measured


def lines(measured: dict[str, Stopwatch]) -> list[str]:
    """The measurements as they are printed."""
    found = ["One pass of lattice products, both parties, one thread, CPU seconds:"] if measured else []
    for name, cost in measured.items():
        parts = ", ".join(f"{stage} {seconds:.4f}" for stage, seconds in cost.seconds.items())
        found.append(f"{name:>44}  {cost.total:.4f}  {cost.sent:,} bytes  ({parts})")
    return found


FEATURES = Encoding(fraction_bits=16, integer_bits=2)
RESIDUALS = Encoding(fraction_bits=20, integer_bits=4)
ROWS = 256
COLUMNS = (392, 12)
PROCESSOR = "processor"  # Seconds of all cores together; on a busy machine they say more than the clock.


class ExchangeDirection:
    """One helper with its key and residuals, one learner with its features."""

    def __init__(self, engine: Engine, columns: int) -> None:
        generator = np.random.default_rng(0)
        self.key = crypto.paillier.generate(profiles.STANDARD, engine)
        self.residuals = RESIDUALS.encode(generator.uniform(-2.5, 2.5, ROWS))
        self.features = FEATURES.encode(np.clip(generator.normal(size=(ROWS, columns)), -3.99, 3.99))
        self.slots = Slots.packed(self.key.public, columns, crypto.sum_bits(ROWS, FEATURES, RESIDUALS))
        self.key.encrypt([0])
        self.key.public.randomisers(1)

    def run(self, watch: Stopwatch) -> list[int]:
        """One direction of one iteration; returns what the learner ends with."""
        public, slots = self.key.public, self.slots
        with watch.stage("encrypt"):
            sent = self.key.encrypt(self.residuals)
        with watch.stage("product"):
            sums = sent @ self.features
        with watch.stage("pack"):
            packed = slots.pack(sums)
        with watch.stage("mask and randomise"):
            mask = public.random_mask(len(packed), slots.masked_bits)
            reply = (packed + mask).randomised()
        with watch.stage("decrypt"):
            opened = slots.truncate(self.key.decrypt(reply))
        return slots.unpack(opened, mask)


def iteration_seconds(direction: ExchangeDirection, rounds: int) -> dict[str, float]:
    """Medians over rounds of both directions: seconds by stage, the `total`, and the processor's seconds."""
    watches = []
    for _ in range(rounds):
        watches.append(Stopwatch())
        direction.run(watches[-1])
        direction.run(watches[-1])
    stages = {name: median(watch.seconds[name] for watch in watches) for name in watches[0].seconds}
    processor = median(watch.processor for watch in watches)
    return stages | {"total": median(watch.total for watch in watches), PROCESSOR: processor}


def run(quick: bool, progress: Callable[[str], None]) -> dict[str, object]:
    """Time every installed engine; the fastest is reported as `engine`."""
    rounds = 1 if quick else 5
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for engine in _installed_engines():
        for columns in COLUMNS:
            progress(f"{engine.name}: {ROWS} rows, {columns} columns, 2048 bits")
            direction = ExchangeDirection(engine, columns)
            measured.setdefault(engine.name, {})[str(columns)] = iteration_seconds(direction, rounds)
    passes = measure(rounds, progress)
    best = min(measured, key=lambda name: measured[name]["392"]["total"])
    totals = {columns: stages["total"] for columns, stages in measured[best].items()}
    # The kernel's name tells its instruction set too; scripts ask for the engine as a plan names it.
    return {
        "engine": best.partition("-")[0],
        "iteration_s": totals,
        "engines": measured,
        "lattice_pass_s": {name: cost.total for name, cost in passes.items()},
        "rounds": rounds,
        "rows": ROWS,
        "key_bits": profiles.STANDARD.key_bits,
        "plumbob": __version__,
        "machine": machine(),
        "lines": [*_lines(measured), *lines(passes)],
    }


def machine() -> dict[str, object]:
    """The machine that was measured: numbers compare with each other and with nothing else."""
    return {
        "processor": _processor(),
        "cores": engines.cores(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _installed_engines() -> list[Engine]:
    usable = {"native": engines.native_is_built(), "python": True}
    return [engines.choose(name) for name, is_usable in usable.items() if is_usable]


def _lines(measured: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    widths = f"features {FEATURES.bits} bits, residuals {RESIDUALS.bits} bits"
    lines = [f"One iteration, both directions, {ROWS} rows, 2048-bit Paillier, {widths}, in seconds:"]
    for name, by_columns in measured.items():
        for columns, stages in by_columns.items():
            parts = ", ".join(
                f"{stage} {seconds:.4f}" for stage, seconds in stages.items() if stage not in {"total", PROCESSOR}
            )
            lines.append(f"{name:>28}  {columns:>3} columns  {stages['total']:.4f}  ({parts})")
    return lines
