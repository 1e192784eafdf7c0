"""How often `check` is right: its verdicts on random plans against the red team on real runs of the same plans.

    python -m benchmarks.check_grid --fresh 31 --out benchmarks/results/check_grid.jsonl [--part 0/2] [--table]

A verdict is the worst about one party, target and assumption; it is right where an attack by this party on this target
has an advantage above the plan's tolerance. Attacks that had nothing to gain are left out (`has_room`), and
`chosen-column`, whose verdict is fixed, is counted apart. A plan that is in the file already is not run again, and
`--table` only sets today's verdicts beside what is there: thresholds are chosen on some seeds, and others are left
alone for the report.

Plans have two, three or five parties, label parties with 0, 1, 2 and many columns, shares of positives from .1 to 46 %,
`exchange` and `arbiter` (trained in `clear`, whose views are the same, but for those with active attacks) and `shares`
with `own` and `never`, staged attacks included. `telco/telco.csv` and `hmeq/hmeq.csv` are in PLUMBOB_DATA's folder.
"""

import argparse
import csv
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.arrays import Labels, Matrix, Vector
from plumbob.checking.check import check
from plumbob.checking.rules import rule_of
from plumbob.data import Table, split_array
from plumbob.errors import PlumbobError
from plumbob.lab import datasets
from plumbob.lab.attacks import Attack, feature_geometry, label_only
from plumbob.lab.audit.again import RunsAgain, in_clear
from plumbob.lab.audit.redteam import carried_out, chosen
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import Truth
from plumbob.lab.simulate import train
from plumbob.plan import PAPER, Plan
from plumbob.record import Finding

DECODING_SECONDS = 8.0
GEOMETRY_WORK = 1.0e9  # Of the attack's usual two minutes, a few seconds.
NOISE: dict[str, dict[str, Any]] = {
    "none": {},
    "std 0.5": {"noise": "std", "noise_std": 0.5, "row_norm": 1.0},
    "std 2": {"noise": "std", "noise_std": 2.0, "row_norm": 1.0},
    "std 10": {"noise": "std", "noise_std": 10.0, "row_norm": 1.0},
    "std 100": {"noise": "std", "noise_std": 100.0, "row_norm": 1.0},
    "sound 1": {"noise": "sound", "epsilon": 1.0, "row_norm": 1.0},
    "heuristic 0.5": {"noise": "heuristic", "epsilon": 0.5, "delta": 1e-5, "row_norm": 1.0},
}
CREDIT_SPLITS = ((1, 22), (5, 18), (11, 12), (18, 5), (22, 1))
CANCER_SPLITS = ((1, 29), (10, 20), (15, 15), (20, 10), (29, 1))
CREDIT_ROWS = (2000, 2000, 6000)
"""Of the 27,000, by turn: what averages over rows shows with more of them, what takes time does so with fewer."""
BATCHES = (8, 16, 32, 64, 128, 256, 512, 1024)
EPOCHS = (1, 3, 5, 10, 20, 30, 40)
STARTS = ("zero", "xavier", "normal")
TEST_KEYS = {"test_only_keys": True, "key_bits": 1024}


@dataclass(frozen=True)
class Cell:
    """One plan on one data set."""

    number: int
    data: str
    rows: int
    keys: dict[str, Any]
    kind: str = "passive"
    """The attacks that are tried: passive ones, active ones as well, or those of `shares`, staged ones included."""
    positives: float | None = None
    """The share of rows with label 1; None = as the table has it."""

    @property
    def plan(self) -> Plan:
        return planned(self.keys, self.rows, self.number)

    @property
    def name(self) -> str:
        keys = " ".join(f"{name}={value}" for name, value in self.keys.items() if name not in TEST_KEYS)
        return f"{self.data} n={self.rows} {keys}"


def cells(turn: int = 0) -> list[Cell]:
    """Every size of batch with epochs, splits, starts, protocols and noise in turn, then corners.

    Another `turn` gives other combinations, to see whether rules that hold on the first ones hold on those too.
    """
    found: list[Cell] = []

    def add(data: str, rows: int, split: tuple[int, ...], **keys: Any) -> None:
        found.append(Cell(1000 * turn + len(found), data, rows, {"split": split, **keys}))

    noises = (
        "none",
        "none",
        "std 2",
        "none",
        "sound 1",
        "none",
        "heuristic 0.5",
        "none",
        "std 10",
        "std 0.5",
        "std 100",
    )
    for place in range(40):
        split, noise = CREDIT_SPLITS[(place * 2 + 3 * turn) % 5], noises[(place + 4 * turn) % 11]
        add(
            *("credit", CREDIT_ROWS[turn % len(CREDIT_ROWS)], split),
            protocol=("exchange", "arbiter")[place % 2],
            batch_size=BATCHES[place % 8],
            epochs=EPOCHS[(place * 3 + 2 * turn) % 7],
            start=STARTS[(place + turn) % 3],
            **NOISE[noise],
        )
    for place in range(24):
        split, noise = CANCER_SPLITS[(place * 3 + turn) % 5], noises[(place + 3 + 4 * turn) % 11]
        add(
            *("breast-cancer", 455, split),
            protocol=("exchange", "arbiter")[place // 2 % 2],
            batch_size=BATCHES[place % 6],
            epochs=EPOCHS[(place * 2 + 3 * turn) % 7],
            start=STARTS[(place // 2 + turn) % 3],
            **NOISE[noise],
        )
    corners: list[dict[str, Any]] = [
        {"split": (0, 23), "intercept": False, "batch_size": 16, "epochs": 2},
        {"split": (0, 23), "intercept": False, "batch_size": 32, "epochs": 2, "start": "xavier"},
        {"split": (0, 23), "intercept": False, "batch_size": 64, "epochs": 2},
        {"split": (22, 1), "batch_size": 16, "epochs": 5},
        {"split": (22, 1), "batch_size": 1, "epochs": 3},
        {"split": (1, 22), "batch_size": 16, "epochs": 5},
        {"split": (20, 3), "batch_size": 16, "epochs": 20},
        {"split": (18, 5), "batch_size": 8, "epochs": 40},
        {"split": (11, 12), "batch_size": 256, "epochs": 40},
        {"split": (11, 12), "batch_size": 128, "epochs": 10, "batches": "fixed"},
        {"split": (11, 12), "batches": "full", "epochs": 40},
        {"split": (11, 12), "batch_size": 64, "epochs": 20, "label_flip_epsilon": 1.0},
        {
            "split": (11, 12),
            **PAPER,
            "protocol": "clear",
            "batch_size": 8,
            "epochs": 5,
            "sigmoid": "minimax",
            "learning_rate": 0.02,
            "row_norm": 1.0,
        },
    ]
    for keys in corners:
        split = keys.pop("split")
        rows = 600 if keys.get("batch_size", 0) == 1 else 1000
        add("credit", rows, split, **{"protocol": "exchange", **keys})
    # Active attacks need messages: few rows, and one epoch of them.
    active: list[dict[str, Any]] = [
        {"protocol": "exchange", "batch_size": 32, "replies": "paper"},
        {"protocol": "exchange", "batch_size": 128, "replies": "paper", "start": "xavier"},
        {"protocol": "exchange", "batch_size": 32},
        {"protocol": "exchange", "batch_size": 128, "start": "normal"},
        {"protocol": "exchange", "batch_size": 256, "epochs": 1, "replies": "paper", **NOISE["std 10"]},
        {"protocol": "exchange", "batch_size": 64, "epochs": 2, **NOISE["sound 1"]},
        {"protocol": "arbiter", "batch_size": 64},
        {"protocol": "arbiter", "batch_size": 128, "start": "xavier"},
    ]
    for data, split in (("credit", (11, 12)), ("breast-cancer", (10, 20))):
        for keys in active:
            add(data, 300, split, **{"epochs": 2, **TEST_KEYS, **keys})
        for opened in ("own", "never"):
            add(data, 200, split, protocol="shares", open=opened, epochs=2)
        add(data, 300, split, protocol="shares", epochs=1)
    return found


FRESH_COLUMNS = {"credit": 23, "breast-cancer": 30, "telco": 45, "hmeq": 20}
FRESH_NOISE = ("none", "none", "none", "none", "std 0.5", "std 2", "sound 1", "std 10")
FRESH_POSITIVES = (None, None, None, 0.001, 0.005, 0.02, 0.1, 0.3, 0.46)
NOISY_ROWS = 1000
PASSIVE_PLANS = 7
"""Plans of passive attacks for each data set; one of active attacks and two of `shares` come on top."""


def fresh_cells(seed: int) -> Iterator[Cell]:
    """Plans drawn at random: 40 for each seed."""
    draw = np.random.default_rng(seed)
    numbers = count(1000 * seed)
    for data, columns in FRESH_COLUMNS.items():
        for _ in range(PASSIVE_PLANS):
            yield _passive_cell(draw, next(numbers), data, columns)
        yield _active_cell(draw, next(numbers), data, columns)
        for opened in ("own", "never"):
            yield _shares_cell(draw, next(numbers), data, columns, opened)


def _passive_cell(draw: np.random.Generator, number: int, data: str, columns: int) -> Cell:
    parties = int(draw.choice([2, 2, 2, 2, 2, 3, 5]))
    positives = FRESH_POSITIVES[int(draw.integers(len(FRESH_POSITIVES)))]
    noise = str(draw.choice(FRESH_NOISE))
    is_small = data == "breast-cancer"
    rows = 455 if is_small else 4000 if positives is not None and positives < 0.01 else 1000
    keys: dict[str, Any] = {
        "split": _split_of(draw, columns, parties),
        "protocol": str(draw.choice(["exchange", "arbiter"])),
        "batch_size": min(int(draw.choice(BATCHES[:7])), 256 if is_small else 512),
        "epochs": int(draw.choice(EPOCHS[:6])),
        "start": str(draw.choice(STARTS)),
    }
    return Cell(number, data, rows, keys | NOISE[noise], "passive", positives)


def _active_cell(draw: np.random.Generator, number: int, data: str, columns: int) -> Cell:
    parties = int(draw.choice([2, 3]))
    keys: dict[str, Any] = {
        "split": _split_of(draw, columns, parties),
        "batch_size": int(draw.choice([16, 32, 64])),
        "epochs": int(draw.choice([1, 2, 4])),
        "start": str(draw.choice(STARTS[:2])),
        "protocol": str(draw.choice(["exchange", "arbiter"])),
    }
    noise = str(draw.choice(["none", "none", "sound 1"]))
    return Cell(number, data, 150, keys | TEST_KEYS | NOISE[noise], "active")


def _shares_cell(draw: np.random.Generator, number: int, data: str, columns: int, opened: str) -> Cell:
    parties = int(draw.choice([2, 2, 3]))
    keys: dict[str, Any] = {"split": _split_of(draw, columns, parties), "protocol": "shares", "open": opened}
    is_noisy = draw.random() < 0.3
    if is_noisy:
        keys |= {"noise": "rows", "epsilon": float(draw.choice([1.0, 4.0, 8.0])), "delta": 1e-4}
    rows = int(draw.choice([100, 200, 400]))
    # With fewer the noise of scaling alone makes all rows nearly equal: there is nothing left to learn.
    rows = NOISY_ROWS if is_noisy else rows
    positives = FRESH_POSITIVES[int(draw.integers(5, len(FRESH_POSITIVES)))] if draw.random() < 0.5 else None
    return Cell(number, data, rows, keys, "shares", positives)


def _split_of(draw: np.random.Generator, columns: int, parties: int) -> tuple[int, ...]:
    ours = int(draw.choice([0, 1, 2, columns // 4, columns // 2, 3 * columns // 4, columns - parties + 1]))
    rest = columns - ours
    if parties == 2:
        return ours, rest
    cuts = list(range(1, parties - 1))
    if rest > parties:
        cuts = np.sort(draw.choice(np.arange(1, rest), parties - 2, replace=False)).tolist()
    return (ours, *(stop - start for start, stop in pairwise([0, *cuts, rest])))


def loaded(name: str) -> tuple[Matrix, Labels]:
    """A known data set, or one of the two tables as organisations have them: gaps as means, categories as columns."""
    if name in datasets.names():
        return datasets.load(name)
    with (Path(os.environ["PLUMBOB_DATA"]) / name / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    label = {"telco": "Churn", "hmeq": "BAD"}[name]
    y = np.array([row[label] in ("Yes", "1") for row in rows], dtype=np.int8)
    names = [column for column in rows[0] if column not in (label, "customerID")]
    columns = [one for column in names for one in encoded([row[column].strip() for row in rows])]
    return np.column_stack(columns), y


def encoded(cells: list[str]) -> list[Vector]:
    """A column of numbers, or one for each category."""
    try:
        values = np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return [np.array([cell == level for cell in cells], dtype=float) for level in sorted(set(cells))]
    return [np.where(np.isnan(values), np.nanmean(values), values)]


def planned(keys: dict[str, Any], rows: int, number: int) -> Plan:
    """The plan on this many rows, which may be fewer than a batch was to have."""
    others = {name: value for name, value in keys.items() if name != "split"}
    if "batch_size" in others:
        others["batch_size"] = min(others["batch_size"], rows)
    return Plan.for_columns(tuple(keys["split"]), seed=number + 1, rows=rows, **others)


def tables_of(cell: Cell) -> tuple[dict[str, Table], float]:
    """Every party's table, with as many positives as the cell asks for, and the share of them that it has."""
    X, y = loaded(cell.data)
    draw = np.random.default_rng(cell.number)
    order = draw.permutation(len(X))
    rows = order[: cell.rows]
    if cell.positives is not None:
        ones = order[y[order] == 1][: max(2, round(cell.positives * cell.rows))]
        rows = draw.permutation(np.concatenate([ones, order[y[order] != 1][: cell.rows - len(ones)]]))
    learners = cell.plan.learners
    parts = split_array(X[rows], y[rows], [party.features for party in learners])
    tables = {party.name: part for party, part in zip(learners, parts, strict=True)}
    return tables, float(np.mean(y[rows] == 1))


def measured(cell: Cell) -> dict[str, Any]:
    """Train and attack: the outcomes alone, so that rules may change and the runs need not."""
    started = time.perf_counter()
    tables, positives = tables_of(cell)
    rows = len(next(iter(tables.values())))
    plan = planned(cell.keys, rows, cell.number)
    told: dict[str, Any] = {"number": cell.number, "cell": cell.name, "rows": rows, "positives": positives}
    told |= {"kind": cell.kind, "keys": cell.keys}
    try:
        truth = Truth.of(train(in_clear(plan) if cell.kind == "passive" else plan, tables))
    except PlumbobError as error:
        return {**told, "failed": str(error), "outcomes": []}
    tried = list(_tried(cell, plan, truth))
    outcomes = [_outcome(found) for attack, by in tried for found in _reached(attack, by, plan, truth)]
    told["tried"] = [[attack.name, by] for attack, by in tried]
    return {**told, "seconds": round(time.perf_counter() - started, 1), "outcomes": outcomes}


def _tried(cell: Cell, plan: Plan, truth: Truth) -> Iterator[tuple[Attack, str]]:
    """The attacks that are acted out on this run, with the party that makes them."""
    for name, view in truth.views.items():
        for attack in chosen(view.role):
            is_open = attack.is_passive and (cell.kind != "shares" or plan.opens_weights)
            if is_open or cell.kind == "shares" or (cell.kind == "active" and attack.is_budgeted):
                yield attack, name


def _reached(attack: Attack, by: str, plan: Plan, truth: Truth) -> Iterator[Finding]:
    """The red team's findings by one attack on a real run; none where it had nothing to work on."""
    if attack.is_passive:
        yield from scored(attack, by, within_reason(attack)(truth.views[by]), truth)
    else:
        yield from carried_out(attack, RunsAgain(Truth(plan, truth.views), by, truth.rows))


def within_reason(attack: Attack) -> Attack:
    """The same attack with seconds in place of minutes."""
    if attack.name == "label-only":
        return replace(attack, read=partial(label_only.recover_labels, seconds=DECODING_SECONDS))
    return attack


def _outcome(found: Finding) -> dict[str, Any]:
    names = ("attack", "by", "against", "target", "verdict", "advantage", "rate", "baseline", "auc", "baseline_auc")
    return {name: getattr(found, name) for name in names}


# Verdicts beside outcomes.

STRICTNESS = ("none", "blocked", "degrades", "leaks")
APART = "chosen-column"
"""The attack whose verdict is the same for every plan that scores anybody."""
TOLERANCE = 0.05
"""The tolerance that plans have by default."""
FEW_POSITIVES = 4
"""With fewer people in the rarer class no interval is narrow enough to show a leak of labels."""


@dataclass(frozen=True)
class Pair:
    """One party, target and assumption: what `check` says at worst, and the largest advantage that an attack had."""

    cell: str
    by: str
    target: str
    verdict: str
    advantage: float
    attack: str
    is_leak: bool


def pairs_of(stored: dict[str, Any]) -> Iterator[Pair]:
    """Today's verdicts on a plan beside what was reached, party by party and target by target."""
    reached: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in stored["outcomes"]:
        if one["attack"] != APART and one["advantage"] is not None and has_room(one):
            reached.setdefault((one["by"], one["target"], rule_of(one["attack"]).assumes), []).append(one)
    rarer = min(stored["positives"], 1.0 - stored["positives"]) * stored["rows"]
    findings = check(planned(stored["keys"], stored["rows"], stored["number"]), positives=stored["positives"])
    for (by, target, assumed), outcomes in reached.items():
        if target == "labels" and rarer < FEW_POSITIVES:
            continue
        tried = {one["attack"] for one in outcomes}
        said = [
            one.verdict
            for one in findings
            if (one.by, one.target, one.assumes) == (by, target, assumed) and tried & set(one.attacks)
        ]
        most = max(outcomes, key=lambda one: (one["verdict"] == "leaks", one["advantage"]))
        told = max(said, key=STRICTNESS.index, default=STRICTNESS[0])
        yield Pair(stored["cell"], by, target, told, most["advantage"], most["attack"], most["verdict"] == "leaks")


def blocked_of(stored: dict[str, Any]) -> Iterator[tuple[str, bool, bool]]:
    """What `check` calls blocked and an attack was tried on: its name, whether one made a claim, and whether it leaked.

    An attack that found nothing to work on was tried, too.
    """
    tried = {(attack, by) for attack, by in stored["tried"]}
    findings = check(planned(stored["keys"], stored["rows"], stored["number"]), positives=stored["positives"])
    for found in findings:
        names = [name for name in found.attacks if (name, found.by) in tried]
        if found.verdict != STRICTNESS[1] or not names:
            continue
        reached = [
            one
            for one in stored["outcomes"]
            if (one["by"], one["target"]) == (found.by, found.target) and one["attack"] in names
        ]
        leaked = any(one["verdict"] == "leaks" for one in reached)
        yield f"{stored['cell']}: {found.target} by {found.by}", bool(reached), leaked


def has_room(one: dict[str, Any]) -> bool:
    """Whether there was anything to gain: a claim that is right about everybody, and no leak, had nothing to work on.

    So it is where all people who were read have the more frequent label, or own columns predict them all.
    """
    return bool(one["verdict"] == "leaks" or one["rate"] != 1.0)


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """What must hold, and what does not."""
    pairs = [pair for result in results for pair in pairs_of(result)]
    announced = [pair for pair in pairs if pair.verdict == "leaks"]
    leaking = [pair for pair in pairs if pair.is_leak]
    right = [pair for pair in announced if pair.is_leak]
    unsaid = [pair for pair in leaking if pair.verdict == STRICTNESS[0]]
    blocked = [found for result in results if "tried" in result for found in blocked_of(result)]
    missed = [pair for pair in leaking if pair.verdict == "degrades"]
    apart = [one["advantage"] or 0.0 for result in results for one in result["outcomes"] if one["attack"] == APART]
    return {
        "plans": len(results),
        "failed": sum("failed" in result for result in results),
        "pairs": len(pairs),
        "precision": f"{len(right)} of {len(announced)} ({len(right) / max(len(announced), 1):.3f})",
        "recall": f"{len(right)} of {len(leaking)} ({len(right) / max(len(leaking), 1):.3f})",
        "blocked that leak": f"{sum(leaked for *_, leaked in blocked)} of {len(blocked)}, of which "
        f"{sum(is_claimed for _, is_claimed, _ in blocked)} with a claim",
        "leaks without a finding": [f"{pair.cell}: {pair.attack} {pair.by}" for pair in unsaid],
        "hidden in degrades": f"{len(missed)}, of which {sum(pair.advantage > 0.5 for pair in missed)} above .5",
        f"{APART}, above the tolerance": f"{sum(one > TOLERANCE for one in apart)} of {len(apart)}",
        "wrongly announced": Counter(pair.target for pair in announced if not pair.is_leak),
        "missed": Counter(f"{pair.target}: {pair.attack}" for pair in missed),
        "leaks of what is blocked": [name for name, _, leaked in blocked if leaked],
        "by target": {
            target: [sum(pair.target == target for pair in group) for group in (right, announced, leaking)]
            for target in ("labels", "features", "scores", "weights")
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/check_grid.jsonl"))
    parser.add_argument("--part", default="0/1", help="every N-th plan, to use several cores: 0/2 and 1/2")
    parser.add_argument("--fresh", type=int, nargs="+", required=True, help="the seeds; each draws 40 plans")
    parser.add_argument("--table", action="store_true", help="run nothing; what is in the file, with today's verdicts")
    arguments = parser.parse_args()
    feature_geometry.WORK = GEOMETRY_WORK
    share, parts = (int(word) for word in arguments.part.split("/"))
    grid = [cell for seed in arguments.fresh for cell in fresh_cells(seed)]
    done = {one["number"]: one for file in parts_of(arguments.out) for one in map(json.loads, file.open())}
    mine = arguments.out.with_suffix(f".{share}.jsonl")
    for cell in () if arguments.table else grid:
        if cell.number % parts == share and cell.number not in done:
            done[cell.number] = measured(cell)
            with mine.open("a") as file:
                file.write(json.dumps(done[cell.number]) + "\n")
            print(f"{cell.number:3} {done[cell.number].get('seconds', 0):6.1f} s  {cell.name}", flush=True)
    print(json.dumps(summary([done[cell.number] for cell in grid if cell.number in done]), indent=1))


def parts_of(out: Path) -> list[Path]:
    """Every process writes a file of its own."""
    return sorted(out.parent.glob(f"{out.stem}.*.jsonl"))


if __name__ == "__main__":
    main()
