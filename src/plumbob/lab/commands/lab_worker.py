"""The lab's run in its own process: reads one job from standard input, then writes one JSON object per event.

It is `audit` step by step, so that each attack's result is told as soon as it is scored. The process ends when it is
interrupted, and when the lab that started it is gone: then standard input is closed.
"""

import _thread
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from plumbob.checking.filing import with_predictions
from plumbob.counting import seconds
from plumbob.errors import PlumbobError
from plumbob.lab.audit.again import as_seen_under, in_clear
from plumbob.lab.audit.redteam import BY_RULE_ALONE, audit, passive_names
from plumbob.lab.audit.truth import Truth
from plumbob.lab.commands import train as training
from plumbob.lab.commands.attack import file_findings
from plumbob.lab.page.own_tables import TableReading
from plumbob.lab.simulate import Run, train
from plumbob.lab.simulate.files import LoadedTables, load_tables
from plumbob.lab.simulate.quality import assessed
from plumbob.lab.simulate.training import EpochWatch
from plumbob.plan import Plan
from plumbob.protocol.outcome import Metrics
from plumbob.record import Finding
from plumbob.report import results
from plumbob.report.progress import Step, StepProgress
from plumbob.run_folder import RunFolder

SECONDS_BETWEEN_STEPS = 0.2
Emit = Callable[..., None]


@dataclass(frozen=True)
class LabRequest:
    """The job that the lab asks for."""

    plan: Plan
    data: Sequence[str]
    """A data set's name, or PARTY=FILE for each party."""
    data_dir: Path | None
    out: Path
    is_calculated: bool
    """Whether it is calculated in the clear, with the views that the plan's protocol would have given."""
    reading: TableReading

    @classmethod
    def read(cls, text: str) -> "LabRequest":
        fields = json.loads(text)
        folder = Path(fields["data_dir"]) if fields["data_dir"] else None
        return cls(
            Plan.from_toml(fields["plan"]),
            fields["data"],
            folder,
            Path(fields["out"]),
            fields["is_calculated"],
            msgspec.convert(fields["reading"], TableReading),
        )


class EventProgress(StepProgress):
    """Reports steps as events, a few per second."""

    def __init__(self, emit: Emit) -> None:
        super().__init__("", quiet=True)
        self._emit = emit
        self._began = self._told = time.monotonic()

    def __call__(self, batch: Step, steps: int) -> None:
        super().__call__(batch, steps)
        now = time.monotonic()
        if now - self._told >= SECONDS_BETWEEN_STEPS or batch.step == steps:
            self._told = now
            left = (now - self._began) / batch.done * (1.0 - batch.done)
            self._emit("step", step=batch.step, steps=steps, epoch=batch.epoch, seconds_left=round(left, 1))


def main() -> None:
    """Read the job, do it, and report how it ended."""
    job = LabRequest.read(sys.stdin.readline())
    threading.Thread(target=_leave_with_the_lab, daemon=True).start()
    try:
        perform(job, emit)
    except KeyboardInterrupt:
        emit("cancelled", text="The run was cancelled.")
    except PlumbobError as error:
        emit("failed", text=str(error))
    except OSError as error:
        emit("failed", text=f"{error.filename or 'a file'}: {error.strerror or type(error).__name__}")


def emit(event: str, **content: Any) -> None:
    """Write one line at once: the other end is waiting for it."""
    # In one write, because several parties' threads may have something to tell.
    os.write(sys.stdout.fileno(), (json.dumps({"event": event, **content}, allow_nan=False) + "\n").encode())


def perform(job: LabRequest, emit: Emit) -> None:
    """Train, judge, attack, write the report."""
    loaded = _load(job, emit)
    emit("stage", text="Training in the clear" if job.is_calculated else f"Training with {job.plan.protocol}")
    finished = _train(job, loaded, emit)
    finished.save(job.out)
    results.write_report(finished.record, job.out)
    for rows, models in finished.record.quality.items():
        emit("quality", rows=rows, models=models)
    findings = list(_attack(job, finished, emit))
    file_findings(finished.record, Truth.of(finished), findings, job.out)
    emit("done", text=f"Finished in {seconds(finished.record.seconds)} of training; the report is written.")


def _load(job: LabRequest, emit: Emit) -> LoadedTables:
    is_own = "=" in job.data[0]
    emit("stage", text="Reading your tables" if is_own else f"Reading {job.data[0]}")
    reading = job.reading
    ids = reading.id_columns([party.name for party in job.plan.learners])
    return load_tables(job.plan, job.data, ids, reading.label or None, job.data_dir, reading.choices)


def _train(job: LabRequest, loaded: LoadedTables, emit: Emit) -> Run:
    begun = training.begin(job.plan, loaded, job.out)
    computed = in_clear(job.plan) if job.is_calculated else job.plan
    watch = EpochWatch(computed, loaded.test, lambda epoch, metrics: _tell_epoch(emit, epoch, metrics))
    progress = EventProgress(emit)
    with training.marked(begun, RunFolder(job.out), progress):
        trained = train(computed, loaded.tables, instead=watch.watched(), progress=progress)
    finished = assessed(trained, loaded.tables, loaded.test)
    if job.is_calculated:
        finished = _as_calculated(job.plan, finished)
    if not watch.watched():
        # Nothing could be told on the way; in `shares` there is nothing now either.
        for metrics in finished.record.epochs:
            _tell_epoch(emit, int(metrics["epoch"] or 0), metrics)
    return replace(finished, record=with_predictions(replace(finished.record, by_place=loaded.is_by_place)))


def _as_calculated(plan: Plan, run: Run) -> Run:
    """The run with the plan's own views. In `shares` nobody could follow the epochs."""
    epochs = [] if not plan.kind.shows_gradients else run.record.epochs
    return as_seen_under(plan, replace(run, record=replace(run.record, epochs=epochs)))


def _tell_epoch(emit: Emit, epoch: int, metrics: Mapping[str, float | None] | Metrics) -> None:
    emit("epoch", epoch=epoch, auc=metrics["auc"], log_loss=metrics["log_loss"], accuracy=metrics["accuracy"])


def _attack(job: LabRequest, finished: Run, emit: Emit) -> Sequence[Finding]:
    """The findings of an audit, the same as the command line's: of passive attacks alone where nothing was sent."""
    is_sent = not job.is_calculated and job.plan.kind.is_encrypted
    only = None if is_sent else [*passive_names(), *BY_RULE_ALONE]
    findings = audit(finished, only, lambda line: emit("stage", text=line))
    for finding in findings:
        emit("finding", **{key: value for key, value in asdict(finding).items() if key != "conditions"})
    return findings


def _leave_with_the_lab() -> None:
    """Stop when standard input ends, which it does with the lab, however that ended."""
    sys.stdin.read()
    _thread.interrupt_main()


if __name__ == "__main__":
    main()
