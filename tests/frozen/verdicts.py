"""What `check` says about a fixed set of plans and about other systems' jobs: one line for each finding, in a file.

A second file holds the worst verdict for each party, target and assumption, whatever attack it comes from: it stays
when rules are put together otherwise, and it may only get stricter, because a finding that is gone looks like an
all-clear.
"""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import plumbob
from benchmarks.check_grid import cells
from plumbob import cli
from plumbob.checking.coalitions import coalitions
from plumbob.plan import Plan
from plumbob.record import Finding
from tests.frozen.boundaries import ATTACK_OF, BOUNDARIES

TRAINED_ROWS = 27000
HEADING = "## "
STRICTNESS = ("no finding", "blocked", "degrades", "leaks")
"""The verdicts, the strictest last; where there is no finding, that is as good as the first."""
LEFT_OUT = ("chosen-column",)
"""A finding that the worst verdicts leave out: it is in every plan, and would hide what changes."""
Worst = dict[tuple[str, str, str, str], str]
"""The worst verdict by plan, party, target and assumption."""


def _grid() -> Iterator[tuple[str, Plan, int]]:
    """The plans of benchmarks/check_grid.py, those of several parties, openings and noises, and those of boundaries."""
    for cell in cells():
        yield f"grid {cell.number}: {cell.name}", cell.plan, cell.rows
    for name, (split, keys) in MORE.items():
        yield name, Plan.for_columns(split, **keys), TRAINED_ROWS
    for boundary in BOUNDARIES:
        yield from boundary.plans


MORE: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "default": ((11, 12), {}),
    "default, held out": ((11, 12), {"test_share": 0.2}),
    "default, opened": ((11, 12), {"open": "own"}),
    "default, few rows scored": ((11, 12), {"most_rows": 10}),
    "default, one row scored": ((11, 12), {"most_rows": 1}),
    "default, opened, penalty": ((11, 12), {"open": "own", "l2": 0.01}),
    "default, rows 1": ((11, 12), {"noise": "rows", "epsilon": 1.0}),
    "default, rows 4, opened": ((11, 12), {"noise": "rows", "epsilon": 4.0, "open": "own"}),
    "default of three": ((7, 8, 8), {}),
    "default of three, opened": ((7, 8, 8), {"open": "own"}),
    "default of five": ((3, 5, 5, 5, 5), {}),
    "default, one column each": ((1, 1), {}),
    "default, label party without columns": ((0, 23), {}),
    "exchange": ((11, 12), {"protocol": "exchange"}),
    "exchange of three": ((7, 8, 8), {"protocol": "exchange"}),
    "exchange, sound 1": ((11, 12), {"protocol": "exchange", "noise": "sound", "row_norm": 1.0}),
    "exchange, heuristic": ((11, 12), {"protocol": "exchange", "noise": "heuristic", "row_norm": 1.0, "epsilon": 0.5}),
    "exchange, whole replies": ((11, 12), {"protocol": "exchange", "replies": "paper"}),
    "exchange, short keys": ((11, 12), {"protocol": "exchange", "key_bits": 1024, "test_only_keys": True}),
    "arbiter": ((11, 12), {"protocol": "arbiter"}),
    "arbiter, unmasked": ((11, 12), {"protocol": "arbiter", "unmasked_gradients_for_the_arbiter": True}),
    "arbiter of three": ((7, 8, 8), {"protocol": "arbiter"}),
    "clear": ((11, 12), {"protocol": "clear"}),
    "clear, minimax": ((11, 12), {"protocol": "clear", "sigmoid": "minimax", "row_norm": 1.0}),
    "clear, exact": ((11, 12), {"protocol": "clear", "sigmoid": "exact"}),
    "clear, piecewise": ((11, 12), {"protocol": "clear", "sigmoid": "piecewise"}),
}


def of_plans() -> list[str]:
    """Every finding of every plan; of a pair on a boundary, those that the boundary is about."""
    lines = []
    for name, plan, rows in _grid():
        lines.append(f"{HEADING}{name}")
        lines += [
            f"{'/'.join(found.attacks)} {found.by} {found.against} {found.target} {found.assumes}: {found.verdict}"
            for found in plumbob.check(plan, rows=rows)
            if ATTACK_OF.get(name, found.attack) in found.attacks
        ]
    return lines


def worst_of_plans() -> Worst:
    """The worst verdict on every plan, where something degrades or leaks.

    A coalition reads at least what each of its members does.
    """
    worst: Worst = {}
    for name, plan, rows in _grid():
        together = [coalition.name for coalition in coalitions(plan)]
        for found in plumbob.check(plan, rows=rows):
            if found.attack in LEFT_OUT or found.verdict not in STRICTNESS[2:]:
                continue
            readers = [one for one in together if _reads_as_well(one, found)]
            for by in (found.by, *readers):
                key = name, by, found.target, found.assumes
                worst[key] = stricter(worst.get(key, ""), found.verdict)
    return worst


def _reads_as_well(coalition: str, found: Finding) -> bool:
    members = coalition.split("+")
    return found.by in members and any(name not in members for name in found.against.split("+"))


def stricter(*verdicts: str) -> str:
    """The strictest of several verdicts; an empty one stands for no finding."""
    return max(verdicts, key=lambda verdict: STRICTNESS.index(verdict or STRICTNESS[0]))


def worst_as_lines(worst: Worst) -> Iterator[str]:
    """One line for each plan and party."""
    lines: dict[str, dict[str, list[str]]] = {}
    for (plan, by, target, assumes), verdict in worst.items():
        lines.setdefault(plan, {}).setdefault(by, []).append(f"{target} {assumes} {verdict}")
    for plan, parties in lines.items():
        yield f"{HEADING}{plan}"
        for by, readings in parties.items():
            yield f"{by}: {', '.join(sorted(readings))}"


def worst_from_lines(lines: list[str]) -> Worst:
    """The same, read back."""
    worst: Worst = {}
    plan = ""
    for line in lines:
        if line.startswith(HEADING):
            plan = line.removeprefix(HEADING)
            continue
        by, _, readings = line.partition(": ")
        for target, assumes, verdict in (reading.split() for reading in readings.split(", ")):
            worst[plan, by, target, assumes] = verdict
    return worst


def real_jobs() -> Path | None:
    """Other systems' job files, beside the data that PLUMBOB_DATA names; None where they are not."""
    data = os.environ.get("PLUMBOB_DATA")
    folder = None if data is None else Path(data).resolve().parent / "real-jobs"
    return folder if folder is not None and folder.is_dir() else None


def of_jobs(folder: Path) -> list[str]:
    """What `check --from-*` ends with for each file, and each of its findings."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return [line for file in files for line in _of_job(file, str(file.relative_to(folder)))]


def _of_job(file: Path, name: str) -> Iterator[str]:
    system = "--from-secretflow" if "secret" in name else "--from-fate"
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        code = _exit_code(["check", system, str(file), "--rows", str(TRAINED_ROWS), "--json", "--quiet"])
    yield f"{HEADING}{name}: exit {code}"
    for found in json.loads(printed.getvalue())["findings"] if code not in (1, 2) else []:
        yield f"{'/'.join(found['attacks'])} {found['by']} {found['against']} {found['target']}: {found['verdict']}"


def _exit_code(words: list[str]) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["plumbob", *words])
        try:
            cli.main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 0
    return 0
