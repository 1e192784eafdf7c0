"""How the cost of one iteration of our engine grows with batch rows, columns and key bits; a table and JSON.

    python benchmarks/growth.py [--engine native] [--threads 1] [--rounds 3] [--output FILE]

One direction is measured in its parts and doubled. Each line of the table changes one thing from 256 rows, 392 columns
and 2048 bits. Tables made once per key are not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from plumbob import crypto
from plumbob.crypto import engines, paillier, profiles

ROWS, COLUMNS, KEY_BITS = (64, 128, 256, 512, 1024), (12, 24, 49, 98, 196, 392), (2048, 3072)
USUAL = {"rows": 256, "columns": 392, "key_bits": 2048}
FEATURES, RESIDUALS = crypto.Encoding(16, 2), crypto.Encoding(20, 2)
PARTS = ("encrypt", "product", "pack", "mask", "decrypt", "unpack")

Line = dict[str, Any]


def main() -> None:
    """Measure, print, write."""
    options = parse()
    engine = engines.choose(options.engine, threads=options.threads)
    keys = {bits: paillier.generate(profiles.for_key_bits(bits), engine) for bits in KEY_BITS}
    lines = [measure(keys[shape["key_bits"]], shape, options.rounds) for shape in shapes()]
    settings = {"engine": engine.name, "threads": options.threads, "rounds": options.rounds}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"settings": settings, "lines": lines}, indent=1) + "\n")
    print(f"Engine {engine.name}, {options.threads} thread(s), medians of {options.rounds}; milliseconds.\n")
    print(markdown(lines))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="cost of one iteration against rows, columns and key bits")
    parser.add_argument("--engine", choices=engines.NAMES, default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "growth.json")
    return parser.parse_args()


def shapes() -> list[dict[str, int]]:
    """Each once, although the usual one lies on all three lines."""
    varied = [{**USUAL, "rows": rows} for rows in ROWS]
    varied += [{**USUAL, "columns": columns} for columns in COLUMNS]
    varied += [{**USUAL, "key_bits": bits} for bits in KEY_BITS]
    return [shape for index, shape in enumerate(varied) if shape not in varied[:index]]


def measure(key: paillier.PaillierPrivateKey, shape: dict[str, int], rounds: int) -> Line:
    """Medians of every part, after one round that makes the key's tables."""
    iteration(key, shape)
    times = [iteration(key, shape) for _ in range(rounds)]
    parts = {part: median(once[part] for once in times) for part in PARTS}
    return {**shape, "iteration": 2 * median(sum(once.values()) for once in times), "parts": parts}


def iteration(key: paillier.PaillierPrivateKey, shape: dict[str, int]) -> dict[str, float]:
    """Seconds of one direction, part by part."""
    rng = np.random.default_rng(0)
    residuals = RESIDUALS.encode(rng.uniform(-3.9, 3.9, shape["rows"]))
    X = FEATURES.encode(rng.uniform(-3.9, 3.9, (shape["rows"], shape["columns"])))
    slot_bits = crypto.sum_bits(shape["rows"], FEATURES, RESIDUALS)
    slots = crypto.Slots.packed(key.public, shape["columns"], slot_bits)
    encrypted, encrypt = timed(lambda: key.encrypt(residuals))
    sums, product = timed(lambda: encrypted @ X)
    packed, pack = timed(lambda: slots.pack(sums))
    drawn, draw = timed(lambda: key.public.random_mask(slots.replies, slots.masked_bits))
    masked, mask = timed(lambda: (packed + drawn).randomised())
    opened, decrypt = timed(lambda: slots.truncate(key.decrypt(masked)))
    _, unpack = timed(lambda: slots.unpack(opened, drawn))
    return dict(zip(PARTS, (encrypt, product, pack, draw + mask, decrypt, unpack), strict=True))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call and its wall seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def markdown(lines: list[Line]) -> str:
    """Both directions in `iteration`, one in the parts."""
    header = ["rows", "columns", "key bits", "iteration", *PARTS, "µs / entry"]
    rows = [header, ["---"] * len(header), *(cells(line) for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def cells(line: Line) -> list[str]:
    """One row of the table."""
    per_entry = 1e6 * line["parts"]["product"] / (line["rows"] * line["columns"])
    milliseconds = [f"{1000 * seconds:.1f}" for seconds in (line["iteration"], *line["parts"].values())]
    return [str(line["rows"]), str(line["columns"]), str(line["key_bits"]), *milliseconds, f"{per_entry:.2f}"]


if __name__ == "__main__":
    main()
