"""Microseconds per point of ristretto255 on every engine, in turns; a table and JSON.

    python benchmarks/ristretto.py [--points 4096] [--rounds 5] [--output FILE]

Engines take turns, so that a slow minute of the machine hits all of them. Processor seconds on one thread, the best of
the rounds; for the second thread wall seconds, the median of the rounds' ratios, and how many more processor seconds it
takes: all that a busy machine lets us see.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from plumbob.crypto.ristretto import (
    ORDER,
    NativeGroup,
    PythonGroup,
    RistrettoGroup,
    SodiumGroup,
    available_paths,
    rbcl_is_installed,
)

SCALAR = int.from_bytes(hashlib.sha512(b"a scalar of this benchmark").digest(), "little") % ORDER
COLUMNS = ("multiply", "hash and multiply", "map", "combine, 128 bits", "add")
FEWER = {"rbcl": 8, "python": 64}  # These are slow: a part of the points is enough.
Work = dict[str, Callable[[], object]]


def main() -> None:
    options = parse()
    works = {name: work(options.points // FEWER.get(name, 1)) for name, work in engines().items()}
    best: dict[str, dict[str, float]] = {name: {} for name in works}
    for _ in range(options.rounds):
        for name, columns in works.items():
            points = options.points // FEWER.get(name, 1)
            for column, call in columns.items():
                best[name][column] = min(best[name].get(column, float("inf")), 1e6 * cpu_seconds(call) / points)
    speed_up = second_thread(options.points, options.rounds)
    result = {
        "points": options.points,
        "rounds": options.rounds,
        "load": os.getloadavg()[0],
        "microseconds": best,
        "second_thread": speed_up,
    }
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(table(best))
    for name, (wall, cpu) in speed_up.items():
        print(f"{name}: two threads {wall:.2f} times as fast as one, with {cpu:.2f} times its processor seconds")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def engines() -> dict[str, Callable[[int], Work]]:
    groups: dict[str, RistrettoGroup] = {path: NativeGroup(path, 1) for path in available_paths()}
    if rbcl_is_installed():
        groups["rbcl"] = SodiumGroup()
    groups["python"] = PythonGroup()
    return {name: partial(group_work, group) for name, group in groups.items()}


def group_work(group: RistrettoGroup, count: int) -> Work:
    uniform = hashlib.shake_256(b"uniform").digest(64 * count)
    factors = hashlib.shake_256(b"factors").digest(16 * count)
    points = group.times_hashed(uniform)
    total = group.new_sum()
    return {
        "multiply": lambda: group.times(points, SCALAR),
        "hash and multiply": lambda: group.times_hashed(
            b"".join(hashlib.sha512(b"%d" % row).digest() for row in range(count)), SCALAR
        ),
        "map": lambda: group.times_hashed(uniform),
        "combine, 128 bits": lambda: total.add(points, factors),
        "add": lambda: group.added(points, points),
    }


def cpu_seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def second_thread(count: int, rounds: int) -> dict[str, tuple[float, float]]:
    points = NativeGroup(threads=1).times_hashed(hashlib.shake_256(b"threads").digest(64 * count))
    ratios: dict[str, list[tuple[float, float]]] = {path: [] for path in available_paths()}
    for _ in range(rounds):
        for path, found in ratios.items():
            (wall1, cpu1), (wall2, cpu2) = (spent(NativeGroup(path, threads), points) for threads in (1, 2))
            found.append((wall1 / wall2, cpu2 / cpu1))
    return {
        path: (median(wall for wall, _ in found), median(cpu for _, cpu in found)) for path, found in ratios.items()
    }


def spent(group: NativeGroup, points: bytes) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    group.times(points, SCALAR)
    return time.perf_counter() - wall, time.process_time() - cpu


def table(best: dict[str, dict[str, float]]) -> str:
    lines = ["| microseconds per point, one core | " + " | ".join(best) + " |", "|---" * (len(best) + 1) + "|"]
    for column in COLUMNS:
        cells = [f"{times[column]:.2f}" if column in times else "" for times in best.values()]
        lines.append(f"| {column} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
