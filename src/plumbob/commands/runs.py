"""`runs`: lists every run in a folder with its date, title and verdict; those that never started can be deleted."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from plumbob.errors import DataError
from plumbob.party.run_list import ListedRun, runs_in
from plumbob.privacy.rows import RowSpending

HEAD = ("run", "last written", "title", "protocol", "parties", "rows", "AUC", "status", "verdict")
USUAL_DELTA = 1e-6  # For sums over runs, whose plans may differ in it.
UNTITLED = "(no title)"  # `party propose --title` gives one.
NONE = "no runs here; name the folder that holds them, or begin with: plumbob demo"


def run(places: Sequence[Path], deletes_unstarted: bool) -> dict[str, object]:
    """List the runs, after deleting those never started if asked."""
    for place in places:
        if not place.is_dir():
            raise DataError(f"{place}: there is no such folder; name one that holds runs")
    found = runs_in(places)
    unstarted = [one for one in found if one.is_unstarted]
    deleted = unstarted if deletes_unstarted else []
    for one in deleted:
        one.remove()
    kept = [one for one in found if one not in deleted]
    return {
        "runs": [_for_json(one) for one in kept],
        "deleted": [str(one.folder) for one in deleted],
        "lines": [*_table(kept), *_row_costs(kept), *_lines(deleted, unstarted, deletes_unstarted)],
    }


def _for_json(run: ListedRun) -> dict[str, object]:
    shown = {name: value for name, value in asdict(run).items() if name != "number"}
    sides = [{"party": party, "folder": str(folder)} for party, folder in run.other_sides]
    own = {"folder": str(run.folder), "run": run.folder.name, "unstarted": run.is_unstarted}
    return {**shown, **own, "other_sides": sides}


def _table(runs: Sequence[ListedRun]) -> list[str]:
    if not runs:
        return [NONE]
    lines = [
        HEAD,
        *map(_cells, runs),
    ]
    widths = [max(len(line[place]) for line in lines) for place in range(len(HEAD))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return [shown[0], *(line for run, row in zip(runs, shown[1:], strict=True) for line in (row, *_other_sides(run)))]


def _cells(run: ListedRun) -> tuple[str, ...]:
    rows, auc = f"{run.rows:,}" if run.rows else "", "" if run.auc is None else f"{run.auc:.3f}"
    about = (run.title or UNTITLED, run.protocol, run.parties, rows, auc)
    return (str(run.folder), run.date, *about, run.status, run.verdict)


def _row_costs(runs: Sequence[ListedRun]) -> list[str]:
    """Lines on what the runs cost each row together, which no single report shows."""
    spent = [RowSpending(run.row_rho, run.row_failure) for run in runs if run.row_rho]
    if len(spent) < 2:
        return []
    together = sum(spent, RowSpending()).epsilon(USUAL_DELTA)
    return [
        "",
        f"{len(spent)} of these runs promise something about whole rows (differential privacy). Where they "
        f"used the same rows, their costs add up: all of them together cost epsilon {together:.3g} at "
        f"delta {USUAL_DELTA:g}.",
    ]


def _other_sides(run: ListedRun) -> list[str]:
    return [f"  the same run at {party}: {folder}" for party, folder in run.other_sides]


def _lines(deleted: Sequence[ListedRun], unstarted: Sequence[ListedRun], deletes: bool) -> list[str]:
    if deletes:
        named = [f"deleted, as it never started: {run.folder}" for run in deleted]
        return ["", *(named or ["every run here was started: nothing was deleted"])]
    if unstarted:
        return ["", f"{len(unstarted)} never started; to delete: plumbob runs --delete-unstarted"]
    return []
