"""`label-average`: each epoch draws fresh noise, and the average has less of it."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from plumbob.checking.check import check
from plumbob.lab.attacks import label_average
from plumbob.lab.attacks.interface import View
from plumbob.lab.attacks.label_average import LABEL_AVERAGE
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import Truth
from plumbob.model.logistic import signs_of
from plumbob.plan import PAPER, Plan
from tests.lab.attacks.support import gaussian, read, read_from
from tests.protocol.support import plan_for, trained

NOISY: dict[str, Any] = {"protocol": "clear", "row_norm": 1.0, "noise": "std", "batch_size": 6}


def test_the_rate_is_what_the_formula_says() -> None:
    """Noise of 6 over 16 epochs: the rate is within 0.02 of the mean of Phi((2 - y g) sqrt(E) / noise)."""
    plan = plan_for((4, 8), epochs=16, noise_std=6.0, learning_rate=0.01, intercept=False, **NOISY)
    run = trained(plan, gaussian(2001, 12))
    view, label_view = View.of(run.transcripts["features"]), View.of(run.transcripts["label"])
    assert label_view.y is not None
    signs = signs_of(label_view.y)
    scores = np.zeros(view.rows)
    for batch, _, own_scores, _ in label_view.steps():
        scores[batch.rows] += own_scores / plan.epochs
    expected = float(np.mean(norm.cdf((2.0 - signs * scores) * np.sqrt(plan.epochs) / plan.noise_std)))
    claim = read_from(LABEL_AVERAGE, view, signs)
    assert claim.rate == pytest.approx(expected, abs=0.02)
    assert claim.rate > read_from(LABEL_SIGN, view, signs).rate + 0.1
    # Scores that grow take some of it away from the rate that small ones would give.
    assert expected < claim.condition("expected rate").value < expected + 0.05


def test_three_parties_add_two_draws() -> None:
    """What one party sees carries the noise of all others, and the expected rate says so."""
    plan = plan_for((3, 6, 6), epochs=4, noise_std=3.0, learning_rate=1e-6, **NOISY)
    claim = read(LABEL_AVERAGE, plan, gaussian(1200, 15))
    left = 3.0 * np.sqrt(2.0) / 2.0
    assert claim.condition("noise left").value == pytest.approx(left)
    assert claim.rate == pytest.approx(norm.cdf(2.0 / left), abs=0.04)


def test_the_expected_rate() -> None:
    """Noise 10 over 30 epochs leaves a rate of 0.863."""
    assert label_average.expected_rate(2.0, 10.0 / np.sqrt(30.0)) == pytest.approx(0.863, abs=5e-4)
    assert label_average.expected_rate(2.0, 0.0) == 1.0


def test_a_rare_label_of_balanced_classes_outweighs_noise() -> None:
    """One positive in a hundred counts as much as fifty others: noise that drowns a plain label ranks it high."""
    generator = np.random.default_rng(1)
    X, scores = generator.normal(size=(1500, 16)), generator.normal(size=1500)
    y = (scores >= np.sort(scores)[-15]).astype(np.int64)
    keys = {"noise_std": 320.0, "class_weight": "balanced", "start": "xavier", "batch_size": 12, "epochs": 40}
    plan = Plan.for_columns((4, 12), rows=1500, seed=3, **{**PAPER, **NOISY, **keys, "learning_rate": 0.0005})
    truth = Truth.of(trained(plan, (X, y)))
    [found] = scored(LABEL_AVERAGE, "features", LABEL_AVERAGE(truth.views["features"]), truth)
    assert found.verdict == "leaks"
    verdicts = [
        [one.verdict for one in check(judged, positives=0.01) if "label-average" in one.attacks]
        for judged in (plan, plan.replace(class_weight="none"))
    ]
    assert verdicts == [["degrades"], ["blocked"]]
