"""`label-average`: average what is left of a row's residual over its visits, against noise. Beyond the paper.

View: a feature party's own columns and sums over several epochs, any number of parties. Cost: one singular value
decomposition per batch. Condition: the noise's standard deviation over the square root of the epochs is small beside 2,
and the rank of own columns over a batch is its number of rows.

Without noise it would add nothing to `label-sign`. The expected rate is the mean of
Phi((2 - y * mean score of the other parties) * sqrt(epochs) / noise), which is Phi(2 sqrt(epochs) / noise) for small
scores. Averaging does not break noise that was calibrated for the epochs really run.
"""

import math

import numpy as np
from scipy.special import ndtr

from plumbob.lab.attacks.equations import label_weight, noise_on_residuals, solved_steps, why_no_sums
from plumbob.lab.attacks.interface import Attack, Claim, Condition, NotApplicable, View

LEAST_WEIGHT = 1e-9


def recover_labels(view: View) -> Claim | NotApplicable:
    """Average each row's visits, each weighted by how much of the residual its batch determines."""
    if reason := why_no_sums(view):
        return NotApplicable(reason)
    if view.plan.noise == "none":
        return NotApplicable("no noise to average away; label-sign reads every visit as it is")
    totals, weights, visits = np.zeros(view.rows), np.zeros(view.rows), np.zeros(view.rows)
    met = []
    for batch, own_scores, solution in solved_steps(view):
        known = 1.0 - solution.left_open
        totals[batch.rows] += known * (solution.values - view.sigmoid.curve(own_scores))
        weights[batch.rows] += known
        visits[batch.rows] += 1
        met.append(solution.rank == len(batch))
    has_answer = weights > LEAST_WEIGHT
    means = np.divide(totals, weights, out=np.full(view.rows, np.nan), where=has_answer)
    return Claim.of_labels(
        -means / label_weight(view),
        np.zeros(view.rows, dtype=bool),
        conditions(view, float(visits.mean()), float(np.mean(met))),
    )


def conditions(view: View, visits: float, full_rank: float) -> tuple[Condition, ...]:
    """What is left of the noise, and the rate that it allows while other parties' scores are small."""
    noise = noise_on_residuals(view)
    left = noise / math.sqrt(max(visits, 1.0))
    weight = label_weight(view)
    rate = expected_rate(weight, left)
    reference = "averaging, not in the paper"
    return (
        Condition("noise left after all visits", left, f"below {weight:g}, a label's weight", left < weight, reference),
        Condition("expected rate for small scores", rate, "Phi(weight / noise left)", rate > 0.75, reference),
        Condition("batches whose rank is their number of rows", full_rank, "1", full_rank == 1.0, "Corollary 3.2"),
    )


def expected_rate(weight: float, noise_left: float) -> float:
    """The share of labels that come out right with this much noise left."""
    return float(ndtr(weight / noise_left)) if noise_left > 0 else 1.0


LABEL_AVERAGE = Attack("label-average", "features", recover_labels)
ATTACKS = (LABEL_AVERAGE,)
