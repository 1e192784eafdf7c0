"""`model-difference`: two honest runs whose rows differ by one person, and what the difference tells of that person.

View: own weights of both runs, or scores of known rows in both. A person who joins moves the weights along that
person's row, by the person's residual. A feature party whose weights are opened knows its own columns of who joined,
so the way that its weights went tells the residual, and its sign the label. The label party knows the label; from
scores of known rows it solves for the peers' weights in both models, and their difference points along the row, whose
length it takes to be that of a usual one. Cost: one honest run for each person, besides the one that was recorded.

An audit is about one run. This is about two, so it is acted out only where its name is asked for.
"""

import numpy as np
from numpy.typing import NDArray

from plumbob.lab.attacks.chosen_labels import known_rows, solved
from plumbob.lab.attacks.interface import (
    HONEST,
    AttackStage,
    Changed,
    LabelClaim,
    NotApplicable,
    StagedAttack,
    ValueClaim,
)
from plumbob.lab.attacks.peer_scores import peers_name

PEOPLE = 24
"""How many people are read, in one run each."""


def joined(stage: AttackStage) -> NDArray[np.intp]:
    """The people assumed to have joined, one after the other: the first ones."""
    return np.arange(min(PEOPLE, stage.view.rows // 2))


def read_labels(stage: AttackStage) -> LabelClaim | NotApplicable:
    """Read labels as a feature party, from its own weights with and without a person."""
    view = stage.view
    if not len(view.weights) or not view.X.shape[1]:
        return NotApplicable("own weights are never opened, so there is no difference to look at")
    beliefs, curvature = np.full(view.rows, np.nan), np.cov(view.X, rowvar=False, ddof=0).reshape(2 * view.X.shape[1:])
    after = stage.weights(HONEST)
    for person in joined(stage):
        moved = after - stage.weights(Changed(without=int(person)))
        beliefs[person] = float(view.X[person] @ curvature @ moved)
    return LabelClaim(beliefs, np.zeros(view.rows, dtype=bool), targets=joined(stage), is_conditional=True)


def read_rows(stage: AttackStage) -> ValueClaim | NotApplicable:
    """Read rows as the label party, from scores of known rows with and without a person."""
    view, people = stage.view, joined(stage)
    known = known_rows(stage, people.tolist())
    columns = stage.known(known)
    if len(known) <= columns.shape[1] or view.signs is None:
        return NotApplicable("fewer rows are scored than the peers have columns")
    values = np.full((view.rows, columns.shape[1]), np.nan)
    after = solved(columns, stage.scores(known, HONEST))
    for person in people:
        moved = view.signs[person] * (after - solved(columns, stage.scores(known, Changed(without=int(person)))))
        size = float(np.linalg.norm(moved))
        values[person] = moved * (np.sqrt(len(moved)) / size) if size else 0.0
    nothing = np.zeros(view.rows, dtype=bool)
    return ValueClaim("features", peers_name(view), values, nothing, targets=people, is_conditional=True)


ATTACKS = (
    StagedAttack("model-difference", "label", read_rows, is_only_if_named=True),
    StagedAttack("model-difference", "features", read_labels, "labels", is_only_if_named=True),
)
