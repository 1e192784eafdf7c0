"""The demo: one model of the bundled breast cancer data, three times, with the same batches and start.

In the clear, by `exchange` and on `shares`, both encrypted with 2048-bit keys. The three must agree; what differs is
who could see what, and what it cost.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.crypto import engines
from plumbob.data import Batch
from plumbob.plan import Plan
from plumbob.report.page import Section, Table, as_text, render
from plumbob.report.run import quality_table, shown
from plumbob.simulation import JointModel, Run, train
from plumbob.simulation.files import LoadedTables, load_tables
from plumbob.simulation.quality import assessed

DATASET = "breast-cancer"
PROTOCOLS = ("clear", "exchange", "shares")
WHO_SEES = {
    "clear": "no cryptography: the truth that the others are compared with",
    "exchange": "each party sees its own gradient in every step, which says something about the other's data",
    "shares": "nobody sees a gradient; each party gets its own weights, at the end",
}


@dataclass(frozen=True)
class Settings:
    """The size of the work: near a minute on two cores."""

    epochs: int
    key_bits: int = 2048
    engine: str = "auto"

    @classmethod
    def for_this_machine(cls) -> "Settings":
        """Fewer epochs where only the slower engine is installed."""
        return cls(epochs=10 if engines.native_is_built() else 4)


def run(out: Path, progress: Callable[[str], None], settings: Settings | None = None) -> dict[str, object]:
    """Train three times, lay the results side by side, write them to `out`."""
    started = time.perf_counter()
    chosen = settings or Settings.for_this_machine()
    loaded = load_tables(plan_for("clear", chosen), [DATASET])
    runs = {protocol: _trained(protocol, chosen, loaded, progress) for protocol in PROTOCOLS}
    for protocol, finished in runs.items():
        (out / protocol).mkdir(parents=True, exist_ok=True)
        finished.save(out / protocol)
    comparison = [compared(finished, runs["clear"]) for finished in runs.values()]
    seconds = time.perf_counter() - started
    report = out / "report.html"
    sections = list(_sections(runs, comparison, seconds))
    report.write_text(render("Plumbob's demo", sections), encoding="utf-8")
    return {
        "out": str(out),
        "report": str(report),
        "seconds": seconds,
        "engine": runs["exchange"].record.engine,
        "runs": comparison,
        "lines": [*_lines(sections), f"{report}"],
    }


def plan_for(protocol: str, settings: Settings) -> Plan:
    """The same plan for each protocol; its seed is fixed, so that the runs can be compared."""
    return Plan.for_columns(
        (15, 15),
        title="The demo",
        protocol=protocol,
        epochs=settings.epochs,
        batch_size=64,
        seed=1,
        key_bits=settings.key_bits,
        test_only_keys=settings.key_bits < 2048,
    )


def compared(finished: Run, clear: Run) -> dict[str, Any]:
    """What is laid side by side of one run."""
    (models,) = finished.record.quality.values()
    return {
        "protocol": finished.record.protocol,
        "largest_weight_difference": largest_difference(finished.model, clear.model),
        "auc": models["joint"]["auc"],
        "seconds": finished.record.seconds,
        "bytes": sum(party.bytes_sent for party in finished.record.parties),
        "encryptions": sum(party.encryptions for party in finished.record.parties),
        "who_sees": WHO_SEES[finished.record.protocol],
    }


def largest_difference(model: JointModel, other: JointModel) -> float:
    """Over all weights, in the units of training."""
    pairs = ((part.weights, other.parts[name].weights) for name, part in model.parts.items())
    return max(float(np.abs(one - two).max()) for one, two in pairs if one is not None and two is not None)


def _trained(protocol: str, settings: Settings, loaded: LoadedTables, progress: Callable[[str], None]) -> Run:
    plan = plan_for(protocol, settings)
    progress(f"{protocol}: training")
    said = time.monotonic()

    def tell(batch: Batch, steps: int) -> None:
        nonlocal said
        if time.monotonic() - said > 5.0:
            said = time.monotonic()
            progress(f"{protocol}: step {batch.step} of {steps}")

    finished = train(plan, loaded.tables, engine=settings.engine, progress=tell)
    return assessed(finished, loaded.tables, loaded.test)


def _sections(runs: Mapping[str, Run], comparison: list[dict[str, Any]], seconds: float) -> list[Section]:
    record = runs["exchange"].record
    (rows,), (models,) = record.quality, record.quality.values()
    heading = f"{record.rows} people, 15 columns at each of two parties, {record.steps} steps, engine {record.engine}"
    sees = [f"{item['protocol']}: {item['who_sees']}." for item in comparison]
    return [
        Section("One model, three ways", [f"{DATASET}: {heading}.", *sees], _comparison_table(comparison)),
        Section(f"Quality on the {rows}", table=quality_table(rows, models)),
        Section("Time", [f"All of it took {seconds:.1f} s."]),
    ]


def _comparison_table(comparison: list[dict[str, Any]]) -> Table:
    rows = [
        [
            item["protocol"],
            f"{item['largest_weight_difference']:.1e}",
            shown(item["auc"]),
            f"{item['seconds']:.1f}",
            f"{item['bytes']:,}",
            f"{item['encryptions']:,}",
        ]
        for item in comparison
    ]
    return Table(["protocol", "weights differ by", "AUC", "seconds", "bytes", "encryptions"], rows)


def _lines(sections: list[Section]) -> list[str]:
    lines: list[str] = []
    for section in sections:
        table = as_text(section.table) if section.table is not None else []
        lines += [section.heading, *section.sentences, *table, ""]
    return lines[:-1]
