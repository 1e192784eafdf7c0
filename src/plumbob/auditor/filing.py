"""What is kept in a run's record for its report: what was said before the run, and what was found after it."""

from collections.abc import Sequence
from dataclasses import replace

from plumbob.auditor import theorems
from plumbob.auditor.agreement import predictions
from plumbob.auditor.curves import attack_curves, planned_ledger, seen_ledger
from plumbob.auditor.truth import Truth
from plumbob.plan import Plan
from plumbob.record import Finding, RunRecord


def with_predictions(record: RunRecord) -> RunRecord:
    """What the plan alone says of a run on so many rows: all that a party on a network can know."""
    plan = Plan.from_toml(record.plan)
    return replace(record, predicted=predictions(plan, record.rows), ledger=planned_ledger(plan, record.rows))


def with_findings(record: RunRecord, truth: Truth, findings: Sequence[Finding]) -> RunRecord:
    """The findings, how they came about step by step, and the paper's theorems beside them."""
    return replace(
        with_predictions(record),
        findings=list(findings),
        ledger=seen_ledger(truth),
        curves=attack_curves(truth, findings),
        theorems={"plan": theorems.promises(truth.plan, truth.rows), "run": theorems.measured(truth)},
    )
