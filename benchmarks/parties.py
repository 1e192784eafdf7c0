"""`shares` with more parties beside two, on the same rows: `python -m benchmarks.parties [--parties 2,3,5]`.

Credit's columns are dealt out to two, three and five parties, who train in one process. Rounds take turns, CPU time is
that of all parties together, and each figure is the median of its rounds. A whole run has the plan's own number of
passes; `--passes` makes runs shorter and the figures coarser.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plumbob.data import split_array
from plumbob.lab import datasets
from plumbob.lab.simulate import train
from plumbob.model.links import log_odds
from plumbob.model.metrics import quality
from plumbob.plan import Plan


@dataclass
class Measured:
    """The rounds of one number of parties."""

    plan: Plan
    cpu: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    auc: float = 0.0
    log_loss: float = 0.0


def main(words: Sequence[str]) -> None:
    options = parse(words)
    counts = [int(count) for count in options.parties.split(",")]
    (X, y), (X_test, y_test) = (datasets.load("credit", part) for part in ("train", "test"))
    rows = options.rows or len(X)
    settings = {"epochs": options.passes} if options.passes else {}
    measured = {count: Measured(Plan.for_columns(dealt(X.shape[1], count), open="own", **settings)) for count in counts}
    for _ in range(options.rounds):
        for one in measured.values():
            measure(one, (X[:rows], y[:rows]), (X_test, y_test))
    print_table(measured, rows)


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--parties", default="2,3,5", help="how many, separated by commas; ratios are to the first")
    parser.add_argument("--rounds", type=int, default=3, help="the median is taken of these")
    parser.add_argument("--passes", type=int, default=0, help="instead of the plan's own number")
    parser.add_argument("--rows", type=int, default=0, help="the first rows only")
    return parser.parse_args(words)


def dealt(columns: int, parties: int) -> tuple[int, ...]:
    """As evenly as possible; the label party has the fewest."""
    return tuple((columns + place) // parties for place in range(parties))


def measure(one: Measured, trained_on: tuple[np.ndarray, np.ndarray], judged_on: tuple[np.ndarray, np.ndarray]) -> None:
    """One run, all of it: keys, passes and the opening."""
    names, widths = zip(*((party.name, party.features) for party in one.plan.learners), strict=True)
    tables = dict(zip(names, split_array(*trained_on, widths), strict=True))
    started, busy = time.perf_counter(), time.process_time()
    run = train(one.plan, tables)
    one.cpu.append(time.process_time() - busy)
    one.seconds.append(time.perf_counter() - started)
    one.megabytes = sum(party.bytes_sent for party in run.record.parties) / 1e6
    scores = run.model.scores(dict(zip(names, split_array(judged_on[0], None, widths), strict=True)))
    found = quality(judged_on[1].astype(np.int8), log_odds(one.plan, scores))
    one.auc, one.log_loss = found.auc, found.log_loss


def print_table(measured: dict[int, Measured], rows: int) -> None:
    print("| parties | passes | CPU s | times two | CPU s per pass | times two | seconds | MB | AUC | log loss |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    first = next(iter(measured.values()))
    whole = statistics.median(first.cpu)
    for count, one in measured.items():
        cpu, passes = statistics.median(one.cpu), one.plan.passes(rows)
        each = cpu / passes
        print(
            f"| {count} | {passes} | {cpu:.1f} | {cpu / whole:.2f} | {each:.2f} | "
            f"{each / (whole / first.plan.passes(rows)):.2f} | {statistics.median(one.seconds):.0f} | "
            f"{one.megabytes:.0f} | {one.auc:.4f} | {one.log_loss:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
