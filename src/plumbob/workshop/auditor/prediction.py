"""What the label party works out from scores of predicted rows: equation solving (Luo et al., ICDE 2021).

The auditor takes training rows for those that are predicted, and hands the label party the peers' columns of as many of
them as an attacker would need to know from elsewhere. From these it solves for the peers' weights; every other score
is then one equation about its row's columns, of which the smallest solution is the claim.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking.forecast import BLOCKED, DEGRADES, LEAKS
from plumbob.checking.prediction_rules import (
    ATTACK,
    PREDICTION,
    REFERENCE,
    answered_rows,
    prediction_findings,
    unknown_weights,
)
from plumbob.record import Finding
from plumbob.workshop.attacks import Attack, NotApplicable, ValueClaim
from plumbob.workshop.auditor.score import explained, scored
from plumbob.workshop.auditor.truth import Truth

EQUATIONS = Attack(ATTACK, "label", lambda view: NotApplicable("it needs scores of predicted rows"), REFERENCE)
EXACT = 1e-6


def prediction_audit(truth: Truth, predicted: int) -> Iterator[Finding]:
    """Findings for this many predicted rows; what needs no trial, or cannot be tried here, as `check` has it."""
    plan = truth.plan
    answered = min(answered_rows(plan, predicted, truth.rows), truth.rows)
    expected = list(prediction_findings(plan, answered))
    has_weights = all(len(view.weights) for view in truth.views.values() if view.X.shape[1])
    if not has_weights or answered < unknown_weights(plan):
        yield from expected
        return
    yield from (one for one in expected if one.by != plan.label_party.name)
    against = " + ".join(party.name for party in plan.feature_parties if party.features)
    columns = truth.features(against)
    weights = np.concatenate([truth.views[name].weights for name in against.split(" + ")])
    parts = columns[:answered] @ weights
    known = unknown_weights(plan)
    solved, offset = solved_weights(columns[:known], parts[:known])
    yield from _weights_findings(truth, against, weights, solved, known)
    claim = ValueClaim("features", against, _claimed(columns, parts, solved, offset, known), np.zeros(truth.rows, bool))
    for finding in scored(EQUATIONS, plan.label_party.name, claim, truth):
        yield replace(finding, stage=PREDICTION)


def solved_weights(columns: Matrix, parts: Vector) -> tuple[Vector, float]:
    """The weights and the offset that explain these rows' scores; the smallest ones where several do."""
    design = np.column_stack([columns, np.ones(len(columns))])
    solution: Vector = np.asarray(np.linalg.lstsq(design, parts, rcond=None)[0], dtype=np.float64)
    return solution[:-1], float(solution[-1])


def _claimed(columns: Matrix, parts: Vector, weights: Vector, offset: float, known: int) -> Matrix:
    """For every scored row that is not known, the smallest columns that give its score: scaled ones are around 0."""
    values, size = np.full(columns.shape, np.nan), float(weights @ weights)
    if size > 0:
        values[known : len(parts)] = np.outer((parts[known:] - offset) / size, weights)
    return values


def _weights_findings(truth: Truth, against: str, weights: Vector, solved: Vector, known: int) -> Iterator[Finding]:
    errors = (solved - weights)[:, None]
    rate = explained(weights[:, None], errors) if len(weights) > 1 else float(np.abs(errors).max() < EXACT)
    reached = max(0.0, rate or 0.0)
    verdict = LEAKS if reached > truth.plan.tolerance_features else DEGRADES if reached > 0 else BLOCKED
    why = (
        f"With the columns of {known} scored rows known from elsewhere, the scores give the weights with R^2 "
        f"{reached:.3f}."
    )
    label_party = truth.plan.label_party.name
    for name in against.split(" + "):
        yield Finding(
            *(ATTACK, label_party, name, "weights", verdict, why, REFERENCE, ""),
            rate=reached,
            baseline=0.0,
            n=known,
            advantage=reached,
            stage=PREDICTION,
        )
