"""What is kept for the report: before a run what the plan says, after it what was found."""

import json
from dataclasses import replace

from plumbob.checking.filing import with_predictions
from plumbob.lab.audit.filing import with_findings
from plumbob.lab.audit.redteam import audit
from plumbob.lab.audit.truth import Truth
from plumbob.record import RunRecord
from tests.lab.audit.support import small_run


def test_predictions_need_the_plan_only() -> None:
    """A record of one party's own side has them too."""
    record = small_run(epochs=2, batch_size=8).record
    own = with_predictions(replace(record, parties=record.parties[:1], transcripts={}))
    assert {one.rate for one in own.predicted} == {None}
    assert all(one.is_planned for one in own.ledger)
    assert own.curves == []
    assert own.findings == []


def test_findings_with_all_that_belongs_to_them() -> None:
    """Findings, ledger as seen, curves and theorems come back from JSON as they were."""
    run = small_run(epochs=2, batch_size=8, noise="std", noise_std=0.5, row_norm=1.0)
    filed = with_findings(run.record, Truth.of(run), audit(run, ["label-sign", "label-average"]))
    assert {one.attack for one in filed.curves} == {"label-sign", "label-average"}
    assert not any(one.is_planned for one in filed.ledger)
    assert filed.theorems["plan"]
    assert filed.theorems["run"]
    assert RunRecord.from_dict(json.loads(filed.to_json()), "here") == filed
