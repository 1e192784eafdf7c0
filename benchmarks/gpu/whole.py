"""Whole training steps and an epoch with the installed package, on the GPU beside the native engine on two cores."""

import threading
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from plumbob import bench
from plumbob.crypto import Slots, engines
from plumbob.crypto.engines.interface import Engine
from plumbob.crypto.engines.native import NativeEngine, available_paths

ROWS, COLUMNS = 256, 392
Note = Callable[..., None]


def measure(note: Note) -> None:
    step(note)
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
    directions = [bench.Direction(engine, COLUMNS, ROWS) for _ in range(2)]
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
