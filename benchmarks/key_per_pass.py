"""What a key for each pass would cost two parties: `python -m benchmarks.key_per_pass [--rounds 3]`.

The decision stands on docs/lattice.md. Bytes are exact. Processor time is that of both parties together, in runs that
take turns within one process; each figure is the median of its rounds.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from unittest.mock import patch

from plumbob.data import Table, split_array
from plumbob.lab import datasets
from plumbob.lab.simulate import train
from plumbob.plan import Plan
from plumbob.protocol.shares.shape import RunShape
from plumbob.protocol.shares.sizes import total_bytes

LARGE = (1_000_000, (20, 20))
"""Training rows and columns of a run that is only counted."""


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3, help="the median is taken of these")
    rounds = parser.parse_args(words).rounds
    print(
        "| rows | keys | with a key per pass | MB | with a key per pass | times | CPU s | with a key per pass | times |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in ("breast-cancer", "credit"):
        X, y = datasets.load(name, part="train")
        widths = X.shape[1] // 2, X.shape[1] - X.shape[1] // 2
        plan = Plan.for_columns(widths)
        tables = dict(zip((party.name for party in plan.learners), split_array(X, y, widths), strict=True))
        usual, fresh = [], []
        for _ in range(rounds):
            usual.append(seconds_of(plan, tables))
            with key_per_pass():
                fresh.append(seconds_of(plan, tables))
        print_line(plan, len(X), (statistics.median(usual), statistics.median(fresh)))
    rows, widths = LARGE
    print_line(Plan.for_columns(widths), rows, None)


def key_per_pass() -> AbstractContextManager[object]:
    """Between two parties, too, a key serves one pass."""
    return patch.object(RunShape, "last_pass_of_key", lambda self, number: number)


def seconds_of(plan: Plan, tables: Mapping[str, Table]) -> float:
    """Processor time of a whole run, keys included."""
    busy = time.process_time()
    train(plan, tables)
    return time.process_time() - busy


def print_line(plan: Plan, rows: int, seconds: tuple[float, float] | None) -> None:
    counts = [(total_bytes(plan, rows) / 1e6, RunShape(plan, rows).keys_in_all)]
    with key_per_pass():
        counts.append((total_bytes(plan, rows) / 1e6, RunShape(plan, rows).keys_in_all))
    (usual, keys), (fresh, more_keys) = counts
    spent = "| | |" if seconds is None else f"{seconds[0]:.1f} | {seconds[1]:.1f} | {seconds[1] / seconds[0]:.2f}"
    print(
        f"| {rows:,} | {keys} | {more_keys} | {usual:.0f} | {fresh:.0f} | {fresh / usual:.2f} | {spent} |", flush=True
    )


if __name__ == "__main__":
    main(sys.argv[1:])
