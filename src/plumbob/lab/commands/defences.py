"""`audit --defences`: tries one defence after the other on the same data; writes a table, defences.json and a page."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from plumbob.commands.estimate import estimate
from plumbob.lab.audit.defences import DefenceComparison, DefenceOutcome, compare
from plumbob.lab.audit.redteam import not_run, refuse_unknown
from plumbob.lab.commands import train
from plumbob.lab.reports.defences_page import defences_table, page_of, sentences
from plumbob.plan import Plan
from plumbob.report import results
from plumbob.report.page import as_text
from plumbob.report.run import WARNING_BY_PLACE
from plumbob.run_folder import RunFolder


def run(
    plan: Plan,
    inputs: train.Inputs,
    out: Path,
    options: train.TrainingOptions,
    only: Sequence[str] | None,
    encrypted: bool,
    tell: Callable[[str], None],
) -> dict[str, object]:
    """Train and attack under each defence; the findings at the top are those of the plan as it is."""
    refuse_unknown(only)
    if not options.is_new:
        train.refuse_finished(out)
    loaded = train.load(plan, inputs)
    if loaded.left_out:
        tell(loaded.left_out)
    results.make_folder(out)
    comparison = DefenceComparison(
        loaded.tables, loaded.test, encrypted, only, options.engine, options.jobs, _cost_with(options.jobs), tell
    )
    outcomes = compare(plan, comparison)
    # Only now: until here it may fail, and what lay there before is still in its place.
    folder = RunFolder(out)
    folder.set_finished_run_aside()
    warned = [WARNING_BY_PLACE] if loaded.is_by_place else []
    report = folder.report_file
    report.write_text(page_of(plan.title or "Defences side by side", outcomes, warned), encoding="utf-8")
    result = {
        "out": str(out),
        "report": str(report),
        "data": inputs.source,
        "plan_hash": plan.hash(),
        "by_place": loaded.is_by_place,
        "findings": [asdict(finding) for one in outcomes if one.is_plan for finding in one.findings],
        "attacks_not_run": not_run(comparison.attacks(), plan),
        "defences": [one.to_dict() for one in outcomes],
        "notes": [*warned, *sentences(outcomes)],
    }
    folder.comparison_file.write_text(json.dumps(result, indent=2, allow_nan=False), encoding="utf-8")
    folder.earlier.remove_run()
    return {**result, "lines": [*warned, *lines_of(outcomes, report)]}


def _cost_with(jobs: int | None) -> Callable[[Plan, int], tuple[float, int]]:
    """Measures costs once for each shape of the work, so that defences of one shape do not differ by chance."""
    measured: dict[tuple[object, ...], tuple[float, int]] = {}

    def cost(plan: Plan, rows: int) -> tuple[float, int]:
        shape = (plan.protocol, plan.batches == "full", plan.batch_size)
        if shape not in measured:
            found = estimate(plan, rows, jobs)
            measured[shape] = 60 * found.minutes, found.bytes_sent
        return measured[shape]

    return cost


def lines_of(outcomes: Sequence[DefenceOutcome], report: Path) -> list[str]:
    """The table, what it does not say by itself, and where the page is."""
    return [*as_text(defences_table(outcomes)), "", *sentences(outcomes), f"{report}"]
