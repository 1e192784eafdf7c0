"""Probabilities from scores: right on average, in the scores' order, and never equal for two scores."""

import numpy as np
import pytest

from plumbob.model.links import link_in_words, log_odds, odds_factor
from plumbob.model.metrics import probabilities
from plumbob.plan import Plan
from tests.protocol.support import tables_for, trained

SIGMOIDS = ["taylor", "minimax", "piecewise", "exact", "fourier"]


def plan_of(sigmoid: str) -> Plan:
    """A plan with enough epochs to settle."""
    return Plan.for_columns((2, 3), protocol="clear", sigmoid=sigmoid, epochs=60, batches="full", learning_rate=0.5)


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_the_mean_probability_is_the_share_of_positives(sigmoid: str) -> None:
    """They agree also under stand-ins whose scores are no log-odds, and where one class is rare."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(4000, 5))
    y = (X @ np.array([0.8, -0.5, 0.4, 0.0, 0.3]) + generator.logistic(size=4000) > 2.2).astype(np.int64)
    plan = plan_of(sigmoid)
    run = trained(plan, (X, y))
    likely = probabilities(log_odds(plan, run.model.scores(tables_for(plan, X, None))))
    assert y.mean() < 0.2
    assert likely.mean() == pytest.approx(y.mean(), abs=0.02)


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
def test_the_order_of_scores_stays(sigmoid: str) -> None:
    """A higher score never has a lower probability, nor the same one, however far out it is."""
    scores = np.linspace(-40, 40, 4001)
    assert (np.diff(log_odds(plan_of(sigmoid), scores)) > 0).all()


def test_odds_are_read_where_people_are() -> None:
    """Under taylor a weight of 1 moves the probability by 1/4, which at 10 % positives is odds of e^2.8."""
    assert odds_factor(plan_of("taylor"), 0.1) == pytest.approx(0.25 / 0.09)
    assert odds_factor(plan_of("fourier"), 0.1) == 1.0
    assert "score / 4" in link_in_words(plan_of("taylor"))
