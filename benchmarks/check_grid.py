"""How often `check` is right: its verdicts on a grid of plans against the red team on real runs of the same plans.

    python -m benchmarks.check_grid --out benchmarks/results/check_grid.jsonl [--part 0/2] [--only 12 13] [--table]
    python -m benchmarks.check_grid --fresh 7 --out benchmarks/results/fresh.jsonl

No attack that `check` calls blocked may succeed (advantage above the plan's tolerance), and of those that it says will
leak at least 97 % must. Findings that had nothing to gain are counted apart (`has_room`). A cell that is in the file
already is not run again, so that an interrupted grid can be resumed. `exchange` and `arbiter` cells are trained in
`clear`, whose views are the same; their active attacks, which need real messages, and `shares` run on few rows with
short test keys. Prints a table and one JSON object.

`--fresh SEED` draws plans at random over four data sets, two of which no rule was ever fitted to: `telco/telco.csv` and
`hmeq/hmeq.csv` in the folder that PLUMBOB_DATA names.
"""

import argparse
import csv
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from plumbob import datasets
from plumbob.arrays import Labels, Matrix, Vector
from plumbob.checking.at_home import at_home
from plumbob.checking.check import check
from plumbob.checking.figures import AtHome
from plumbob.data import Table, split_array
from plumbob.errors import DivergenceError
from plumbob.lab.attacks import ACTIVE, PASSIVE, Attack, feature_geometry, label_only
from plumbob.lab.audit.again import in_clear
from plumbob.lab.audit.redteam import _on_opened_weights, act_out, chosen
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
    is_active: bool = False

    @property
    def plan(self) -> Plan:
        split, keys = self.keys["split"], {name: value for name, value in self.keys.items() if name != "split"}
        return Plan.for_columns(split, seed=self.number + 1, rows=self.rows, **keys)

    @property
    def name(self) -> str:
        keys = " ".join(f"{name}={value}" for name, value in self.keys.items() if name not in TEST_KEYS)
        return f"{self.data} n={self.rows} {keys}"


def cells(turn: int = 0) -> list[Cell]:
    """Every size of batch with epochs, splits, starts, protocols and noise in turn, then corners.

    Another `turn` gives other combinations, to see whether rules that hold on the first ones hold on those too.
    """
    found: list[Cell] = []

    def add(data: str, rows: int, split: tuple[int, ...], is_active: bool = False, **keys: Any) -> None:
        found.append(Cell(1000 * turn + len(found), data, rows, {"split": split, **keys}, is_active))

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
            add(data, 300, split, is_active=True, **{"epochs": 2, **TEST_KEYS, **keys})
        for opened in ("own", "never"):
            add(data, 200, split, True, protocol="shares", open=opened, batch_size=32, epochs=2, **TEST_KEYS)
        add(data, 300, split, True, protocol="shares", batch_size=64, epochs=1, start="xavier", **TEST_KEYS)
    return found


FRESH_COLUMNS = {"credit": 23, "breast-cancer": 30, "telco": 45, "hmeq": 20}
FRESH_NOISE = ("none", "none", "none", "none", "std 0.5", "std 2", "sound 1")


def fresh_cells(seed: int, passive: int = 7) -> list[Cell]:
    """Plans drawn at random: for each data set some that are trained in `clear`, one of `exchange`, one of `shares`."""
    draw, found = np.random.default_rng(seed), list[Cell]()

    def split_of(columns: int) -> tuple[int, int]:
        ours = int(draw.choice([1, columns // 4, columns // 2, 3 * columns // 4, columns - 1]))
        return ours, columns - ours

    for data, columns in FRESH_COLUMNS.items():
        for _ in range(passive):
            keys: dict[str, Any] = {
                "split": split_of(columns),
                "protocol": str(draw.choice(["exchange", "arbiter"])),
                "batch_size": min(int(draw.choice(BATCHES[:7])), 256 if data == "breast-cancer" else 512),
                "epochs": int(draw.choice(EPOCHS[:6])),
                "start": str(draw.choice(STARTS)),
                **NOISE[str(draw.choice(FRESH_NOISE))],
            }
            found.append(Cell(100 * seed + len(found), data, 455 if data == "breast-cancer" else 1000, keys))
        shape = {"split": split_of(columns), "batch_size": int(draw.choice([32, 64, 128])), "epochs": 2, **TEST_KEYS}
        found.append(Cell(100 * seed + len(found), data, 200, {**shape, "protocol": "exchange"}, is_active=True))
        opened = {"protocol": "shares", "open": "own", "epochs": 1}
        found.append(Cell(100 * seed + len(found), data, 200, {**shape, **opened}, is_active=True))
    return found


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


def measured(cell: Cell) -> dict[str, Any]:
    """Check, train, attack."""
    plan, started = cell.plan, time.perf_counter()
    predicted = check(plan)
    try:
        found = reached(cell, plan)
    except DivergenceError as error:
        return {"number": cell.number, "cell": cell.name, "diverged": str(error), "compared": []}
    by_key = {key_of(finding): finding for finding in found}
    # Active attacks are judged only where they were tried.
    tried = {attack.name for attack in PASSIVE} | {attack.name for attack in ACTIVE if cell.is_active}
    compared = [compare(one, by_key.get(key_of(one)), plan) for one in predicted if one.attack in tried]
    seconds = round(time.perf_counter() - started, 1)
    return {"number": cell.number, "cell": cell.name, "seconds": seconds, "compared": compared}


def reached(cell: Cell, plan: Plan) -> list[Finding]:
    """The red team's findings on a real run."""
    tables = tables_of(cell, plan)
    trained = plan if plan.protocol == "shares" else in_clear(plan)
    truth = Truth.of(train(trained, tables))
    found = []
    for name, view in truth.views.items():
        for attack in chosen(PASSIVE, view.role, None):
            found += scored(attack, name, within_reason(attack)(view), truth)
        if cell.is_active:
            with_messages = Truth(plan, truth.views)
            for active in chosen(ACTIVE, view.role, None):
                found += act_out(active, name, with_messages)
    return [_on_opened_weights(plan, finding) for finding in found]


def home_of(cell: Cell) -> AtHome:
    """What the label party knows from its own table."""
    plan = cell.plan
    label_party = plan.label_party.name
    return at_home(plan, tables_of(cell, plan)[label_party], label_party)


def tables_of(cell: Cell, plan: Plan) -> dict[str, Table]:
    X, y = loaded(cell.data)
    rows = np.random.default_rng(cell.number).permutation(len(X))[: cell.rows]
    parts = split_array(X[rows], y[rows], [party.features for party in plan.learners])
    return {party.name: part for party, part in zip(plan.learners, parts, strict=True)}


def within_reason(attack: Attack) -> Attack:
    """The same attack with seconds in place of minutes."""
    if attack.name == "label-only":
        return replace(attack, run=partial(label_only.recover_labels, seconds=DECODING_SECONDS))
    return attack


def key_of(finding: Finding) -> tuple[str, str, str, str]:
    return finding.attack, finding.by, finding.against, finding.target


def compare(predicted: Finding, found: Finding | None, plan: Plan) -> dict[str, Any]:
    """One verdict beside one outcome."""
    tolerance = plan.tolerance_labels if predicted.target == "labels" else plan.tolerance_features
    advantage = None if found is None else found.advantage
    return {
        "attack": predicted.attack,
        "by": predicted.by,
        "target": predicted.target,
        "check": predicted.verdict,
        "audit": "not applicable" if found is None else found.verdict,
        "advantage": advantage,
        "succeeds": advantage is not None and advantage > tolerance,
        "rate": None if found is None else found.rate,
        "baseline": None if found is None else found.baseline,
        "auc": None if found is None else found.auc,
        "baseline_auc": None if found is None else found.baseline_auc,
        "why": predicted.why,
    }


def verdicts_again(stored: dict[str, Any], cell: Cell, with_data: bool = False) -> dict[str, Any]:
    """Outcomes as they were stored, beside what `check` says today."""
    home = home_of(cell) if with_data else None
    verdicts = {(one.attack, one.by, one.target): one for one in check(cell.plan, home=home)}
    compared = []
    for one in stored["compared"]:
        today = verdicts[(one["attack"], one["by"], one["target"])]
        compared.append({**one, "check": today.verdict, "why": today.why})
    return {**stored, "compared": compared}


def has_room(one: dict[str, Any]) -> bool:
    """Whether there was anything to gain: a claim that is right about everybody, and no leak, had nothing to work on.

    So it is where all people who were read have the more frequent label, or own columns predict them all.
    """
    return bool(one["succeeds"] or one["rate"] != 1.0)


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """What must hold, and what does not."""
    everything = [{"cell": result["cell"], **one} for result in results for one in result["compared"]]
    pairs = [one for one in everything if has_room(one)]
    table = Counter((one["attack"], one["target"], one["check"], one["audit"]) for one in pairs)
    leaks = [one for one in pairs if one["check"] == "leaks"]
    told = [one for one in leaks if one["succeeds"]]
    untold = [one for one in pairs if one["succeeds"] and one["check"] != "leaks"]
    return {
        "plans": len(results),
        "diverged": sum("diverged" in result for result in results),
        "findings": len(pairs),
        "without_room": len(everything) - len(pairs),
        "blocked": sum(one["check"] == "blocked" for one in pairs),
        "blocked_that_succeed": [one for one in pairs if one["check"] == "blocked" and one["succeeds"]],
        "leaks": len(leaks),
        "leaks_that_do": len(told),
        "leaks_that_do_not": [one for one in leaks if not one["succeeds"]],
        "succeed": sum(one["succeeds"] for one in pairs),
        "succeed_told_before": len(told),
        "precision": round(len(told) / max(len(leaks), 1), 3),
        "recall": round(len(told) / max(sum(one["succeeds"] for one in pairs), 1), 3),
        "succeed_untold": Counter(f"{one['attack']} {one['target']}: {one['check']}" for one in untold),
        "table": [[*key, count] for key, count in sorted(table.items())],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/check_grid.jsonl"))
    parser.add_argument("--part", default="0/1", help="every N-th cell, to use several cores: 0/2 and 1/2")
    parser.add_argument("--only", type=int, nargs="*", help="these cells")
    parser.add_argument("--turn", type=int, default=0, help="other combinations than the first ones")
    parser.add_argument("--fresh", type=int, help="plans drawn at random with this seed, over four data sets")
    parser.add_argument("--data", action="store_true", help="judge with what the label party knows from its own table")
    parser.add_argument("--table", action="store_true", help="run nothing; what is in the file, with today's verdicts")
    arguments = parser.parse_args()
    feature_geometry.WORK = GEOMETRY_WORK
    share, parts = (int(word) for word in arguments.part.split("/"))
    grid = cells(arguments.turn) if arguments.fresh is None else fresh_cells(arguments.fresh)
    done = {one["number"]: one for file in parts_of(arguments.out) for one in map(json.loads, file.open())}
    mine = arguments.out.with_suffix(f".{share}.jsonl")
    for cell in () if arguments.table else grid:
        is_asked = cell.number in arguments.only if arguments.only else cell.number % parts == share
        if is_asked and cell.number not in done:
            done[cell.number] = measured(cell)
            with mine.open("a") as file:
                file.write(json.dumps(done[cell.number]) + "\n")
            print(f"{cell.number:3} {done[cell.number].get('seconds', 0):6.1f} s  {cell.name}", flush=True)
    results = [verdicts_again(done[cell.number], cell, arguments.data) for cell in grid if cell.number in done]
    shown = summary(results)
    for row in shown.pop("table"):
        print("{:20} {:9} {:15} {:15} {:4}".format(*row))
    print(json.dumps(shown, indent=1))


def parts_of(out: Path) -> list[Path]:
    """Every process writes a file of its own."""
    return sorted(out.parent.glob(f"{out.stem}.*.jsonl"))


if __name__ == "__main__":
    main()
