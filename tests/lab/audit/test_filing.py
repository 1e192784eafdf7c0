"""What is kept for the report, and how knowledge grows: a view that is cut off is that of a run that ended there."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plumbob.checking.filing import POINTS, planned_ledger, with_predictions
from plumbob.checking.study import noise_std
from plumbob.lab.attacks import View
from plumbob.lab.audit.filing import EPOCHS, attack_curves, epochs_between, seen_ledger, until, with_findings
from plumbob.lab.audit.filing import seen as seen_from
from plumbob.lab.audit.redteam import audit
from plumbob.lab.audit.truth import Truth
from plumbob.record import RunRecord
from tests.lab.audit.support import small_run

LABELS = ("label-sign", "label-stacked")


@pytest.mark.parametrize("keys", [{}, {"intercept": True, "l2": 0.1}, {"batches": "fixed"}, {"batches": "full"}])
def test_a_view_that_is_cut_off_is_that_of_a_shorter_run(keys: dict[str, Any]) -> None:
    """The same batches, sums and weights as those of a run that was planned to end after that epoch."""
    long, short = (Truth.of(small_run(epochs=epochs, batch_size=8, seed=3, **keys)).views for epochs in (4, 2))
    for name, view in long.items():
        cut = until(view, 2)
        assert cut.plan == short[name].plan
        np.testing.assert_array_equal(cut.sums, short[name].sums)
        np.testing.assert_allclose(cut.weights, short[name].weights, rtol=1e-12)
        assert [list(batch.rows) for batch in cut.batches] == [list(batch.rows) for batch in short[name].batches]


@pytest.mark.parametrize(
    "keys",
    [
        {"noise": "sound", "epsilon": 2.0},
        {"noise": "heuristic"},
        {"noise": "sound", "epsilon": 1e-5, "learning_rate": 1e-6},
    ],
)
def test_noise_stays_as_it_was(keys: dict[str, Any]) -> None:
    """Both kinds of noise are made from the number of epochs; a view that is cut off has the noise of the whole run."""
    view = Truth.of(small_run(epochs=3, batch_size=8, row_norm=1.0, **keys)).views["features"]
    cut = until(view, 1)
    assert cut.plan.epochs == 1
    assert noise_std(cut.plan, "label") <= noise_std(view.plan, "label") * (1 + 1e-6)
    if keys.get("epsilon") != 1e-5:
        assert noise_std(cut.plan, "label") == pytest.approx(noise_std(view.plan, "label"), rel=1e-6)


def test_nothing_to_cut() -> None:
    """The whole run, and a view without sums, stay what they are."""
    view = Truth.of(small_run(epochs=2, batch_size=8)).views["features"]
    assert until(view, 2) is view
    without: View = Truth.of(small_run(epochs=2, batch_size=8, protocol="shares")).views["features"]
    assert until(without, 1) is without


def test_curves_end_where_the_findings_are() -> None:
    """One curve for each passive claim on labels: its last point is the finding, its baselines are the run's."""
    run = small_run((2, 12), rows=60, epochs=4, batch_size=8)
    truth, findings = Truth.of(run), audit(run, LABELS)
    found = attack_curves(truth, findings, seconds=60.0)
    assert {one.attack for one in found} == set(LABELS)
    for one in found:
        (finding,) = (other for other in findings if other.attack == one.attack)
        assert one.epochs == [1, 2, 3, 4]
        assert one.rates[-1] == finding.rate
        assert (one.low[-1], one.high[-1]) == finding.interval
        assert one.baseline == finding.baseline
        assert one.guessing == pytest.approx(max(truth.is_positive.mean(), 1 - truth.is_positive.mean()))
        assert all(low <= rate <= high for low, rate, high in zip(one.low, one.rates, one.high, strict=True))


def test_more_is_known_later() -> None:
    """With few columns the first epoch does not fix the labels, and all epochs together nearly do."""
    run = small_run((1, 4), rows=80, epochs=8, batch_size=16)
    (one,) = attack_curves(Truth.of(run), audit(run, ["label-stacked"]), seconds=60.0)
    assert one.rates[-1] > one.rates[0] + 0.1


def test_without_time_only_the_end_is_known() -> None:
    """The end is in the findings already, so that it costs nothing."""
    run = small_run(epochs=3, batch_size=8)
    assert [one.epochs for one in attack_curves(Truth.of(run), audit(run, LABELS), seconds=-1.0)] == [[3], [3]]


@pytest.mark.parametrize("last", [1, 2, 5, 9, 10, 30, 1000])
def test_chosen_epochs(last: int) -> None:
    """Few, different, before the last, the first among them and first."""
    epochs = epochs_between(last)
    assert len(set(epochs)) == len(epochs) <= EPOCHS
    assert all(1 <= epoch < last for epoch in epochs)
    assert epochs[:1] == ([1] if last > 1 else [])


def test_ledger_curves() -> None:
    """What a view's ledger says, at a few hundred steps at most, the last one among them."""
    truth = Truth.of(small_run((2, 3), rows=40, epochs=60, batch_size=8))
    found = [one for one in seen_ledger(truth) if (one.party, one.unknown) == ("features", "labels")]
    account = seen_from(truth.views["features"]).account("features", "labels")
    assert account is not None
    (one,) = found
    assert len(one.steps) == POINTS
    assert (one.steps[0], one.steps[-1]) == (1, 300)
    assert one.equations[-1] == account.equations_in_all
    assert one.independent == [int(account.totals[step - 1]) for step in one.steps]
    assert one.is_exact
    assert not one.is_planned


def test_planned_ledger() -> None:
    """The same kinds of unknowns from the plan alone, on all rows that are for training."""
    run = small_run((2, 3), rows=40, epochs=2, batch_size=8)
    truth = Truth.of(run)
    planned, seen = planned_ledger(truth.plan.replace(test_share=0.5), truth.rows), seen_ledger(truth)
    assert [(one.party, one.unknown, one.unknowns) for one in planned] == [
        (one.party, one.unknown, one.unknowns) for one in seen
    ]
    assert all(one.is_planned for one in planned)


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
