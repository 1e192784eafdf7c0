"""What is kept in a run's record for its report after an audit: what was found, and how it came about."""

from collections.abc import Sequence
from dataclasses import replace

from plumbob.checking.filing import with_predictions
from plumbob.lab.audit import theorems
from plumbob.lab.audit.curves import attack_curves, seen_ledger
from plumbob.lab.audit.truth import Truth
from plumbob.record import Finding, RunRecord


def with_findings(record: RunRecord, truth: Truth, findings: Sequence[Finding]) -> RunRecord:
    """The findings, how they came about step by step, and the paper's theorems beside them."""
    return replace(
        with_predictions(record),
        findings=list(findings),
        ledger=seen_ledger(truth),
        curves=attack_curves(truth, findings),
        theorems={"plan": theorems.promises(truth.plan, truth.rows), "run": theorems.measured(truth)},
    )
