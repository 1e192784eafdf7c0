"""Turns a score into a probability, by the link that training itself fitted.

Where a stand-in's residuals add up to zero, 1/2 + curve(score) / (2 label_weight) is the share of positives: under
`taylor` a score is a least-squares fit, so that 1/2 + score / 4 is the probability and the sigmoid of the score is not.
For `exact` and `fourier` a score is a log-odds already. Beyond what a line can say (2 % and 98 %) log-odds grow slowly,
so that two different scores never get the same probability.
"""

import math

import numpy as np

from plumbob.arrays import Vector
from plumbob.plan import Plan
from plumbob.plan.sigmoids import CUBIC, LINEAR, SIGMOIDS

EDGE = 0.98
SLOPE_BEYOND = 0.1


def log_odds(plan: Plan, scores: Vector) -> Vector:
    """The scores of this plan's model as log-odds."""
    sigmoid = SIGMOIDS[plan.sigmoid]
    if sigmoid.is_log_odds:
        return scores
    edge = _score_at_edge(plan.sigmoid)
    inside = np.clip(scores, -edge, edge)
    likely = 0.5 + sigmoid.curve(inside) / (2.0 * sigmoid.label_weight)
    beyond: Vector = SLOPE_BEYOND * (scores - inside)
    return np.log(likely / (1.0 - likely)) + beyond


def link_in_words(plan: Plan) -> str:
    """A sentence for the report on how scores were turned into probabilities."""
    sigmoid = SIGMOIDS[plan.sigmoid]
    if sigmoid.is_log_odds:
        return "Probabilities are the sigmoid of the score."
    return f'Probabilities are {sigmoid.link}, the link that "{plan.sigmoid}" fits, cut off near 2 % and 98 %.'


def odds_factor(plan: Plan, positive_share: float | None) -> float:
    """The factor that makes a weight an exponent of odds, around the share of positives in training."""
    sigmoid = SIGMOIDS[plan.sigmoid]
    if sigmoid.is_log_odds or positive_share is None or not 0 < positive_share < 1:
        return 1.0
    return sigmoid.slope / (2.0 * sigmoid.label_weight) / (positive_share * (1.0 - positive_share))


def _score_at_edge(name: str) -> float:
    """The score at which the link says 98 %; the cubic never gets that far, and turns where its slope is zero."""
    if name == "taylor":
        return 4.0 * (EDGE - 0.5)
    if name == "piecewise":
        return EDGE - 0.5
    turn = math.sqrt(-LINEAR / (3.0 * CUBIC))
    scores = np.linspace(0.0, turn, 10_001)
    reached = scores[SIGMOIDS[name].curve(scores) <= EDGE - 0.5]
    return float(reached[-1]) * 0.99
