"""Whether two threads do a large product in half the time: interleaved, wall clock, the ratio of the best times.

    python benchmarks/scale/cores.py [--rounds 15] [--rows 256] [--columns 392]

A machine that does something else at the same time gives a ratio that is too small: the best of many rounds is taken,
and the load is printed beside it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from plumbob.crypto import Encoding, engines, paillier, profiles
from plumbob.crypto.engines import Engine


def main() -> None:
    """Measure in turn, print the ratio."""
    options = parse()
    one = engines.choose("native", threads=1)
    others = {"two threads": engines.choose("native", threads=2)}
    product = large_product(options.rows, options.columns)
    best = {name: float("inf") for name in ("one thread", *others)}
    for _ in range(options.rounds):
        for name, engine in {"one thread": one, **others}.items():
            best[name] = min(best[name], seconds(partial(product, engine)))
    shape = f"{options.rows} rows, {options.columns} columns, 2048 bits"
    print(f"{shape}, best of {options.rounds}; load {os.getloadavg()[0]:.1f}")
    for name, value in best.items():
        print(f"{name}: {value:.4f} s, {best['one thread'] / value:.2f} times one thread")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="two threads against one")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--columns", type=int, default=392)
    return parser.parse_args()


def large_product(rows: int, columns: int) -> Callable[[Engine], object]:
    """The same ciphertexts and the same matrix for every engine."""
    generator = np.random.default_rng(0)
    key = paillier.generate(profiles.STANDARD, engines.choose("native"))
    sent = key.encrypt(Encoding(20, 4).encode(generator.uniform(-2, 2, rows)))
    X = Encoding(16, 2).encode(generator.uniform(-3.9, 3.9, (rows, columns)))
    return lambda engine: engine.combine(key.public.ring, sent.limbs, X.values, X.bits)


def seconds(work: Callable[[], object]) -> float:
    """Of the wall clock."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
