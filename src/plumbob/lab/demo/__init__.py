"""The demo: one model of bundled credit data, trained three ways, each attacked with everything that parties saw.

By `exchange`, as several systems ship it; by `exchange` with noise that keeps labels; and on `shares`. All of it is
encrypted. The bank holds the label and 5 columns, a payment processor 18: with 16 rows per batch the processor's own
gradients fix every label, which is the point of the paper (section 4).
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.checking.check import check
from plumbob.checking.filing import figures_of_run, with_findings
from plumbob.checking.headlines import headlines
from plumbob.checking.judgement import HEADINGS
from plumbob.checking.words import CHEATING, LEAKS
from plumbob.counting import decimal, percent, seconds, size
from plumbob.data import Batch
from plumbob.lab.audit import audit
from plumbob.lab.audit.again import in_clear
from plumbob.lab.audit.redteam import passive_names
from plumbob.lab.datasets import LOANS_PARTIES
from plumbob.lab.demo.page import ComparedRun, LabelsRead, page_of
from plumbob.lab.exchange import engines
from plumbob.lab.simulate import JointModel, Run, train
from plumbob.lab.simulate.files import LoadedTables, load_tables
from plumbob.lab.simulate.quality import with_quality
from plumbob.plan import Party, Plan
from plumbob.record import Finding, RunRecord
from plumbob.report.decision import summary_of
from plumbob.report.quality import with_interval
from plumbob.report.run import page_of as run_page
from plumbob.report.tables import PageTable, as_text
from plumbob.run_folder import REPORT, RunFolder

DATASET = "loans"
EPSILON = 0.5
"""The epsilon of the noise: at 2, signs of released residuals tell more about 3,200 labels than the plan tolerates."""
RECOMMENDED = "shares"
RUNS: Mapping[str, Mapping[str, Any]] = {
    "exchange": {"protocol": "exchange"},
    "exchange with noise": {"protocol": "exchange", "noise": "sound", "epsilon": EPSILON},
    # As a new plan has it, with the number of passes that the public rule gives: what we recommend, shown as it is.
    RECOMMENDED: {"protocol": "shares"},
}
STORIES = {
    "exchange": (
        "each party sees its own gradient in every step; the processor solves its equations for the bank's labels"
    ),
    "exchange with noise": (
        f"the bank adds noise before it encrypts: every label has differential privacy with epsilon {EPSILON:g} and "
        "delta 1e-6, whatever the processor does; nothing is promised about columns"
    ),
    RECOMMENDED: "nobody sees a gradient, and the weights stay shared: the parties score new rows together",
}
CHOOSES = "label-chosen-rows"
"""The attack that is judged on the few people it chose, so that its rate says nothing about all labels."""
ON_RECORDS = tuple(passive_names())
FOLDERS = {name: name.replace(" ", "-") for name in RUNS}


@dataclass(frozen=True)
class DemoSettings:
    """The size of the work: near half a minute on two idle cores."""

    epochs: int = 2
    key_bits: int = 2048
    attacks: Sequence[str] | None = None
    """The attacks to run; None = all."""

    @classmethod
    def for_this_machine(cls) -> "DemoSettings":
        """Settings with one epoch, and no attack that trains again, where Paillier has no kernel."""
        return cls() if engines.kernel_serves() else cls(epochs=1, attacks=ON_RECORDS)


def run(out: Path, progress: Callable[[str], None], settings: DemoSettings | None = None) -> dict[str, object]:
    """Train and attack three times, compare the results, and write them to `out`."""
    started = time.perf_counter()
    # First, so that nothing is calculated that cannot be written.
    out.mkdir(parents=True, exist_ok=True)
    chosen = settings or DemoSettings.for_this_machine()
    loaded = load_tables(plan_for("exchange", chosen), [DATASET])
    runs = {name: _attack(name, chosen, loaded, progress) for name in RUNS}
    read = _labels_read(runs)
    compared = [_compare(name, finished, read[name]) for name, finished in runs.items()]
    for one in compared:
        _save(runs[one.name], out / FOLDERS[one.name])
    difference = _difference_from_clear(runs["exchange"], chosen, loaded)
    took = time.perf_counter() - started
    about, sentences = _about(compared[0].record), _sentences(difference, took, compared[0].record.engine)
    report = out / REPORT
    report.write_text(page_of(_headline(compared), about, sentences, compared), encoding="utf-8")
    return {
        "out": str(out),
        "report": str(report),
        "seconds": took,
        "engine": compared[0].record.engine,
        "largest_weight_difference": difference,
        "runs": [_as_json(run) for run in compared],
        "lines": [
            about,
            *_lines(compared),
            "",
            f"It took {seconds(took)}. The report, with every attack: {report}",
            _next(),
        ],
    }


def plan_for(name: str, settings: DemoSettings) -> Plan:
    """A plan on the same rows, keys and seed: `exchange` in small batches, as usual, `shares` by its own defaults."""
    columns = [len(names) for names in LOANS_PARTIES.values()]
    roles = zip(LOANS_PARTIES, ("label", "features"), columns, strict=True)
    common: dict[str, Any] = {
        "title": f"Who pays back: {name}",
        "parties": tuple(Party(party, role, features) for party, role, features in roles),
        "seed": 1,
    }
    studied: dict[str, Any] = {
        "epochs": settings.epochs,
        "batch_size": 16,
        "row_norm": 1.0,
        "intercept": False,
        "key_bits": settings.key_bits,
        "test_only_keys": settings.key_bits < 2048,
    }
    return Plan.for_columns(columns).replace(**common, **RUNS[name], **({} if name == RECOMMENDED else studied))


def _attack(name: str, settings: DemoSettings, loaded: LoadedTables, progress: Callable[[str], None]) -> Run:
    finished = _train(name, settings, loaded, progress)
    findings = audit(finished, settings.attacks, lambda line: progress(f"{name}: {line}"))
    return replace(finished, record=with_findings(finished.record, findings))


def _compare(name: str, run: Run, read: LabelsRead) -> ComparedRun:
    beyond = _beyond(run.record) if name == RECOMMENDED else ""
    return ComparedRun(name, f"{STORIES[name]}.", run.record, read, f"{FOLDERS[name]}/{REPORT}", beyond)


def _as_json(compared: ComparedRun) -> dict[str, object]:
    return {
        "name": compared.name,
        "protocol": compared.record.protocol,
        "labels": compared.verdict,
        "labels_read": asdict(compared.labels),
        **compared.quality,
        "seconds": compared.record.seconds,
        "bytes": compared.bytes_sent,
        "findings": [asdict(finding) for finding in compared.record.findings],
    }


def _save(run: Run, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    run.save(folder)
    RunFolder(folder).keep_pages(run_page(run.record), summary_of(run.record))


def _train(name: str, settings: DemoSettings, loaded: LoadedTables, progress: Callable[[str], None]) -> Run:
    plan = plan_for(name, settings)
    progress(f"{name}: training")

    def tell(batch: Batch, steps: int) -> None:
        progress(f"{name}: {plan.step_nouns[0]} {batch.step} of {steps}")

    finished = train(plan, loaded.tables, progress=tell)
    return with_quality(finished, loaded.tables, loaded.test)


def _difference_from_clear(encrypted: Run, settings: DemoSettings, loaded: LoadedTables) -> float:
    clear = train(in_clear(plan_for("exchange", settings)), loaded.tables)
    return largest_difference(encrypted.model, clear.model)


def largest_difference(model: JointModel, other: JointModel) -> float:
    """The largest difference over all weights, in the units of training."""
    pairs = ((part.weights, other.parts[name].weights) for name, part in model.parts.items())
    return max(float(np.abs(one - two).max()) for one, two in pairs if one is not None and two is not None)


def _about(record: RunRecord) -> str:
    bank, processor = (party.features for party in record.parsed_plan.learners)
    return (
        f"{record.rows:,} people: a bank knows who did not pay back, and {bank} columns; a payment processor holds "
        f"{processor}. They trained encrypted, in three ways; each was attacked."
    )


def _next() -> str:
    """The next command; in a shell that does not find the program yet, with what makes it work."""
    activate = "" if shutil.which("plumbob") else f"source {os.path.relpath(sys.prefix)}/bin/activate, then "
    return f"Next: {activate}plumbob lab --open, or plumbob train --help"


def _sentences(difference: float, took: float, engine: str) -> list[str]:
    return [
        "Everything was encrypted; the parties ran in one process and exchanged the same bytes as over a network.",
        f"The weights of exchange, trained encrypted and in the clear, differ by at most {difference:.1e}.",
        f"Training and attacks took {seconds(took)} with engine {engine}.",
    ]


def _labels_read(runs: Mapping[str, Run]) -> dict[str, LabelsRead]:
    """The labels read by run; where no attack had anything to work on, guessing, as well as in the other runs."""
    found = {
        name: [finding for finding in run.record.findings if _is_about_all_labels(finding)]
        for name, run in runs.items()
    }
    guessed = max(finding.baseline or 0.0 for findings in found.values() for finding in findings)
    return {
        name: LabelsRead(guessed, max([guessed, *(finding.rate or 0.0 for finding in findings)]))
        for name, findings in found.items()
    }


def _is_about_all_labels(finding: Finding) -> bool:
    return finding.target == "labels" and finding.rate is not None and finding.attack != CHOOSES


def _headline(compared: Sequence[ComparedRun]) -> str:
    exchanged, shared = compared[0].labels.in_words, compared[-1].labels.in_words
    return f"With exchange the processor reads {exchanged}. With shares it reads {shared}."


def _lines(compared: Sequence[ComparedRun]) -> Iterator[str]:
    """One screen: what the processor reads, what the model is worth, and what is left open."""
    yield from ("", _headline(compared), "")
    yield from as_text(
        PageTable(["labels right", "by guessing", "by attack", "AUC", "time", "traffic"], [*map(_row, compared)])
    )
    yield from ("", *_worth(compared[-1].record), "", *_left_open(compared[-1]))


def _row(one: ComparedRun) -> list[str]:
    costs = decimal(one.quality["auc"]), seconds(one.record.seconds), size(one.bytes_sent)
    return [one.name, percent(one.labels.guessed), percent(one.labels.read), *costs]


def _worth(record: RunRecord) -> Iterator[str]:
    """Lines on whether joining pays: the recommended run, beside the bank alone and beside pooled data."""
    names = {"local-only": "the bank alone", "joint": "together, on shares", "pooled": "pooled in one place"}
    for rows, models in record.quality.items():
        yield f"Is it worth it? AUC on the {rows}, {record.test_rows:,} people, with 95 % intervals:"
        for model, words in names.items():
            yield f"  {words:<20} {with_interval(models[model], 'auc')}"


def _could(record: RunRecord, plan: Plan) -> list[str]:
    """What a party could read under this plan if it cheated, a sentence each, in the words of the record's plan."""
    leaking = [one for one in check(plan, record.rows) if one.verdict == LEAKS and one.assumes == CHEATING]
    found = (headlines([one], figures_of_run(record)).cheating.lines for one in leaking)
    return list(dict.fromkeys(line.says for lines in found for line in lines))


def _beyond(record: RunRecord) -> str:
    """What "blocked" does not say: what a party with other software could do, and the plan that stops it."""
    plan = record.parsed_plan
    still = _could(record, plan.replace(evidence="keep", release="replayed"))
    stopped = [says for says in _could(record, plan) if says not in still]
    if not stopped:
        return ""
    return (
        f"With other software {stopped[0].rstrip('.')}. "
        'A plan with release = "replayed" stops that: scores then wait until an auditor has replayed the training.'
    )


def _left_open(run: ComparedRun) -> Iterator[str]:
    """What the recommended run does not stop, by its plan."""
    yield f"What {run.name} does not stop. {HEADINGS[CHEATING]}:"
    if run.beyond:
        yield f"  {run.beyond}"
    plan = run.record.parsed_plan.replace(evidence="keep", release="replayed")
    yield from (f"  With data of its choice {says}" for says in _could(run.record, plan))
