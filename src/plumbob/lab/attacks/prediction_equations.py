"""`prediction-equations`: what the label party works out from scores of predicted rows (Luo et al., ICDE 2021).

View: scores of training rows, taken for those that are predicted, and the peers' columns of as many of them as an
attacker would need to know from elsewhere, or of all where fewer are scored. From these it solves for the peers'
weights; every other score is then one equation about its row's columns, of which the smallest solution is the claim.
That the known rows are known is taken for granted, so what it reaches degrades at most. Cost: one least-squares solve.

A peer's only column needs no known row, and no weight: what own columns do not explain of the scores is what they do
not explain of that column, up to a factor.
"""

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking.figures import Figures
from plumbob.lab.attacks.chosen_labels import solved
from plumbob.lab.attacks.interface import Attack, AttackStage, Claim
from plumbob.lab.attacks.peer_scores import peer_columns, peers_name


def act(stage: AttackStage) -> list[Claim]:
    """Solve for the peers' weights, and for the columns of every scored row that is not known."""
    view, width = stage.view, peer_columns(stage.view)
    answered = min(stage.scored, view.rows)
    if not answered or not width:
        return []
    needed = Figures.of(view.plan).unknown_weights
    known = min(needed, answered)
    scores, theirs = stage.shown(np.arange(answered)), stage.known(np.arange(known))
    # Whoever knows its own weights takes its part out; under `never` it solves for them, too.
    own = view.X[:answered, : view.plan.label_party.features]
    if not view.plan.is_closed:
        scores, own = scores - view.X[:answered] @ view.weights, own[:, :0]
    columns = np.hstack([own[:known], theirs])
    weights = solved(columns, scores[:known])
    offset = float(np.mean(scores[:known] - columns @ weights))
    parts = scores - own @ weights[: own.shape[1]] - offset
    weights = weights[own.shape[1] :]
    against = peers_name(view)
    why = f"With the columns of {known} scored rows known from elsewhere, the scores give the weights"
    found = Claim("weights", against, weights[:, None], remark=why, targets=np.arange(known), is_conditional=True)
    values = np.full((view.rows, width), np.nan)
    if width == 1:
        values[:answered, 0] = scores
        return [found, Claim("features", against, values, left_open="own columns")]
    values[known:answered] = smallest_columns(parts[known:], weights)
    return [found, Claim("features", against, values, is_conditional=True)]


def smallest_columns(parts: Vector, weights: Vector) -> Matrix:
    """The smallest columns that give these scores: scaled ones are around 0."""
    size = float(weights @ weights)
    return np.outer(parts / size, weights) if size > 0 else np.full((len(parts), len(weights)), np.nan)


ATTACKS = (Attack("prediction-equations", "label", act=act),)
