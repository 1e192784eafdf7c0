"""The demo: one model of the bundled breast cancer data, three ways, each attacked with everything that parties saw.

By `exchange`, as it is usually shipped; by `exchange` with noise that keeps labels; and on `shares`. All of it is
encrypted with 2048-bit keys. The bank holds the label and 8 columns, the fund 22: with 20 rows a batch the fund's own
gradients fix every label, which is the point of the paper (section 4).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.checking.findings import reasons, table_lines
from plumbob.crypto import engines
from plumbob.data import Batch
from plumbob.lab.audit import audit
from plumbob.lab.audit.again import in_clear
from plumbob.lab.audit.defences import outcome_of
from plumbob.lab.audit.filing import with_findings
from plumbob.lab.audit.redteam import passive_names
from plumbob.lab.audit.truth import Truth
from plumbob.lab.reports.compared_runs import ComparedRun, page_of
from plumbob.lab.reports.defences import defences_table
from plumbob.lab.simulate import JointModel, Run, train
from plumbob.lab.simulate.files import LoadedTables, load_tables
from plumbob.lab.simulate.quality import assessed
from plumbob.plan import Party, Plan
from plumbob.record import RunRecord
from plumbob.report.decision_page import summary_of
from plumbob.report.page import as_text
from plumbob.report.run import page_of as run_page
from plumbob.report.run import quality_table
from plumbob.run_folder import REPORT, RunFolder

TITLE = "One model, three ways"
DATASET = "breast-cancer"
EPSILON = 2.0
RUNS: Mapping[str, Mapping[str, Any]] = {
    "exchange": {"protocol": "exchange"},
    "exchange with noise": {"protocol": "exchange", "noise": "sound", "epsilon": EPSILON},
    # As a new plan has it, with the number of passes that the public rule gives: what we recommend, shown as it is.
    "shares": {"protocol": "shares", "open": "never", "epochs": 0, "intercept": True, "row_norm": 0.0},
}
STORIES = {
    "exchange": "each party sees its own gradient in every step; the fund solves its equations for the bank's labels",
    "exchange with noise": (
        f"the bank adds noise before it encrypts: every label has differential privacy with epsilon {EPSILON:g} and "
        "delta 1e-6, whatever the fund does; nothing is promised about columns"
    ),
    "shares": "nobody sees a gradient, and the weights stay shared: the parties score new rows together",
}
ON_RECORDS = tuple(passive_names())
FOLDERS = {name: name.replace(" ", "-") for name in RUNS}


@dataclass(frozen=True)
class DemoSettings:
    """The size of the work: near a minute on two cores."""

    epochs: int
    key_bits: int = 2048
    engine: str = "auto"
    attacks: Sequence[str] | None = None
    """Those to run; None: all."""

    @classmethod
    def for_this_machine(cls) -> "DemoSettings":
        """Fewer epochs, and no attack that trains again, where only the slower engine is installed."""
        return cls(epochs=5) if engines.native_is_built() else cls(epochs=2, attacks=ON_RECORDS)


def run(out: Path, progress: Callable[[str], None], settings: DemoSettings | None = None) -> dict[str, object]:
    """Train and attack three times, lay the results side by side, write them to `out`."""
    started = time.perf_counter()
    # First, so that nothing is calculated that cannot be written.
    out.mkdir(parents=True, exist_ok=True)
    chosen = settings or DemoSettings.for_this_machine()
    loaded = load_tables(plan_for("exchange", chosen), [DATASET])
    runs = {name: _attack(name, chosen, loaded, progress) for name in RUNS}
    compared = [_compare(name, finished) for name, finished in runs.items()]
    for one in compared:
        _save(runs[one.name], out / FOLDERS[one.name])
    difference = _difference_from_clear(runs["exchange"], chosen, loaded)
    seconds = time.perf_counter() - started
    about, sentences = _about(compared[0].record), _sentences(difference, seconds)
    report = out / REPORT
    report.write_text(page_of(TITLE, about, sentences, compared), encoding="utf-8")
    return {
        "out": str(out),
        "report": str(report),
        "seconds": seconds,
        "engine": compared[0].record.engine,
        "largest_weight_difference": difference,
        "runs": [one.outcome.to_dict() for one in compared],
        "lines": [about, *_lines(compared), *sentences, f"{report}"],
    }


def plan_for(name: str, settings: DemoSettings) -> Plan:
    """The same rows, keys and seed; `exchange` in small batches, as it is usually run, `shares` by its own defaults."""
    parties = (Party("bank", "label", 8), Party("fund", "features", 22))
    common: dict[str, Any] = {
        "title": "The demo",
        "epochs": settings.epochs,
        "batch_size": 20,
        "row_norm": 1.0,
        "intercept": False,
        "seed": 1,
        "key_bits": settings.key_bits,
        "test_only_keys": settings.key_bits < 2048,
    }
    return Plan.for_columns((8, 22)).replace(parties=parties, **{**common, **RUNS[name]})


def _attack(name: str, settings: DemoSettings, loaded: LoadedTables, progress: Callable[[str], None]) -> Run:
    finished = _train(name, settings, loaded, progress)
    findings = audit(finished, settings.attacks, lambda line: progress(f"{name}: {line}"))
    return replace(finished, record=with_findings(finished.record, Truth.of(finished), findings))


def _compare(name: str, run: Run) -> ComparedRun:
    return ComparedRun(name, f"{STORIES[name]}.", run.record, outcome_of(run, run.record.findings, name, measured=True))


def _save(run: Run, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    run.save(folder)
    RunFolder(folder).keep_pages(run_page(run.record), summary_of(run.record))


def _train(name: str, settings: DemoSettings, loaded: LoadedTables, progress: Callable[[str], None]) -> Run:
    progress(f"{name}: training")
    said = time.monotonic()

    def tell(batch: Batch, steps: int) -> None:
        nonlocal said
        if time.monotonic() - said > 5.0:
            said = time.monotonic()
            progress(f"{name}: step {batch.step} of {steps}")

    finished = train(plan_for(name, settings), loaded.tables, engine=settings.engine, progress=tell)
    return assessed(finished, loaded.tables, loaded.test)


def _difference_from_clear(encrypted: Run, settings: DemoSettings, loaded: LoadedTables) -> float:
    clear = train(in_clear(plan_for("exchange", settings)), loaded.tables)
    return largest_difference(encrypted.model, clear.model)


def largest_difference(model: JointModel, other: JointModel) -> float:
    """Over all weights, in the units of training."""
    pairs = ((part.weights, other.parts[name].weights) for name, part in model.parts.items())
    return max(float(np.abs(one - two).max()) for one, two in pairs if one is not None and two is not None)


def _about(record: RunRecord) -> str:
    bank, fund = (party.features for party in record.parsed_plan.learners)
    return (
        f"{DATASET}: {record.rows} people; the bank holds the label and {bank} columns, the fund {fund}; engine "
        f"{record.engine}."
    )


def _sentences(difference: float, seconds: float) -> list[str]:
    return [
        "Everything was encrypted; the parties ran in one process and exchanged the same bytes as over a network.",
        f"The weights of exchange, trained encrypted and in the clear, differ by at most {difference:.1e}.",
        f"Training and attacks took {seconds:.1f} s.",
    ]


def _lines(compared: Sequence[ComparedRun]) -> Iterator[str]:
    """The page's tables for a terminal."""
    yield from (f"{one.name}: {one.story}" for one in compared)
    yield from as_text(defences_table([one.outcome for one in compared]))
    for one in compared:
        told = [finding for finding in one.record.findings if finding.verdict != "not applicable"]
        yield from ("", f"What the red team found: {one.name}")
        yield from [*table_lines(told), *reasons(told)] if told else ["No attack had anything to work on."]
    # The last way is the one that is recommended.
    for rows, models in compared[-1].record.quality.items():
        yield from ("", f"Quality on the {rows}, by {compared[-1].name}", *as_text(quality_table(rows, models)), "")
