"""Whole training steps and an epoch with the installed package, on the GPU beside the native engine on two cores."""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from plumbob.crypto import Slots, engines
from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.engines.native import NativeEngine, available_paths
from plumbob.workshop import bench

ROWS, COLUMNS = 256, 392
Note = Callable[..., None]


def measure(note: Note) -> None:
    step(note)
    step_apart(note)
    epoch(note)


def step(note: Note) -> None:
    """Both directions of Protocol 1, one thread each, as two parties in one process have them."""
    native = {path: median(both(NativeEngine(path, threads=1), 7)) for path in available_paths() if path != "portable"}
    for path, seconds in native.items():
        name = f"one step, both directions, native engine ({path}) on two cores, full replies"
        note(name, 1e3 * seconds, "ms", rows=ROWS, columns=COLUMNS)
    best = min(native.values())
    cuda = engines.choose("cuda")
    layouts = {"full replies": 0, "8 slots a reply": 8, "4 slots a reply": 4, "1 slot a reply": 1}
    for name, most in layouts.items():
        seconds = median(both(cuda, 25, partial(Slots.packed, most=most)))
        note(f"one step, both directions, cuda, {name}", 1e3 * seconds, "ms", rows=ROWS, columns=COLUMNS)
        note(f"times faster than the fastest native, cuda with {name}", best / seconds, "x")


def both(engine: Engine, rounds: int, layout: Any = Slots.packed) -> list[float]:
    """Seconds of each round; one round to warm up comes before. What comes out is checked against plain integers."""
    directions = [bench.ExchangeDirection(engine, COLUMNS, ROWS) for _ in range(2)]
    for direction in directions:
        direction.slots = layout(direction.key.public, COLUMNS, direction.slots.slot_bits)
    start, end = threading.Barrier(3), threading.Barrier(3)
    sums: dict[int, list[int]] = {}

    def work(index: int) -> None:
        for _ in range(rounds + 1):
            start.wait()
            sums[index] = directions[index].run(bench.Stopwatch())
            end.wait()

    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(2)]
    for thread in threads:
        thread.start()
    times = []
    for _ in range(rounds + 1):
        start.wait()
        began = time.perf_counter()
        end.wait()
        times.append(time.perf_counter() - began)
    for index, direction in enumerate(directions):
        assert sums[index] == (direction.residuals.values @ direction.features.values).tolist()
    return times[1:]


def step_apart(note: Note) -> None:
    """The same in a process for each direction, as parties of their own have them; native and cuda in turns. Kernels of
    two processes run beside each other only where NVIDIA's MPS is at work (`nvidia-cuda-mps-control -d`); otherwise the
    GPU takes turns.
    """
    sharing = "with MPS" if has_mps() else "without MPS"
    layouts = {"full replies": 0, "8 slots a reply": 8, "4 slots a reply": 4}
    native: list[float] = []
    cuda: dict[str, list[float]] = {name: [] for name in layouts}
    for _ in range(2):
        native += both_apart("native", 0, 4)
        for name, most in layouts.items():
            cuda[name] += both_apart("cuda", most, 25)
    note("one step, a process for each direction, native engine on two cores, full replies", 1e3 * median(native), "ms")
    for name, seconds in cuda.items():
        note(f"one step, a process for each direction, cuda {sharing}, {name}", 1e3 * median(seconds), "ms")
        ratio = median(native) / median(seconds)
        note(f"times faster than native, a process each, cuda {sharing}, {name}", ratio, "x")


def has_mps() -> bool:
    """Where its control program listens."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")  # noqa: S108  # The place that MPS chose.
    return (Path(folder) / "control").exists()


def both_apart(engine: str, most: int, rounds: int) -> list[float]:
    """Seconds of each round, from the first start to the last end."""
    context = multiprocessing.get_context("spawn")
    barrier, told = context.Barrier(2), context.Queue()
    arguments = (engine, most, rounds, barrier, told)
    processes = [context.Process(target=one_apart, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    ends = [told.get(timeout=300) for _ in range(2 * rounds)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    of_round = [[(start, end) for number, start, end in ends if number == round_] for round_ in range(rounds)]
    return [max(end for _, end in pair) - min(start for start, _ in pair) for pair in of_round]


def one_apart(engine: str, most: int, rounds: int, barrier: Any, told: Any) -> None:
    direction = bench.ExchangeDirection(engines.choose(engine, threads=1), COLUMNS, ROWS)
    direction.slots = Slots.packed(direction.key.public, COLUMNS, direction.slots.slot_bits, most)
    expected = (direction.residuals.values @ direction.features.values).tolist()
    direction.run(bench.Stopwatch())
    for number in range(rounds):
        barrier.wait()
        start = time.perf_counter()
        sums = direction.run(bench.Stopwatch())
        told.put((number, start, time.perf_counter()))
        assert sums == expected


def epoch(note: Note) -> None:
    """One epoch of data shaped like mnist-01, 12,665 rows and 392 + 392 columns, trained by the estimator."""
    from plumbob import VerticalLogisticRegression

    generator = np.random.default_rng(0)
    X = generator.uniform(size=(12_665, 2 * COLUMNS))
    y = (X @ generator.normal(size=2 * COLUMNS) > 0).astype(int)
    fitted = {}
    for protocol, engine in (("clear", "auto"), ("exchange", "native"), ("exchange", "cuda")):
        model = VerticalLogisticRegression(
            split=(COLUMNS, COLUMNS), protocol=protocol, engine=engine, epochs=1, random_state=1, n_jobs=2, record=False
        )
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        fitted[engine] = np.append(model.coef_, model.intercept_)
        if protocol == "clear":
            continue
        difference = float(np.abs(fitted[engine] - fitted["auto"]).max())
        assert difference < 1e-3, difference
        name = f"one epoch shaped like mnist-01, exchange, {engine}, keys and tables included"
        note(name, seconds, "s", largest_difference_from_clear=difference)
