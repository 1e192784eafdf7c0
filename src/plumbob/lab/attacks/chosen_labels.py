"""`chosen-labels`: label 1 for one person and 0 for everybody else, and the weights become that person's row.

View: scores of rows whose columns the attacker knows, one more than the peers have columns, in a run about labels that
it invented. It sets its own columns of these rows to their mean, so that its own weights add nothing. Whitened columns
are centred: while everybody else has one label, their residuals are nearly equal and cancel, and what is left of the
gradient is the chosen person's row, or the sum of a group's. How long the row is in the weights the attacker finds out
at home, on columns that it makes up. The chosen person need not be scored. Cost: an honest run for each person.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.lab import one_step
from plumbob.lab.attacks.interface import (
    Attack,
    AttackStage,
    Changed,
    Claim,
    Condition,
    NotApplicable,
    View,
)
from plumbob.lab.attacks.peer_scores import peers_name
from plumbob.model import logistic

PEOPLE = 8
"""How many people are read, in one run each."""
AGAIN = 4
"""Known rows per unknown, where that many may be scored: a score is rounded."""

LONGEST = 3.0
"""The longest row that is believed, in deviations in every column at once."""


def read_rows(stage: AttackStage, groups: list[list[int]]) -> Matrix:
    """The direction of the sum of each group's rows, as long as its weights are."""
    known = known_rows(stage, [person for group in groups for person in group])
    columns = stage.known(known)
    return np.array(
        [solved(columns, stage.scores(known, Changed(one_hot(stage.view.rows, group)))) for group in groups]
    )


def known_rows(stage: AttackStage, without: list[int]) -> NDArray[np.intp]:
    """The known rows that it has scored, which are none of the people that it is after."""
    width = stage.known(np.zeros(1, dtype=np.intp)).shape[1]
    others = np.setdiff1d(np.arange(stage.view.rows), without)
    return others[: min(stage.scored, AGAIN * (width + 1))]


def one_hot(rows: int, group: list[int]) -> NDArray[np.int8]:
    """Labels with 1 for the chosen people and 0 for everybody else."""
    labels = np.zeros(rows, dtype=np.int8)
    labels[group] = 1
    return labels


def solved(columns: Matrix, scores: Vector) -> Vector:
    """The weights that explain these scores; the smallest ones where several do."""
    design = np.column_stack([columns, np.ones(len(columns))])
    if len(columns) < design.shape[1]:
        design, scores = columns - columns.mean(axis=0), scores - scores.mean()
    found: Vector = np.asarray(np.linalg.lstsq(design, scores, rcond=None)[0], dtype=np.float64)
    return found[: columns.shape[1]]


def no_longer(row: Vector) -> Vector:
    """The row, cut to the length of whitened rows: whoever reads noise knows that it is no row."""
    longest = LONGEST * np.sqrt(len(row))
    shortened: Vector = row * min(1.0, longest / max(float(np.linalg.norm(row)), longest))
    return shortened


def growth(view: View, columns: int) -> float:
    """How many times a chosen row is in the weights after all passes, tried out on made-up whitened columns."""
    X = np.random.default_rng(1).standard_normal((view.rows, columns))
    X = np.column_stack([X - X.mean(axis=0), np.ones(view.rows)])
    signs = logistic.signs_of(one_hot(view.rows, [0]))
    descent = one_step.Descent.from_start(np.zeros(columns + 1))
    for batch in view.batches:
        rows = X[batch.rows]
        residuals = view.sigmoid.residuals(rows @ descent.weights, signs[batch.rows])
        gradient = one_step.gradient(residuals @ rows, len(batch), view.sigmoid)
        descent = descent.after(gradient, view.plan.rate, view.plan.momentum, np.zeros(columns + 1))
    return float(descent.weights[:-1] @ X[0, :-1] / (X[0, :-1] @ X[0, :-1]))


def act(stage: AttackStage) -> Claim | NotApplicable:
    """Read the rows of a few people, in one run each."""
    view = stage.view
    if not stage.scored:
        return NotApplicable("no row is scored for the label party")
    people = np.arange(min(PEOPLE, view.rows // 2))
    rows = read_rows(stage, [[person] for person in people.tolist()])
    grown = growth(view, rows.shape[1])
    return claimed_rows(stage, people, [no_longer(row / grown) for row in rows], ATTACKS[0].reference)


def claimed_rows(stage: AttackStage, people: NDArray[np.intp], rows: Sequence[Vector], reference: str) -> Claim:
    """The claim about these people's rows, with what it needs to know."""
    view, needed = stage.view, len(rows[0]) + 1
    values = np.full((view.rows, len(rows[0])), np.nan)
    values[people] = rows
    is_met = stage.scored >= needed
    return Claim(
        target="features",
        against=peers_name(view),
        values=values,
        conditions=(Condition("scored rows", float(stage.scored), f"at least {needed}", is_met, reference),),
        targets=people,
    )


ATTACKS = (Attack("chosen-labels", "label", act=act),)
