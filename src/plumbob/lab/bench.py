"""How long one training iteration's cryptography takes with the engines that are installed here.

An iteration is both directions of Protocol 1 for one batch: encrypt the residuals, multiply them with the features,
pack, mask, randomise, decrypt. Tables made once per key are not counted; tables that depend on the batch are.
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
from plumbob.crypto import Encoding, Slots, engines, profiles
from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.profiles import Profile
from plumbob.lab import bench_lattice

FEATURES = Encoding(fraction_bits=16, integer_bits=2)
RESIDUALS = Encoding(fraction_bits=20, integer_bits=4)
ROWS = 256
COLUMNS = (392, 12)
PROCESSOR = "processor"  # Seconds of all cores together; on a busy machine they say more than the clock.


@dataclass
class Stopwatch:
    """Seconds per named stage, added up, and the processor's seconds of all of them."""

    seconds: dict[str, float] = field(default_factory=dict)
    processor: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start, worked = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        self.processor += time.process_time() - worked

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


class ExchangeDirection:
    """One helper with its key and residuals, one learner with its features."""

    def __init__(
        self,
        engine: Engine,
        columns: int,
        rows: int = ROWS,
        profile: Profile = profiles.STANDARD,
    ) -> None:
        generator = np.random.default_rng(0)
        self.key = crypto.paillier.generate(profile, engine)
        self.residuals = RESIDUALS.encode(generator.uniform(-2.5, 2.5, rows))
        self.features = FEATURES.encode(np.clip(generator.normal(size=(rows, columns)), -3.99, 3.99))
        self.slots = Slots.packed(self.key.public, columns, crypto.sum_bits(rows, FEATURES, RESIDUALS))
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
    """Medians over rounds of both directions, by stage, in `total`, and what the processor worked of it."""
    watches = []
    for _ in range(rounds):
        watches.append(Stopwatch())
        direction.run(watches[-1])
        direction.run(watches[-1])
    stages = {name: median(watch.seconds[name] for watch in watches) for name in watches[0].seconds}
    processor = median(watch.processor for watch in watches)
    return stages | {"total": median(watch.total for watch in watches), PROCESSOR: processor}


def run(quick: bool, progress: Callable[[str], None]) -> dict[str, object]:
    """Every installed engine; the fastest is the one reported as `engine`."""
    rounds = 1 if quick else 5
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for engine in _installed_engines():
        for columns in COLUMNS:
            progress(f"{engine.name}: {ROWS} rows, {columns} columns, 2048 bits")
            direction = ExchangeDirection(engine, columns)
            measured.setdefault(engine.name, {})[str(columns)] = iteration_seconds(direction, rounds)
    passes = bench_lattice.measure(rounds, progress)
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
        "lines": [*_lines(measured), *bench_lattice.lines(passes)],
    }


def machine() -> dict[str, object]:
    """What the numbers were measured on: they compare with each other and with nothing else."""
    return {
        "processor": _processor(),
        "cores": engines.cores(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _processor() -> str:
    """Its name, where the system tells."""
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
