"""`label-stacked`: the equations of all steps at once reach far beyond batch size <= columns."""

import numpy as np

from plumbob.checking.check import check
from plumbob.checking.figures import Figures
from plumbob.checking.rules.gradients import auc_of
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.model.metrics import auc
from plumbob.plan import Plan
from tests.lab.attacks.support import gaussian, read, refused, seen
from tests.protocol.support import plan_for


def stacked_plan(epochs: int, **keys: object) -> Plan:
    """Twelve columns on each side, batches of 64 rows: no single batch gives anything away."""
    usual: dict[str, object] = {"protocol": "clear", "learning_rate": 0.001, "intercept": False, "batch_size": 64}
    return plan_for((12, 12), epochs=epochs, **(usual | keys))


def test_the_intercept_is_one_more_unknown() -> None:
    """With few positives the intercept drifts by more than 1; solved for, it leaves the threshold where it is."""
    X, _ = gaussian(1280, 24)
    y = (X[:, 0] + np.random.default_rng(8).normal(size=1280) > 1.2).astype(np.int64)
    claim = read(LABEL_STACKED, stacked_plan(10, intercept=True, learning_rate=0.02), (X, y))
    assert 0.15 < np.mean(y) < 0.25
    assert claim.rate > 0.98


def test_columns_of_zeros_are_refused() -> None:
    """Columns of zeros are refused, because there is nothing to stack."""
    X, y = gaussian(40, 5)
    X[:, 2:] = 0.0
    view, _ = seen(plan_for((2, 3), protocol="clear"), (X, y))
    assert refused(LABEL_STACKED(view), "0")


def test_noise_lets_no_more_through_than_its_bound() -> None:
    """Labels that columns say nothing about come out less often than derived, and that much is not called blocked."""
    plan = plan_for((6, 28), protocol="clear", batch_size=128, epochs=3, noise="std", noise_std=4.0, row_norm=1.0)
    X, _ = gaussian(2000, 34)
    claim = read(LABEL_STACKED, plan, (X, np.random.default_rng(1).integers(0, 2, 2000)))
    most = Figures.of(plan, 2000).most_ratio("features", visits=3)
    assert 0.65 < auc(claim.signs > 0, claim.beliefs) < auc_of(most)


def test_sound_noise_of_epsilon_1_is_no_block() -> None:
    """Three visits of 28 columns in batches of 128 hold more than the tolerance, whatever a forecast says."""
    keys = {"batch_size": 128, "epochs": 3, "noise": "sound", "epsilon": 1.0, "row_norm": 1.0}
    plan = Plan.for_columns((6, 28), protocol="exchange", rows=2000, **keys)
    found = {one.attack: one.verdict for one in check(plan) if one.by == "features"}
    assert 2 * auc_of(Figures.of(plan).most_ratio("features", visits=3)) - 1 > plan.tolerance_labels
    assert found["label-average"] == "degrades"
