"""A million rows from files on disk: what `plumbob train` and `predict` take in time and memory.

    python benchmarks/scale/large.py [--rows 1000000] [--columns 20] [--batch 8192] [--only clear shares] [--work DIR]
    python benchmarks/scale/large.py --columns 10 --only drafted     # the plan that `train` drafts from the files

Writes one Parquet file a party (ids in a different order in each), then starts the command line as a user would, once
in the clear with ten epochs, once by `exchange` with one epoch and large batches, and once by `shares` with the default
plan and ten passes; then it predicts the same rows, but not by `shares`, which limits how many are scored. The peak of
anonymous memory is what the process needs; resident memory also counts pages of files that the system keeps only while
nobody else wants the room.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from watching import HEAD, PLUMBOB, row, watched

PIECE = 100_000
PARTIES = ("bank", "fund")
RUNS = {"clear": ["--epochs", "10"], "exchange": ["--epochs", "1"], "shares": ["--epochs", "10"]}
DRAFTED = "drafted"


def main() -> None:
    """Write the files, run, print a table."""
    options = parse()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        files = {party: Path(folder) / f"{party}.parquet" for party in PARTIES}
        write_files(files, options.rows, options.columns)
        data = 8 * options.rows * options.columns * len(PARTIES) / 2**20
        print(f"{options.rows} rows, {options.columns} + {options.columns} columns: {data:.0f} MiB as numbers\n")
        print(HEAD)
        print(row("start only", *watched(["plan", "new", "--features", "2,2", "--quiet"])))
        for protocol in options.only:
            out = Path(folder) / protocol
            print(row(f"train, {protocol}", *watched(training(options, protocol, files, out))), flush=True)
            if protocol in ("shares", DRAFTED):
                continue
            given = [f"{party}={file}" for party, file in files.items()]
            predict = ["predict", str(out), "--data", *given, "--id", "id", "--out", str(out / "scores.csv"), "--quiet"]
            print(row(f"predict, {protocol}", *watched(predict)), flush=True)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="large tables from files")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20, help="of each party")
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--only", nargs="+", choices=[*RUNS, DRAFTED], default=list(RUNS))
    parser.add_argument("--work", type=Path, default=None, help="a folder for the files; they are removed")
    return parser.parse_args()


def training(options: argparse.Namespace, protocol: str, files: dict[str, Path], out: Path) -> list[str]:
    """`plumbob train`, as somebody would type it."""
    given = [f"{party}={file}" for party, file in files.items()]
    if protocol == DRAFTED:
        return ["train", "--data", *given, "--id", "id", "--label", "y", "--out", str(out), *CONSENT]
    plan = out.with_suffix(".toml")
    new = ["plan", "new", "--names", ",".join(PARTIES), "--features", f"{options.columns},{options.columns}"]
    as_in_the_paper = [] if protocol == "shares" else ["--as-in-the-paper", "--batch-size", str(options.batch)]
    new += ["--protocol", protocol, *as_in_the_paper, "--seed", "7", *RUNS[protocol]]
    subprocess.run([*PLUMBOB, *new, "--out", str(plan), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return ["train", str(plan), "--data", *given, "--id", "id", "--label", "y", "--out", str(out), *CONSENT]


CONSENT = ["--accept-leaks", "--quiet"]


def write_files(files: dict[str, Path], rows: int, columns: int) -> None:
    """Piece by piece: a label that depends on both parties' columns, each party's rows in an order of its own."""
    weights = np.random.default_rng(1).normal(size=2 * columns)
    for place, (party, file) in enumerate(files.items()):
        names = [f"{party}{column}" for column in range(columns)]
        with parquet.ParquetWriter(file, schema(names, with_label=place == 0)) as writer:
            starts = range(0, rows, PIECE)
            for start in starts if place == 0 else reversed(starts):
                writer.write_table(piece(start, min(PIECE, rows - start), weights, place, names))


def schema(names: list[str], with_label: bool) -> pa.Schema:
    """An id, perhaps a label, and numbers."""
    label = [("y", pa.int8())] if with_label else []
    return pa.schema([("id", pa.string()), *label, *((name, pa.float64()) for name in names)])


def piece(start: int, rows: int, weights: Any, place: int, names: list[str]) -> pa.Table:
    """The same people have the same numbers in every call."""
    generator = np.random.default_rng(start)
    X = generator.normal(size=(rows, len(weights)))
    y = (X @ weights + np.sqrt(len(weights)) * generator.logistic(size=rows) > 0).astype(np.int8)
    ids = [f"p{number:09d}" for number in range(start, start + rows)]
    own = X[:, place * len(names) : (place + 1) * len(names)]
    numbers = dict(zip(names, own.T, strict=True))
    return pa.table({"id": ids, **({"y": y} if place == 0 else {}), **numbers})


if __name__ == "__main__":
    main()
