"""`score-control`: a feature party gives scored people values of its choice, and turns decisions round.

View: own columns and, where they are opened, own weights; without them each value gets a random side. Every own value
is put to the end of its range that moves the score up, then to the other: five deviations, beyond which values are
clipped. A decision is "accepted" above the score that accepts as many people as have the label 1. It reads nothing.
Nothing in a message looks different, so no noise and no protocol stops it; fewer columns, or less weight on them, do.
Cost: none.
"""

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking.words import BLOCKED, DEGRADES
from plumbob.counting import percent
from plumbob.data.whitening import CLIP
from plumbob.lab.attacks.interface import AttackStage, Condition, Reached, StagedAttack


def act(stage: AttackStage) -> list[Reached]:
    """The shares of refusals and of approvals that are turned round."""
    view, rows = stage.view, np.arange(min(stage.scored, stage.view.rows))
    if not len(rows) or not view.X.shape[1]:
        return []
    honest = stage.shown(rows)
    raised, lowered = (stage.shown(rows, own=at_the_end(view.X, view.weights, up)[rows]) for up in (1.0, -1.0))
    threshold = float(np.quantile(honest, 1.0 - stage.share_of_positives))
    approved = share(raised[honest <= threshold] > threshold)
    refused = share(lowered[honest > threshold] <= threshold)
    knows = "its weights" if len(view.weights) else "none of its weights"
    reference = ATTACKS[0].reference
    conditions = (
        Condition("refusals turned into approvals", approved, "above 0", approved > 0, reference),
        Condition("approvals turned into refusals", refused, "above 0", refused > 0, reference),
    )
    why = (
        f"Of {len(rows)} scored people, values of its choice within the clip turned {percent(approved)} of the "
        f"refusals and {percent(refused)} of the approvals round, knowing {knows}. It learnt nothing by that."
    )
    verdict = DEGRADES if max(approved, refused) > 0 else BLOCKED
    return [Reached(verdict, why, conditions, view.plan.label_party.name)]


def at_the_end(X: Matrix, weights: Vector, up: float) -> Matrix:
    """Own values, each at the end of its range that moves the score up (1) or down (-1); blindly without weights."""
    blindly = np.random.default_rng(1).choice([-1.0, 1.0], X.shape)
    sides = up * np.sign(weights) if len(weights) else blindly
    ends: Matrix = X.mean(axis=0) + CLIP * sides * X.std(axis=0)
    return ends * np.ones_like(X)


def share(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """The share of flags that are set; 0 of none."""
    return float(flags.mean()) if len(flags) else 0.0


ATTACKS = (StagedAttack("score-control", "features", act, "scores"),)
