"""`prediction-equations`: what the label party works out from scores of predicted rows (Luo et al., ICDE 2021).

View: scores of training rows, taken for those that are predicted, and the peers' columns of as many of them as an
attacker would need to know from elsewhere. From these it solves for the peers' weights; every other score is then one
equation about its row's columns, of which the smallest solution is the claim. That the known rows are known is taken
for granted, so what it reaches degrades at most. Cost: one least-squares solve.
"""

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking.figures import Figures
from plumbob.lab.attacks.chosen_labels import solved
from plumbob.lab.attacks.interface import Attack, AttackStage, Claim
from plumbob.lab.attacks.peer_scores import peer_columns, peers_name


def act(stage: AttackStage) -> list[Claim]:
    """Solve for the peers' weights, and for the columns of every scored row that is not known."""
    view, known = stage.view, Figures.of(stage.view.plan).unknown_weights
    answered = min(stage.scored, view.rows)
    if answered < known or not peer_columns(view):
        return []
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
    values = np.full((view.rows, len(weights)), np.nan)
    values[known:answered] = smallest_columns(parts[known:], weights)
    against = peers_name(view)
    why = f"With the columns of {known} scored rows known from elsewhere, the scores give the weights"
    # One column, and weights that are opened: each score less the asker's own part is that column times one number.
    is_plain = len(weights) == 1 and not view.plan.is_closed
    return [
        Claim("weights", against, weights[:, None], remark=why, targets=np.arange(known), is_conditional=True),
        Claim("features", against, values, is_conditional=not is_plain),
    ]


def smallest_columns(parts: Vector, weights: Vector) -> Matrix:
    """The smallest columns that give these scores: scaled ones are around 0."""
    size = float(weights @ weights)
    return np.outer(parts / size, weights) if size > 0 else np.full((len(parts), len(weights)), np.nan)


ATTACKS = (Attack("prediction-equations", "label", act=act),)
