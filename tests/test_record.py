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
from plumbob.record import FORMAT, Finding, InputColumn, PartyRecord, RunRecord
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
AGE = InputColumn("age", "number", "18", "90")
RECORD = replace(
    unfinished_record(Plan.for_columns((1, 2)), 10, "finished"),
    parties=[PartyRecord("label", "label", ["age"], [0.5], 0.1, 1, 2, 3, {}, {}, [AGE])],
    findings=[FINDING],
    predicted=[replace(FINDING, rate=None)],
)
STORED = json.loads(RECORD.to_json())


def test_there_and_back() -> None:
    """Every part of a record survives JSON with its type."""
    assert RunRecord.from_dict(STORED, "here") == RECORD


@pytest.mark.parametrize(
    "change",
    [
        {"format": FORMAT - 1},
        {"more": 1},
        {"parties": [{"name": "bank"}]},
        {"findings": [{"attack": "x", "other": 1}]},
        {"predicted": 5},
        {"parties": [{**STORED["parties"][0], "more": 1}]},
        {"findings": [{**STORED["findings"][0], "verdict": "fine"}]},
        {"findings": [{**STORED["findings"][0], "target": "people"}]},
        {"rows": "10"},
        {"seconds": float("nan")},
    ],
)
def test_other_records_are_refused(change: dict[str, Any]) -> None:
    """Another format, other fields, other shapes: a sentence that names the file."""
    with pytest.raises(DataError, match=r"run\.json"):
        RunRecord.from_dict(STORED | change, "run.json")


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
