"""Lattice products beside SEAL, interleaved: `python benchmarks/lattice.py [--large]`.

- the transform of one polynomial of degree 8192 modulo a prime of 50 bits, and one encryption, against SEAL's
- the scores of 27,000 rows and 12 columns from encrypted weights, against SEAL, with whose results ours are compared
  row by row; SEAL's product ends in the clear, ours in shares, with fresh randomness in every reply
- one pass (scores, sigmoid, gradients, both parties) on every path of the kernel
- two threads against one
- with --large, wider and longer data, with the memory that it takes

But for the line about threads, everything runs on one. Times are the best of the rounds. SEAL's worker and our paths
take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

from catalogue import Environment  # noqa: E402  # Found through the line above.
from environments import DidNotInstallError, ensure  # noqa: E402  # Found through the line above.

from plumbob.crypto import SYSTEM_RANDOMNESS, lattice  # noqa: E402  # After what the environment needs.
from plumbob.crypto.lattice import Layout, pairs, sets  # noqa: E402  # As above.
from plumbob.crypto.lattice.interface import RequestKeys  # noqa: E402  # As above.
from plumbob.crypto.lattice.native import NativeLatticeEngine, available_paths  # noqa: E402  # As above.
from plumbob.lab.bench import Pass, Stopwatch, best_of, make_keys  # noqa: E402  # As above.

SEAL = Environment("seal", (("seal-python==4.4.0", "numpy"),), "import seal")
CREDIT = (27_000, (11, 12))
LARGE = ((12_665, (392, 392)), (1_000_000, (20, 20)))
REPEATS = 400
SCORE_BITS, OPENED_BITS = 51, 32


def main() -> None:
    options = parse()
    if options.shape:
        rows, first, second = map(int, options.shape.split(","))
        large(rows, (first, second))
        return
    beside_seal(options.rounds)
    scores_beside_seal(options.rounds)
    passes(options.rounds)
    threads(options.rounds)
    if options.large:
        for rows, columns in LARGE:
            # A process of its own, so that its peak of memory is that of this shape.
            command = [sys.executable, __file__, "--shape", f"{rows},{columns[0]},{columns[1]}"]
            subprocess.run(command, check=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="the best is taken of these")
    parser.add_argument("--large", action="store_true", help="also wide and long data: some minutes")
    parser.add_argument("--shape", default="", help="rows,columns,columns: one pass over this shape only")
    return parser.parse_args()


def beside_seal(rounds: int) -> None:
    """Transform and encryption, in turns."""
    found: dict[str, list[tuple[float, float]]] = {}
    with seal_worker() as ask:
        if ask is None:
            return
        for _ in range(rounds):
            answer = ask({"repeats": REPEATS})
            found.setdefault("SEAL", []).append((answer["transform"], answer["encryption"]))
            for path in available_paths():
                found.setdefault(path, []).append(own_times(NativeLatticeEngine(path, 1)))
    print("degree 8192: transform modulo one prime, encryption modulo three, microseconds, and SEAL's divided by it")
    seal = [min(column) for column in zip(*found["SEAL"], strict=True)]
    for name, times in found.items():
        best = [min(column) for column in zip(*times, strict=True)]
        ratios = ", ".join(f"{1e6 * own:.1f} ({other / own:.1f})" for own, other in zip(best, seal, strict=True))
        print(f"  {name:>12}  {ratios}")


def scores_beside_seal(rounds: int) -> None:
    """Encryption, product with a private matrix, and decryption, in turns; every result is compared."""
    layout = Layout.choose(sets.SCORES_OPENED, "scores", CREDIT[0], CREDIT[1][1], SCORE_BITS, OPENED_BITS)
    generator = np.random.default_rng(2)
    entries = generator.integers(-(2**15), 2**15, (layout.rows, layout.columns))
    weights = generator.integers(0, 2**SCORE_BITS, layout.columns, dtype=np.uint64)
    shape = {"rows": layout.rows, "group": layout.group, "bits": SCORE_BITS}
    product = ScoreProduct(layout, entries, weights)
    times: dict[str, list[float]] = {"SEAL": [], "ours": []}
    with tempfile.TemporaryDirectory() as folder, seal_worker() as ask:
        if ask is None:
            return
        np.savez(Path(folder) / "inputs.npz", entries=entries, weights=weights)
        for _ in range(rounds):
            times["SEAL"].append(ask({"product": folder, **shape})["seconds"])
            times["ours"].append(product.run())
        theirs = np.load(Path(folder) / "outputs.npy")
    # Theirs modulo 2**51, ours the upper 32 of these bits: right to a unit, and to the noise in the dropped ones.
    unit = SCORE_BITS - OPENED_BITS
    difference = ((product.total << np.uint64(unit)) - theirs) << np.uint64(64 - SCORE_BITS)
    agree = int((np.abs(difference.astype(np.int64) / 2.0 ** (64 - OPENED_BITS)) < 1.5).sum())
    best = {name: min(each) for name, each in times.items()}
    print(
        f"scores of {layout.rows} x {layout.columns}: SEAL {1e3 * best['SEAL']:.0f} ms, "
        f"ours {1e3 * best['ours']:.0f} ms, {best['SEAL'] / best['ours']:.1f} times; "
        f"{agree} of {layout.rows} results agree within a unit and a half"
    )


class ScoreProduct:
    """One product, ready to run on one thread."""

    total: np.ndarray

    def __init__(self, layout: Layout, entries: np.ndarray, weights: np.ndarray) -> None:
        engine = NativeLatticeEngine(None, 1)
        key, tested = make_keys(engine, layout.parameters, "scores beside SEAL")
        self.owner = lattice.Owner(key, 1, layout)
        matrix = lattice.PrivateMatrix(engine, layout, entries)
        self.evaluator = lattice.Evaluator(matrix, tested, 1, SYSTEM_RANDOMNESS.draw(32), lattice.Register())
        self.values = np.stack([weights, np.zeros_like(weights)], axis=1)

    def run(self) -> float:
        start = time.process_time()
        answer = self.evaluator.reply(self.owner.request(self.values))
        self.total = self.owner.open(answer.reply)[:, 0] + answer.share[:, 0]
        return time.process_time() - start


Ask = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def seal_worker() -> Iterator[Ask | None]:
    """Asks a process that has SEAL; None where it does not install."""
    try:
        python = ensure(SEAL, ROOT / ".bench")
    except DidNotInstallError as reason:
        print(f"SEAL did not install: {reason}")
        yield None
        return
    script = ROOT / "benchmarks" / "peers" / "workers" / "seal_worker.py"
    worker = subprocess.Popen(
        [str(python), str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )

    def ask(question: dict[str, Any]) -> dict[str, Any]:
        assert worker.stdin
        assert worker.stdout
        worker.stdin.write(json.dumps(question) + "\n")
        worker.stdin.flush()
        answer: dict[str, Any] = json.loads(worker.stdout.readline())
        return answer

    yield ask
    assert worker.stdin
    worker.stdin.close()
    worker.wait()


def own_times(engine: NativeLatticeEngine) -> tuple[float, float]:
    """Of one transform, and of one encryption of a polynomial."""
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


def passes(rounds: int) -> None:
    """One pass on every path, in turns."""
    rows, columns = CREDIT
    prepared = {path: Pass(NativeLatticeEngine(path, 1), rows, columns) for path in available_paths()}
    costs: dict[str, list[Stopwatch]] = {path: [] for path in prepared}
    for _ in range(rounds):
        for path, each in prepared.items():
            costs[path].append(each.run())
    print(f"one pass over {rows} x ({columns[0]}+{columns[1]}), both parties, CPU milliseconds and megabytes")
    for path, runs in costs.items():
        best = min(runs, key=lambda cost: cost.total)
        stages = ", ".join(f"{stage} {1e3 * seconds:.1f}" for stage, seconds in best.seconds.items())
        print(f"  {path:>12}  {1e3 * best.total:.1f}  {best.sent / 1e6:.1f} MB  ({stages})")


def threads(rounds: int) -> None:
    """Wall seconds of a pass on one and on two threads, in turns."""
    rows, columns = CREDIT
    both = {count: Pass(lattice.choose(threads=count), rows, columns) for count in (1, 2)}
    seconds = {1: float("inf"), 2: float("inf")}
    for _ in range(2 * rounds):
        for count, each in both.items():
            start = time.perf_counter()
            each.run()
            seconds[count] = min(seconds[count], time.perf_counter() - start)
    print(
        f"two threads: {1e3 * seconds[2]:.1f} ms instead of {1e3 * seconds[1]:.1f}, {seconds[1] / seconds[2]:.2f} times"
    )


def large(rows: int, columns: tuple[int, int]) -> None:
    """One shape, with the peak of memory."""
    best = best_of(Pass(lattice.choose(threads=1), rows, columns), 2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{rows} x ({columns[0]}+{columns[1]}): {1e3 * best.total:.0f} CPU ms, {best.sent / 1e6:.1f} MB, "
          f"peak memory of both parties {peak / 1e9:.2f} GB", flush=True)  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
