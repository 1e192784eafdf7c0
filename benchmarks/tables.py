"""From a CSV file to the matrix that training sees: statistics, bins, whitening and encoding, on one core.

    python benchmarks/tables.py [--rows 1000000] [--work DIR]

Writes a table of 40 columns (amounts with gaps, counts, levels, a postcode, dates in two forms, flags) and prints the
processor seconds of each step and the peak of resident memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pyarrow as pa
from pyarrow import csv

from plumbob.data import read_table
from plumbob.data.encoder import with_slots
from plumbob.data.shards import build_shard
from plumbob.plan import Plan


def main() -> None:
    """Write the file, then one line for each step."""
    parser = argparse.ArgumentParser(description="speed of tables")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--work", type=Path, default=None, help="a folder for the file; it is removed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        file = Path(folder) / "rows.csv"
        csv.write_csv(made_up(options.rows), file)
        measure(file)


def measure(file: Path) -> None:
    """Processor seconds since the start of reading, step by step."""
    start = time.process_time()

    def lap(step: str) -> None:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{step:40} {time.process_time() - start:6.1f} s, {memory:.0f} MiB at most", flush=True)

    table = read_table(file, "id", "late")
    lap("the file is read")
    draft = Plan.for_columns((1, 1), bins=10, test_share=0)
    table = with_slots(table, draft)
    assert table.slots is not None
    width = sum(own.width for own in table.slots.by_name.values())
    lap(f"columns are counted ({width})")
    build_shard(table, Plan.for_columns((width, 1), bins=10, test_share=0), draft.parties[0].name, b"key")
    lap("rows are binned, whitened and encoded")


def made_up(rows: int) -> pa.Table:
    """Columns of the usual kinds."""
    generator = np.random.default_rng(5)
    days = np.datetime64("2015-01-01") + generator.integers(0, 3000, rows)
    written = np.datetime_as_string(days)
    columns: dict[str, object] = {"id": [f"C{row:07d}" for row in generator.permutation(rows)]}
    columns["late"] = generator.choice(["yes", "no"], rows, p=[0.2, 0.8])
    for place in range(18):
        amounts = np.round(np.exp(generator.normal(6, 1.5, rows)), 2)
        columns[f"amount{place}"] = pa.array(amounts, mask=generator.random(rows) < 0.05 * (place % 2))
    for place in range(12):
        columns[f"count{place}"] = generator.poisson(3 + place, rows)
    for place in range(5):
        columns[f"level{place}"] = generator.choice([f"group {level}" for level in range(3 + 5 * place)], rows)
    columns["postcode"] = [f"{code:05d}" for code in generator.integers(0, 99_999, rows)]
    columns["opened"] = written
    columns["seen"] = [f"{day[8:10]}.{day[5:7]}.{day[:4]}" for day in written]
    columns["active"] = generator.choice(["true", "false"], rows)
    columns["gender"] = generator.choice(["m", "f", ""], rows)
    return pa.table(columns)


if __name__ == "__main__":
    main()
