"""Two organisations on this machine, from their files to the receipt: what each verb takes in time and memory.

    python -m benchmarks.organisations [--rows 1000000] [--columns 20] [--passes 0] [--only align] [--work DIR]

Each has a home and a Parquet file of its own (the same people in another order) and types `party align`, `sign` and
`train`, both at the same time, over TLS on loopback; then one types `receipt`. The default plan without bins, a tenth
of the rows held out for quality. One core for each party.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import plumbob.party
from plumbob.party.home import Home
from plumbob.plan import Plan

PARTIES = ("label", "features")
VERBS = ("align", "sign", "train")
PIECE = 100_000
PLUMBOB = [sys.executable, "-c", "from plumbob.cli import main; main()"]
TICKS = 100
NAMES = ("run", "seconds", "processor seconds", "anonymous MiB", "resident MiB", "cores used by others")
HEAD = f"| {' | '.join(NAMES)} |\n{'|---' * len(NAMES)}|"


def main(words: Sequence[str]) -> None:
    """Write the files, run, print a table."""
    options = parse(words)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        plan = settle(Path(folder), options)
        print(f"{options.rows} people, {options.columns} + {options.columns} columns\n\n{HEAD}", flush=True)
        whole = 0.0
        for verb in options.only:
            seen = watched(*commands(verb, plan))
            for party, each in zip(PARTIES, seen, strict=False):
                print(row(f"{verb}, {party}", each), flush=True)
            whole += max(each.seconds for each in seen)
        print(f"\n{whole:.0f} s in all")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="two organisations with large files")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20, help="of each party")
    parser.add_argument("--passes", type=int, default=0, help="all of them over all rows; 0 = by the rule")
    parser.add_argument("--only", nargs="+", choices=VERBS, default=VERBS)
    parser.add_argument("--work", type=Path, default=None, help="a folder for the files; they are removed")
    return parser.parse_args(words)


def settle(folder: Path, options: argparse.Namespace) -> Path:
    """Homes that know each other, a file each, and the plan."""
    write_files({party: folder / f"{party}.parquet" for party in PARTIES}, options.rows, options.columns)
    plan = Plan.for_columns((options.columns,) * 2, test_share=0.1, epochs=options.passes)
    (folder / "joint.toml").write_text(plan.to_toml())
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    label, other = PARTIES
    plumbob.party.init(
        folder / label, label, data=folder / f"{label}.parquet", listen=address, address=address, label="y"
    )
    plumbob.party.init(folder / other, other, data=folder / f"{other}.parquet")
    Home.open(folder / label).join(Home.open(folder / other).invitation(), "")
    Home.open(folder / other).join(Home.open(folder / label).invitation())
    return folder / "joint.toml"


def commands(verb: str, plan: Path) -> Iterator[list[str]]:
    """What each party types."""
    consent = ["--yes", "--accept-leaks", "--accept-cheating"] if verb == "sign" else []
    jobs = ["--jobs", "1"] if verb == "align" else []
    for party in PARTIES:
        yield ["party", verb, str(plan), "--quiet", "--home", str(plan.parent / party), *consent, *jobs]


# The files.


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


# Commands, started together and watched: time, processor time and memory of each.


class Seen(NamedTuple):
    """What one command took; memory in MiB, as it was at its largest."""

    seconds: float
    processor: float
    anonymous: float
    """What the process must have."""
    resident: float
    """With pages of files, which the system can take back."""
    others: float
    """Cores that everybody else on the machine used meanwhile: 0 on a quiet one."""


def row(name: str, seen: Seen) -> str:
    """One line of a table."""
    *amounts, others = seen
    return f"| {name} | " + " | ".join(f"{amount:.0f}" for amount in amounts) + f" | {others:.1f} |"


def watched(*commands: list[str]) -> list[Seen]:
    """Run them side by side; memory is looked at every tenth of a second."""
    started, busy = time.perf_counter(), _busy_seconds()
    processes = [subprocess.Popen([*PLUMBOB, *command], stdout=subprocess.DEVNULL) for command in commands]
    peaks = {process.pid: (0.0, 0.0) for process in processes}
    spent = dict.fromkeys(peaks, 0.0)
    ended: dict[int, float] = {}
    while len(ended) < len(processes):
        for process in processes:
            peaks[process.pid] = _larger(peaks[process.pid], _memory(process.pid))
            spent[process.pid] = max(spent[process.pid], _processor_seconds(process.pid))
            if process.pid not in ended and process.poll() is not None:
                ended[process.pid] = time.perf_counter() - started
        time.sleep(0.1)
    for process, command in zip(processes, commands, strict=True):
        if process.returncode:
            sys.exit(f"plumbob {' '.join(command)} ended with {process.returncode}")
    others = (_busy_seconds() - busy - sum(spent.values())) / max(ended.values())
    return [Seen(ended[each], spent[each], *peaks[each], max(0.0, others)) for each in peaks]


def _larger(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return max(one[0], other[0]), max(one[1], other[1])


def _memory(process: int) -> tuple[float, float]:
    """MiB, anonymous and resident; nothing once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    fields = {words[0]: int(words[1]) / 1024 for line in lines if (words := line.split())[-1] == "kB"}
    return fields.get("RssAnon:", 0.0), fields.get("VmRSS:", 0.0)


def _processor_seconds(process: int) -> float:
    """User and system time so far, all threads."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def _busy_seconds() -> float:
    """Of all cores of the machine: everything but idling and waiting for the disk."""
    user, nice, system, _idle, _disk, *interrupts = Path("/proc/stat").read_text().splitlines()[0].split()[1:8]
    return sum(int(ticks) for ticks in (user, nice, system, *interrupts)) / TICKS


if __name__ == "__main__":
    main(sys.argv[1:])
