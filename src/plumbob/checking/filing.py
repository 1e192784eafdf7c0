"""What a run's record keeps of `check`: its findings and its ledger, which follow from the plan alone."""

from dataclasses import replace

import numpy as np

from plumbob.checking import ledger
from plumbob.checking.agreement import predictions
from plumbob.checking.figures import Figures
from plumbob.plan import Plan
from plumbob.record import LedgerCurve, RunRecord

POINTS = 200
"""Of a curve by step."""


def with_predictions(record: RunRecord) -> RunRecord:
    """What the plan alone says of a run on this many rows: all that a party on a network can know."""
    plan = record.parsed_plan
    return replace(record, predicted=predictions(plan, record.rows), ledger=planned_ledger(plan, record.rows))


def figures_of_run(record: RunRecord) -> Figures:
    """The plan of a run on the rows that it had."""
    return Figures(record.parsed_plan, record.rows, held_out=record.test_rows)


def planned_ledger(plan: Plan, training_rows: int) -> list[LedgerCurve]:
    """From the plan's numbers, on this many rows."""
    accounts = ledger.planned(
        plan.replace(test_share=0.0, rows=0, epochs=plan.fixed_epochs, row_norm=plan.fixed_row_norm), training_rows
    ).accounts
    return [ledger_curve(account, is_planned=True) for account in accounts]


def ledger_curve(account: ledger.Account, is_planned: bool) -> LedgerCurve:
    """An account as a curve by step, thinned to what a picture shows."""
    n_steps = len(account.equations)
    kept = np.unique(np.linspace(0, n_steps - 1, min(n_steps, POINTS)).round().astype(int))
    return LedgerCurve(
        party=account.party,
        unknown=account.unknown,
        about=account.about,
        unknowns=account.unknowns,
        steps=[int(place) + 1 for place in kept],
        equations=[int(count) for count in np.cumsum(account.equations)[kept]],
        independent=[int(count) for count in account.totals[kept]],
        is_exact=account.is_exact,
        is_planned=is_planned,
    )
