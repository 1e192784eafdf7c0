"""Records and pages for a real browser: made once for all modules that look at them."""

from dataclasses import replace
from functools import cache
from typing import Any

from plumbob.checking.filing import with_findings, with_predictions
from plumbob.lab.audit.redteam import audit, passive_names
from plumbob.lab.demo.page import ComparedRun, LabelsRead
from plumbob.lab.simulate import Run
from plumbob.record import RunRecord
from tests.lab.audit.support import small_run

QUALITY: dict[str, dict[str, dict[str, float | None]]] = {
    "test part": {
        "joint": {"auc": 0.83, "accuracy": 0.8},
        "local-only": {"auc": 0.7},
        "pooled": {"auc": 0.9, "accuracy": None},
    }
}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "exchange": ("exchange", {"batch_size": 8, "row_norm": 1.0}),
    "noise": ("exchange", {"batch_size": 8, "row_norm": 1.0, "noise": "std", "noise_std": 9.0}),
    "shares": ("shares", {}),
}


def audited(run: Run) -> RunRecord:
    """A run's record with everything that an audit leaves in it."""
    return with_findings(run.record, audit(run, passive_names()))


@cache
def noisy_record() -> RunRecord:
    """An audited run with noise, so that no section is missing."""
    run = small_run((2, 9), rows=60, epochs=3, batch_size=8, noise="std", noise_std=0.3, row_norm=1.0, title="A run")
    epochs: list[dict[str, float | None]] = [{"epoch": float(at), "auc": 0.8 + at / 100} for at in (1, 2, 3)]
    return replace(audited(run), quality=QUALITY, epochs=epochs)


def own_side(record: RunRecord) -> RunRecord:
    """What one party has of it: nobody attacked, and only predictions are known."""
    return with_predictions(replace(record, parties=record.parties[:1], findings=[]))


@cache
def three_ways() -> tuple[ComparedRun, ...]:
    """The demo's three ways on made-up rows."""
    found = []
    for name, (protocol, keys) in WAYS.items():
        record = audited(small_run((2, 9), rows=60, epochs=3, protocol=protocol, **keys))
        found.append(
            ComparedRun(name, "a story.", replace(record, quality=QUALITY), LabelsRead(0.5, 0.75), f"{name}.html")
        )
    return tuple(found)
