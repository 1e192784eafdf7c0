"""Whole training runs: time, the share of it outside cryptography, traffic, distance from `clear`, peak memory.

    python benchmarks/training.py credit --epochs 10        # 27,000 rows, 11 + 12 columns, batch 256, 2048 bits
    python benchmarks/training.py mnist-01 --epochs 1       # 12,665 rows, 392 + 392 columns
    python benchmarks/training.py memory                    # batch 4096, 200 columns a party

Prints one JSON object. Seconds are this machine's; compare ratios only.
"""

import argparse
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from plumbob import datasets
from plumbob.crypto import Encoding, paillier
from plumbob.crypto.packing import Slots
from plumbob.data import Batch, split_array
from plumbob.lab.audit.again import in_clear
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan
from plumbob.protocol.paillier import primitive


class CryptographyClock(threading.local):
    """Processor seconds that this thread spent inside the crypto package, calls within calls counted once."""

    def __init__(self) -> None:
        self.depth = 0
        self.started = 0.0


CLOCK = CryptographyClock()
INSIDE: list[float] = []


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, its outermost calls timed."""

    def wrapper(*arguments: Any, **named: Any) -> Any:
        if CLOCK.depth == 0:
            CLOCK.started = time.thread_time()
        CLOCK.depth += 1
        try:
            return function(*arguments, **named)
        finally:
            CLOCK.depth -= 1
            if CLOCK.depth == 0:
                INSIDE.append(time.thread_time() - CLOCK.started)

    return wrapper


@contextmanager
def cryptography_timed() -> Iterator[None]:
    """Within: every way into the crypto package that a training step uses is timed."""
    ways = [
        (paillier.EncryptedVector, ("__add__", "__matmul__", "randomised")),
        (paillier.PrivateKey, ("encrypt", "decrypt")),
        (paillier.PublicKey, ("encrypt",)),
        (Slots, ("pack", "unpack", "truncate", "to_bytes", "from_bytes")),
        (Encoding, ("encode",)),
        (primitive, ("admit",)),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, names in ways for name in names]
    for owner, name, function in originals:
        setattr(owner, name, timed(function))
    try:
        yield
    finally:
        for owner, name, function in originals:
            setattr(owner, name, function)


def show_progress(batch: Batch, steps: int) -> None:
    """A line now and then on standard error."""
    if batch.step % 50 == 0 or batch.step == steps:
        print(f"step {batch.step} of {steps}", file=sys.stderr)


def run_dataset(name: str, features: tuple[int, int], epochs: int, protocol: str) -> dict[str, Any]:
    """One data set through one protocol, beside `clear` with the same seed."""
    X, y = datasets.load(name)
    plan = Plan.for_columns(features, protocol=protocol, epochs=epochs, seed=1, **_settings(name))
    tables = dict(zip((party.name for party in plan.learners), split_array(X, y, features), strict=True))
    processor = time.process_time()
    with cryptography_timed():
        run = train(plan, tables, progress=show_progress)
    processor = time.process_time() - processor
    clear = train(in_clear(plan), tables)
    return {
        "data": name,
        "protocol": protocol,
        "engine": run.record.engine,
        "rows": run.record.rows,
        "columns": features,
        "epochs": epochs,
        "steps": run.record.steps,
        "seconds": round(run.record.seconds, 1),
        "seconds_per_step": round(run.record.seconds / run.record.steps, 4),
        "share_outside_cryptography": round(1 - sum(INSIDE) / processor, 4),
        "megabytes_sent": [round(party.bytes_sent / 1e6, 1) for party in run.record.parties],
        "largest_difference_from_clear": largest_difference(run, clear),
        "peak_mebibytes": peak_mebibytes(),
    }


def _settings(name: str) -> dict[str, Any]:
    # MNIST's pixels are within [0, 1] as they are.
    return {"scale": "none"} if name == "mnist-01" else {}


def largest_difference(run: Run, other: Run) -> float:
    """Between two runs' weights."""
    return max(
        float(np.abs(part.weights - twin.weights).max())
        for name, part in run.model.parts.items()
        if (twin := other.model.parts[name]).weights is not None and part.weights is not None and part.weights.size
    )


def run_memory() -> dict[str, Any]:
    """Peak above the idle process and the data, both parties in this process, batch 4096, 200 columns each."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(8192, 400))
    y = generator.integers(0, 2, 8192)
    plan = Plan.for_columns((200, 200), protocol="exchange", batch_size=4096, epochs=1, seed=1)
    tables = dict(zip((party.name for party in plan.learners), split_array(X, y, (200, 200)), strict=True))
    idle = peak_mebibytes()
    run = train(plan, tables, progress=show_progress)
    return {
        "rows": 4096,
        "columns": [200, 200],
        "steps": run.record.steps,
        "seconds": round(run.record.seconds, 1),
        "mebibytes_above_idle_and_data_two_parties": peak_mebibytes() - idle,
    }


def peak_mebibytes() -> int:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("credit", "mnist-01", "memory"))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--protocol", default="exchange", choices=("exchange", "shares"))
    chosen = parser.parse_args()
    features = {"credit": (11, 12), "mnist-01": (392, 392)}
    if chosen.what == "memory":
        result = run_memory()
    else:
        result = run_dataset(chosen.what, features[chosen.what], chosen.epochs, chosen.protocol)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
