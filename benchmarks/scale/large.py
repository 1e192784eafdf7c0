"""A million rows from files on disk: what `plumbob train` and `predict` take in time and memory.

    python benchmarks/scale/large.py [--rows 1000000] [--columns 20] [--batch 8192] [--only clear shares] [--work DIR]

Writes one Parquet file a party (ids in a different order in each), then starts the command line as a user would, once
in the clear with ten epochs, once by `exchange` with one epoch and large batches, and once by `shares` with the default
plan and ten passes; then it predicts the same rows, but not by `shares`, which limits how many are scored. The peak of
anonymous memory is what the process needs; resident memory also counts pages of files that the system keeps only while
nobody else wants the room.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

PIECE = 100_000
PARTIES = ("bank", "fund")
RUNS = {"clear": ["--epochs", "10"], "exchange": ["--epochs", "1"], "shares": ["--epochs", "10"]}


def main() -> None:
    """Write the files, run, print a table."""
    options = parse()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        files = {party: Path(folder) / f"{party}.parquet" for party in PARTIES}
        write_files(files, options.rows, options.columns)
        data = 8 * options.rows * options.columns * len(PARTIES) / 2**20
        print(f"{options.rows} rows, {options.columns} + {options.columns} columns: {data:.0f} MiB as numbers\n")
        print("| run | seconds | processor seconds | anonymous MiB at its peak | resident MiB at its peak |")
        print("|---|---|---|---|---|")
        print(row("start only", watched(["plan", "new", "--features", "2,2", "--quiet"])))
        for protocol in options.only:
            out = Path(folder) / protocol
            print(row(f"train, {protocol}", watched(training(options, protocol, files, out))), flush=True)
            if protocol == "shares":
                continue
            given = [f"{party}={file}" for party, file in files.items()]
            predict = ["predict", str(out), "--data", *given, "--id", "id", "--out", str(out / "scores.csv"), "--quiet"]
            print(row(f"predict, {protocol}", watched(predict)), flush=True)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="large tables from files")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20, help="of each party")
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--work", type=Path, default=None, help="a folder for the files; they are removed")
    return parser.parse_args()


def training(options: argparse.Namespace, protocol: str, files: dict[str, Path], out: Path) -> list[str]:
    """`plumbob train`, as somebody would type it."""
    plan = out.with_suffix(".toml")
    new = ["plan", "new", "--names", ",".join(PARTIES), "--features", f"{options.columns},{options.columns}"]
    as_in_the_paper = [] if protocol == "shares" else ["--as-in-the-paper", "--batch-size", str(options.batch)]
    new += ["--protocol", protocol, *as_in_the_paper, "--seed", "7", *RUNS[protocol]]
    subprocess.run([*PLUMBOB, *new, "--out", str(plan), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    given = [f"{party}={file}" for party, file in files.items()]
    return ["train", str(plan), "--data", *given, "--id", "id", "--label", "y", "--out", str(out), *CONSENT]


PLUMBOB = [sys.executable, "-c", "from plumbob.cli import main; main()"]
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


def watched(arguments: list[str]) -> dict[str, float]:
    """A run of the command line: its time, and its memory looked at every tenth of a second."""
    started = time.perf_counter()
    process = subprocess.Popen([*PLUMBOB, *arguments], stdout=subprocess.DEVNULL)
    peaks = {"RssAnon": 0.0, "VmRSS": 0.0}
    spent = 0.0
    while process.poll() is None:
        for name, value in memory(process.pid).items():
            peaks[name] = max(peaks.get(name, 0.0), value)
        spent = processor_seconds(process.pid) or spent
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"plumbob {' '.join(arguments)} ended with {process.returncode}")
    return {"seconds": time.perf_counter() - started, "processor": spent, **peaks}


def memory(process: int) -> dict[str, float]:
    """MiB by the names of /proc/PID/status; empty once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.startswith(("RssAnon", "VmRSS")))
    return {name.rstrip(":"): int(value) / 1024 for name, value, _ in fields}


def processor_seconds(process: int) -> float:
    """User and system time so far, all threads."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / 100


def row(name: str, seen: dict[str, float]) -> str:
    """One line of the table."""
    numbers = (seen["seconds"], seen["processor"], seen["RssAnon"], seen["VmRSS"])
    return f"| {name} | " + " | ".join(f"{number:.0f}" for number in numbers) + " |"


if __name__ == "__main__":
    main()
