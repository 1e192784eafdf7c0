"""The record: what goes into JSON comes back the same, and nothing else is taken for it."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plumbob.errors import DataError
from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import FORMAT, AttackCurve, Finding, LedgerCurve, PartyRecord, Promise, RunRecord
from plumbob.run_folder import RunFolder

FINDING = Finding(
    "x",
    "y",
    "z",
    "labels",
    "leaks",
    "why",
    "section 4",
    "",
    rate=0.5,
    interval=(0.4, 0.6),
    conditions=({"name": "rank"},),
)
RECORD = replace(
    unfinished_record(Plan.for_columns((1, 2)), 10, "finished"),
    parties=[PartyRecord("label", "label", ["age"], [0.5], 0.1, 1, 2, 3, {}, {})],
    findings=[FINDING],
    predicted=[replace(FINDING, rate=None)],
    ledger=[LedgerCurve("features", "labels", "label", 10, [1, 2], [2, 4], [2, 3], True, False)],
    curves=[AttackCurve("x", "features", "label", "labels", [1], [0.5], [0.4], [0.6], 0.5, None)],
    theorems={"plan": [Promise("Lemma 6.3", "says", 1.0)], "run": []},
)


def test_there_and_back() -> None:
    """Every part of a record survives JSON with its type."""
    assert RunRecord.from_dict(json.loads(RECORD.to_json()), "here") == RECORD


@pytest.mark.parametrize(
    "change",
    [
        {"format": FORMAT - 1},
        {"more": 1},
        {"parties": [{"name": "bank"}]},
        {"findings": [{"attack": "x", "other": 1}]},
        {"ledger": [{"party": "x"}]},
        {"curves": [{"attack": "x"}]},
        {"curves": 5},
        {"theorems": []},
        {"theorems": {"plan": [{"theorem": "x", "wrong": 1}]}},
    ],
)
def test_other_records_are_refused(change: dict[str, Any]) -> None:
    """Another format, other fields, other shapes: a sentence that names the file."""
    with pytest.raises(DataError, match=r"run\.json"):
        RunRecord.from_dict(json.loads(RECORD.to_json()) | change, "run.json")


def test_a_record_is_on_the_disk_before_it_takes_the_old_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens then, there is the old one or the new one."""
    old = unfinished_record(Plan.for_columns((2, 3)), 10, "interrupted")
    RunFolder(tmp_path).save_record(old)
    fsync, before = os.fsync, (tmp_path / "run.json").read_bytes()
    seen = []

    def synced(handle: int) -> None:
        fsync(handle)
        seen.append((os.fstat(handle).st_size, (tmp_path / "run.json").read_bytes()))

    monkeypatch.setattr(os, "fsync", synced)
    RunFolder(tmp_path).save_record(replace(old, rows=12345))
    assert seen == [((tmp_path / "run.json").stat().st_size, before)]
    assert RunFolder(tmp_path).record().rows == 12345
