"""`label-stacked`: the equations of all steps at once reach far beyond batch size <= columns."""

import numpy as np
import pytest

from plumbob.checking.check import check
from plumbob.checking.figures import Figures
from plumbob.checking.rules.gradients import auc_of
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.model.metrics import auc
from plumbob.plan import Plan
from tests.lab.attacks.support import credit, gaussian, read, refused, seen
from tests.protocol.support import plan_for


def stacked_plan(epochs: int, **keys: object) -> Plan:
    """Twelve columns on each side, batches of 64 rows: no single batch gives anything away."""
    usual: dict[str, object] = {"protocol": "clear", "learning_rate": 0.001, "intercept": False, "batch_size": 64}
    return plan_for((12, 12), epochs=epochs, **(usual | keys))


def test_enough_epochs_fix_every_label() -> None:
    """Once epochs * columns reach the batch size, every label comes out, five times beyond the paper's condition."""
    claim = read(LABEL_STACKED, stacked_plan(7), gaussian(640, 24))
    assert claim.rate == 1.0
    assert claim.condition("equations for each").is_met
    assert not claim.condition("rows of a batch").is_met
    assert not claim.is_determined.any()


def test_too_few_epochs_do_not() -> None:
    """With one equation for five unknowns the rate is far from 1: a transition, not a slope from the start."""
    claim = read(LABEL_STACKED, stacked_plan(1), gaussian(640, 24))
    assert claim.rate < 0.85
    assert not claim.condition("equations for each").is_met


def test_the_same_batches_again_add_little() -> None:
    """Reshuffling adds equations; fixed batches repeat theirs."""
    claim = read(LABEL_STACKED, stacked_plan(7, batches="fixed"), gaussian(640, 24))
    assert claim.rate < 0.9
    assert claim.condition("equations for each").value < 1


def test_the_intercept_is_one_more_unknown() -> None:
    """With few positives the intercept drifts by more than 1; solved for, it leaves the threshold where it is."""
    X, _ = gaussian(1280, 24)
    y = (X[:, 0] + np.random.default_rng(8).normal(size=1280) > 1.2).astype(np.int64)
    claim = read(LABEL_STACKED, stacked_plan(10, intercept=True, learning_rate=0.02), (X, y))
    assert 0.15 < np.mean(y) < 0.25
    assert claim.rate > 0.98


def test_an_encrypted_run_shows_as_much() -> None:
    """Fixed-point sums of an encrypted exchange stack like exact ones."""
    plan = plan_for((2, 6), protocol="exchange", batch_size=12, epochs=3, learning_rate=0.01)
    assert read(LABEL_STACKED, plan, gaussian(48, 8)).rate > 0.95


@pytest.mark.parametrize("sigmoid", ["minimax", "exact"])
def test_other_approximations_stack_too(sigmoid: str) -> None:
    """Other approximations stack too: only the label's weight and the speed of drift differ."""
    assert read(LABEL_STACKED, stacked_plan(8, sigmoid=sigmoid), gaussian(640, 24)).rate > 0.99


def test_noise_hides_labels() -> None:
    """Noise that outlasts the average over the epochs leaves what own columns predict."""
    plan = stacked_plan(7, noise="std", noise_std=60.0, row_norm=1.0, learning_rate=1e-6)
    claim = read(LABEL_STACKED, plan, gaussian(640, 24))
    assert claim.rate < 0.62
    assert not claim.condition("noise").is_met


def test_columns_of_zeros_are_refused() -> None:
    """Columns of zeros are refused, because there is nothing to stack."""
    X, y = gaussian(40, 5)
    X[:, 2:] = 0.0
    view, _ = seen(plan_for((2, 3), protocol="clear"), (X, y))
    assert refused(LABEL_STACKED(view), "0")


def test_credit_beyond_the_papers_condition() -> None:
    """On 2,000 credit rows, batches of 64 against 12 columns, 12 epochs give an AUC above 0.98."""
    plan = plan_for((11, 12), protocol="clear", learning_rate=0.01, intercept=False, batch_size=64, epochs=12)
    claim = read(LABEL_STACKED, plan, credit(None, 2000))
    assert auc(claim.signs > 0, claim.beliefs) > 0.98


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
