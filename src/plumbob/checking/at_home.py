"""What a party may use of its own table to judge a plan: real ranks, two-valued columns, and how well columns predict.

Nothing is sent and nothing is stored: the table is read, a few numbers are taken from it, and it is forgotten. A party
that holds the label learns what own columns say about it, and what a model trained as the plan says makes of them:
what an attack must beat. It also rehearses the training with made-up columns for its peers (`rehearsal.py`).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.checking.figures import Advantages, AtHome
from plumbob.checking.rehearsal import can_rehearse, rehearsed
from plumbob.data import Table, batches, build_shard, seed_from_int
from plumbob.model import logistic, metrics
from plumbob.model.logistic import starting_weights
from plumbob.plan import Plan
from plumbob.plan.sigmoids import SIGMOIDS

SAMPLED = 20
"""Batches whose rank is taken."""
MOST_STEPS = 3000
"""Of the local training: its quality does not change much after them."""
LARGEST_SCORE = 1e3


def at_home(plan: Plan, table: Table, party: str) -> AtHome:
    """The numbers of this party's table under this plan; raises DataError where the two do not fit."""
    whole = plan.replace(test_share=0.0, rows=len(table))
    shard = build_shard(table, whole, party, key=b"")
    columns = shard.X[:, : whole.party(party).features]
    two_valued = sum(len(np.unique(column)) == 2 for column in columns.T)
    rank = float(np.mean([np.linalg.matrix_rank(X) for X in _some_batches(whole, shard.X)]))
    if shard.y is None or not columns.shape[1]:
        return AtHome(party, rank, two_valued)
    general = metrics.auc(shard.y, _fit_without_peers(shard.X, shard.y))
    trained = metrics.auc(shard.y, shard.X @ _train_alone(whole, shard.X, shard.y))
    return AtHome(party, rank, two_valued, max(general, 0.5), max(trained, 0.5), _rehearse(whole, shard.X, shard.y))


def _rehearse(plan: Plan, X: Matrix, y: NDArray[np.int8]) -> dict[str, Advantages]:
    if not can_rehearse(plan, len(X)):
        return {}
    return {peer.name: rehearsed(plan, peer.name, X, y) for peer in plan.feature_parties if peer.features}


def _some_batches(plan: Plan, X: Matrix) -> Iterator[Matrix]:
    for batch, _ in zip(batches(_seed(plan), len(X), plan), range(SAMPLED), strict=False):
        yield X[batch.rows]


def _fit_without_peers(X: Matrix, y: NDArray[np.int8]) -> Vector:
    scores: Vector = X @ np.linalg.lstsq(X, logistic.signs_of(y), rcond=None)[0]
    return scores


def _train_alone(plan: Plan, X: Matrix, y: NDArray[np.int8]) -> Vector:
    """Own weights after a training as planned, but alone; from where it was, if it runs away."""
    generator = np.random.default_rng(plan.seed)
    weights = np.zeros(X.shape[1])
    own = plan.label_party.features
    weights[:own] = starting_weights(plan.start, max(plan.columns, 1), generator)[:own]
    sigmoid, signs = SIGMOIDS[plan.sigmoid], logistic.signs_of(y)
    for batch, _ in zip(batches(_seed(plan), len(X), plan), range(MOST_STEPS), strict=False):
        rows = X[batch.rows]
        scores = rows @ weights
        if np.abs(scores).max(initial=0.0) > LARGEST_SCORE:
            return weights
        residuals = sigmoid.curve(scores) - sigmoid.label_weight * signs[batch.rows]
        weights = weights - plan.rate * logistic.gradient(residuals @ rows, len(rows), sigmoid)
    return weights


def _seed(plan: Plan) -> bytes:
    return seed_from_int(plan.seed or 1)
