"""The demo: one model of the bundled breast cancer data, three ways, each attacked with everything that parties saw.

By `exchange`, as it is usually shipped; by `exchange` with noise that keeps labels; and on `shares`. All of it is
encrypted with 2048-bit keys. The bank holds the label and 8 columns, the fund 22: with 20 rows a batch the fund's own
gradients fix every label, which is the point of the paper (section 4).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from plumbob.attacks import PASSIVE
from plumbob.auditor import audit
from plumbob.auditor.defences import Outcome, in_clear, outcome_of
from plumbob.crypto import engines
from plumbob.data import Batch
from plumbob.plan import Party, Plan
from plumbob.report.defences import defences_table
from plumbob.report.page import Section, as_text, render
from plumbob.report.run import findings_table, quality_table, reasons
from plumbob.simulation import JointModel, Run, train
from plumbob.simulation.files import LoadedTables, load_tables
from plumbob.simulation.quality import assessed

DATASET = "breast-cancer"
EPSILON = 2.0
RUNS: Mapping[str, Mapping[str, Any]] = {
    "exchange": {"protocol": "exchange"},
    "exchange with noise": {"protocol": "exchange", "noise": "sound", "epsilon": EPSILON},
    "shares": {"protocol": "shares"},
}
STORIES = {
    "exchange": "each party sees its own gradient in every step; the fund solves its equations for the bank's labels",
    "exchange with noise": (
        f"the bank adds noise before it encrypts: every label has epsilon {EPSILON:g} and delta 1e-6, whatever "
        "the fund does; it is no promise about anybody's columns"
    ),
    "shares": "nobody sees a gradient; each party gets its own weights, at the end, one equation a column",
}
ON_RECORDS = tuple(dict.fromkeys(attack.name for attack in PASSIVE))
# Active attacks train again; this one reads labels from opened weights too, so that it belongs in the comparison.
ATTACKS = (*ON_RECORDS, "label-chosen-rows")
FOLDERS = {name: name.replace(" ", "-") for name in RUNS}


@dataclass(frozen=True)
class Settings:
    """The size of the work: near a minute on two cores."""

    epochs: int
    key_bits: int = 2048
    engine: str = "auto"
    attacks: Sequence[str] = ATTACKS

    @classmethod
    def for_this_machine(cls) -> "Settings":
        """Fewer epochs, and no attack that trains again, where only the slower engine is installed."""
        return cls(epochs=5) if engines.native_is_built() else cls(epochs=2, attacks=ON_RECORDS)


@dataclass(frozen=True, repr=False)
class Shown:
    """One run, what the red team made of it, and how it stands in the comparison."""

    run: Run
    outcome: Outcome


def run(out: Path, progress: Callable[[str], None], settings: Settings | None = None) -> dict[str, object]:
    """Train and attack three times, lay the results side by side, write them to `out`."""
    started = time.perf_counter()
    chosen = settings or Settings.for_this_machine()
    loaded = load_tables(plan_for("exchange", chosen), [DATASET])
    shown = {name: _shown(name, chosen, loaded, progress) for name in RUNS}
    for name, item in shown.items():
        folder = out / FOLDERS[name]
        folder.mkdir(parents=True, exist_ok=True)
        item.run.save(folder)
    difference = _difference_from_clear(shown["exchange"].run, chosen, loaded)
    sections = _sections(shown, difference)
    seconds = time.perf_counter() - started
    sections.append(Section("Time", [f"All of it took {seconds:.1f} s."]))
    report = out / "report.html"
    report.write_text(render("Plumbob's demo", sections), encoding="utf-8")
    return {
        "out": str(out),
        "report": str(report),
        "seconds": seconds,
        "engine": shown["exchange"].run.record.engine,
        "largest_weight_difference": difference,
        "runs": [item.outcome.to_dict() for item in shown.values()],
        "lines": [*_lines(sections), f"{report}"],
    }


def plan_for(name: str, settings: Settings) -> Plan:
    """The same plan but for the defence; its seed is fixed, so that the runs can be compared."""
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
    return Plan.for_columns((8, 22)).replace(parties=parties, **common, **RUNS[name])


def _shown(name: str, settings: Settings, loaded: LoadedTables, progress: Callable[[str], None]) -> Shown:
    finished = _trained(name, settings, loaded, progress)
    findings = audit(finished, settings.attacks, lambda line: progress(f"{name}: {line}"))
    finished = replace(finished, record=replace(finished.record, findings=findings))
    return Shown(finished, outcome_of(finished, findings, name, measured=True))


def _trained(name: str, settings: Settings, loaded: LoadedTables, progress: Callable[[str], None]) -> Run:
    progress(f"{name}: training")
    said = time.monotonic()

    def tell(batch: Batch, steps: int) -> None:
        nonlocal said
        if time.monotonic() - said > 5.0:
            said = time.monotonic()
            progress(f"{name}: step {batch.step} of {steps}")

    finished = train(plan_for(name, settings), loaded.tables, engine=settings.engine, progress=tell)
    return assessed(finished, loaded.tables, loaded.test)


def _difference_from_clear(encrypted: Run, settings: Settings, loaded: LoadedTables) -> float:
    clear = train(in_clear(plan_for("exchange", settings)), loaded.tables)
    return largest_difference(encrypted.model, clear.model)


def largest_difference(model: JointModel, other: JointModel) -> float:
    """Over all weights, in the units of training."""
    pairs = ((part.weights, other.parts[name].weights) for name, part in model.parts.items())
    return max(float(np.abs(one - two).max()) for one, two in pairs if one is not None and two is not None)


def _sections(shown: Mapping[str, Shown], difference: float) -> list[Section]:
    record = shown["exchange"].run.record
    outcomes = [item.outcome for item in shown.values()]
    (rows,), (models,) = record.quality, record.quality.values()
    heading = [
        f"{DATASET}: {record.rows} people; the bank holds the label and 8 columns, the fund 22; {record.steps} steps, "
        f"engine {record.engine}.",
        f"Encrypted and clear weights differ by at most {difference:.1e}.",
        *(f"{name}: {story}." for name, story in STORIES.items()),
    ]
    return [
        Section("One model, three ways", heading, defences_table(outcomes)),
        *(_findings_section(name, item) for name, item in shown.items()),
        Section(f"Quality on the {rows}, by exchange", table=quality_table(rows, models)),
    ]


def _findings_section(name: str, item: Shown) -> Section:
    told = [finding for finding in item.outcome.findings if finding.verdict != "not applicable"]
    heading = f"What the red team found: {name}"
    if not told:
        return Section(heading, ["No attack had anything to work on."])
    return Section(heading, list(reasons(told)), findings_table(told))


def _lines(sections: Sequence[Section]) -> list[str]:
    lines: list[str] = []
    for section in sections:
        table = as_text(section.table) if section.table is not None else []
        lines += [section.heading, *section.sentences, *table, ""]
    return lines[:-1]
