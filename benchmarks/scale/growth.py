"""How the cost of a step of `exchange` grows with rows, columns, key bits and parties.

    python benchmarks/scale/growth.py [--engine native] [--steps 2] [--output FILE]

Prints tables and fitted exponents, and writes JSON. Every point is a run of its own process: all parties on one thread
each, made-up data, processor seconds of the whole process between the first step and the last, so that others at work
on the machine disturb little. Keys and tables, made once in a run, are counted apart. The exponent is the slope of a
straight line through the logarithms: 1 is linear. `parts` gives the single operations of the same shapes, from which
anything else can be calculated.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

USUAL = {"rows": 256, "columns": 32, "key_bits": 2048, "parties": 2}
SWEEPS: dict[str, tuple[int, ...]] = {
    "rows": (64, 256, 1024, 4096, 8192),
    "columns": (8, 32, 128, 512, 2048),
    "key_bits": (2048, 3072),
    "parties": (2, 3, 4, 8),
}
COSTS = ("step_s", "setup_s", "memory_mib", "sent_kib")
NAMES = {
    "step_s": "seconds of a step, all parties",
    "setup_s": "of keys and tables, all parties",
    "memory_mib": "MiB at the peak beyond the libraries, all parties",
    "sent_kib": "KiB sent in a step, all parties",
}
Point = dict[str, float]


def main() -> None:
    """Measure one point if asked, else all of them."""
    options = parse()
    if options.point is not None:
        shape = json.loads(options.point)
        print(json.dumps(measured(shape, options.engine, options.steps)))
        return
    points: dict[str, list[Point]] = {}
    for name, values in SWEEPS.items():
        points[name] = [one_point({**USUAL, name: value}, options) for value in values]
        print(markdown(name, points[name]), flush=True)
    parts = operations(options.engine)
    print("\n".join(f"{name}: {seconds * 1e6:.1f} µs" for name, seconds in parts.items()))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    result = {"engine": options.engine, "points": points, "exponents": exponents(points), "parts": parts}
    options.output.write_text(json.dumps(result, indent=1) + "\n")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="cost of a step against rows, columns, key bits and parties")
    parser.add_argument("--engine", default="native")
    parser.add_argument("--steps", type=int, default=2, help="steps that are timed, after a first one")
    parser.add_argument("--point", default=None, help="one point as JSON, measured in this process")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent.parent / "results" / "scale.json")
    return parser.parse_args()


def one_point(shape: dict[str, int], options: argparse.Namespace) -> Point:
    """In a process of its own, because memory is counted at its peak."""
    command = [sys.executable, __file__, "--engine", options.engine, "--steps", str(options.steps)]
    done = subprocess.run([*command, "--point", json.dumps(shape)], check=True, capture_output=True, text=True)
    point: Point = json.loads(done.stdout)
    return point


def measured(shape: dict[str, int], engine: str, steps: int) -> Point:
    """A run of some steps; the first is not counted, because it makes what is made on first use."""
    from plumbob.data import split_array
    from plumbob.lab.simulate import train
    from plumbob.plan import Plan

    columns = [shape["columns"]] * shape["parties"]
    plan = Plan.for_columns(
        columns,
        protocol="exchange",
        batch_size=shape["rows"],
        epochs=1,
        key_bits=shape["key_bits"],
        intercept=False,
        seed=1,
        learning_rate=0.001,
    )
    generator = np.random.default_rng(0)
    X = generator.normal(size=(shape["rows"] * (steps + 1), sum(columns)))
    tables = dict(zip((party.name for party in plan.learners), split_array(X, X[:, 0] > 0, columns), strict=True))
    idle = peak_mib()
    marks: list[float] = [time.process_time()]
    run = train(plan, tables, engine=engine, jobs=1, progress=lambda batch, _: marks.append(time.process_time()))
    sent = sum(party.bytes_sent for party in run.record.parties)
    step = (marks[-1] - marks[1]) / steps
    setup = marks[1] - marks[0] - step
    return {
        **shape,
        "step_s": step,
        "setup_s": setup,
        "memory_mib": peak_mib() - idle,
        "sent_kib": sent / 1024 / (steps + 1),
    }


def peak_mib() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def operations(engine: str) -> dict[str, float]:
    """Processor seconds of single operations, 2048 bits; an entry is one number of a matrix of 32 columns."""
    from plumbob.crypto import Encoding, admit, engines, paillier, profiles

    generator, rows, columns = np.random.default_rng(0), 1024, USUAL["columns"]
    key = paillier.generate(profiles.STANDARD, engines.choose(engine, threads=1))
    residuals = Encoding(20, 10).encode(generator.uniform(-2, 2, rows))
    X = Encoding(16, 6).encode(generator.normal(size=(rows, columns)))
    sent = key.encrypt(residuals)
    reply = sent.randomised()
    return {
        "encryption": best_of(lambda: key.encrypt(residuals)) / rows,
        "entry": best_of(lambda: sent @ X) / (rows * columns),
        "randomisation": best_of(lambda: sent.randomised()) / rows,
        "decryption": best_of(lambda: key.decrypt(reply)) / rows,
        "admission": best_of(lambda: admit(key.public, sent.to_bytes(), rows)) / rows,
        "embedding": best_of(lambda: key.public.embed(residuals.values.tolist())) / rows,
    }


def best_of(work: Callable[[], object], tries: int = 3) -> float:
    """Processor seconds, the least of some tries."""
    best = float("inf")
    for _ in range(tries):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def exponents(points: dict[str, list[Point]]) -> dict[str, dict[str, float]]:
    """For each sweep and cost, the slope in logarithms; over the upper half too, where fixed parts no longer count."""
    fitted = {name: {cost: slope(line, name, cost) for cost in COSTS} for name, line in points.items()}
    for name, line in points.items():
        fitted[name]["step_s, upper half"] = slope(line[min(len(line) // 2, len(line) - 2) :], name, "step_s")
    return fitted


def slope(line: list[Point], name: str, cost: str) -> float:
    """By least squares."""
    x, y = np.log(np.array([(point[name], point[cost]) for point in line])).T
    return float(np.polyfit(x, y, 1)[0])


def markdown(name: str, line: list[Point]) -> str:
    """One sweep as a table, its exponents in the last line."""
    rows = [[name, *(NAMES[cost] for cost in COSTS)], ["---"] * (len(COSTS) + 1)]
    rows += [[f"{point[name]:.0f}", *(f"{point[cost]:.3g}" for cost in COSTS)] for point in line]
    fitted = exponents({name: line})[name]
    rows += [["exponent", *(f"{fitted[cost]:.2f}" for cost in COSTS)]]
    upper = f"upper half of {name}: exponent of a step {fitted['step_s, upper half']:.2f}\n"
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n\n" + upper


if __name__ == "__main__":
    main()
