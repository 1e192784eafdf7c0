"""`train`: all parties on this machine, from tables to a folder with record, parts, transcripts and report.

The folder says at any moment what it holds: run.json is there from the start, and its status is `finished` only at
the end.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from plumbob.commands.progress import StepProgress
from plumbob.data import Table
from plumbob.errors import DataError, PlumbobError
from plumbob.plan import Plan
from plumbob.report.page import as_text
from plumbob.report.run import page_of, quality_table, summary, warnings
from plumbob.simulation import Run, train
from plumbob.simulation.files import load_tables
from plumbob.simulation.quality import assessed
from plumbob.simulation.training import unfinished_record


@dataclass(frozen=True)
class Inputs:
    """Where the data come from, as the command line names it."""

    data: list[str]
    id_column: str | None = None
    label_column: str | None = None
    data_dir: Path | None = None


@dataclass(frozen=True)
class Means:
    """How the work is done, which changes no result."""

    engine: str = "auto"
    jobs: int | None = None
    accept_leaks: bool = False
    quiet: bool = False


def run(plan: Plan, inputs: Inputs, out: Path, means: Means) -> dict[str, object]:
    """Train, compare, save, report."""
    loaded = load_tables(plan, inputs.data, inputs.id_column, inputs.label_column, inputs.data_dir)
    make_folder(out)
    report = out / "report.html"
    # An earlier run's page must not be taken for that of one which did not end.
    report.unlink(missing_ok=True)
    trained = _train_marked(plan, loaded.tables, out, means)
    finished = assessed(trained, loaded.tables, loaded.test)
    record = replace(finished.record, accepted_leaks=means.accept_leaks)
    replace(finished, record=record).save(out)
    report.write_text(page_of(record), encoding="utf-8")
    lines = [summary(record), *warnings(record)]
    for rows, models in record.quality.items():
        lines += [f"quality on the {rows}:", *as_text(quality_table(rows, models))]
    lines.append(f"{report}")
    return {"out": str(out), "report": str(report), "data": loaded.source, **record.to_dict(), "lines": lines}


def make_folder(out: Path) -> None:
    """The folder to write to, or a reason why it cannot be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: the folder cannot be made ({type(error).__name__})") from error


def _train_marked(plan: Plan, tables: Mapping[str, Table], out: Path, means: Means) -> Run:
    """The run.json of a run that does not come to its end says so, and how far it came."""
    rows = len(tables[plan.label_party.name])
    rows -= plan.held_out(rows)
    unfinished_record(plan, rows, "running").save(out)
    started = time.perf_counter()
    with StepProgress(plan.protocol, means.quiet) as progress:
        try:
            return train(plan, tables, engine=means.engine, jobs=means.jobs, progress=progress)
        except (KeyboardInterrupt, PlumbobError) as error:
            word = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            status = f"{word} {progress.where}"
            unfinished_record(plan, rows, status, progress.reached, time.perf_counter() - started).save(out)
            progress.say(f"{status}; {out / 'run.json'} says so")
            raise
