"""`clear`: the oracle. No cryptography and no messages; every party gets exactly its own gradient.

It is what the encrypted protocols are tested against, and it carries all four approximations. What it leaves behind is
what they leave: one transcript a party.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plumbob.data import Batch, Shard, Table, batches, build_shard, steps_per_epoch, stream
from plumbob.model import logistic
from plumbob.model.sigmoid import SIGMOIDS, Sigmoid
from plumbob.model.starts import starting_weights
from plumbob.plan import Plan
from plumbob.protocol.party import Progress, columns_of, refuse_missing_defences
from plumbob.protocol.transcript import Transcript, Vector


@dataclass
class OpenParty:
    """A party whose state everybody may look at."""

    name: str
    shard: Shard
    weights: Vector
    penalties: Vector
    start: Vector
    sums: list[Vector]


def train_clear(
    plan: Plan, tables: Mapping[str, Table], seed: bytes, progress: Progress | None = None
) -> tuple[list[Transcript], dict[str, Shard]]:
    """All parties' training in one place; `tables` are aligned, `seed` fixes batches, held-out rows and the start."""
    refuse_missing_defences(plan)
    parties = _seated(plan, tables, seed)
    rows = len(parties[0].shard)
    steps = steps_per_epoch(rows, plan) * plan.epochs
    noise = stream(seed, "noise")
    weights_of_rows = _class_weights(plan, parties[0])
    for batch in batches(seed, rows, plan):
        _step(plan, parties, batch, noise, weights_of_rows)
        if progress is not None:
            progress(batch, steps)
    return [_transcript(plan, party, seed) for party in parties], {party.name: party.shard for party in parties}


def _seated(plan: Plan, tables: Mapping[str, Table], seed: bytes) -> list[OpenParty]:
    joint_start = starting_weights(plan.start, plan.columns, stream(seed, "starting weights"))
    parties, before = [], 0
    for party in plan.learners:
        shard = build_shard(tables[party.name], plan, party.name, seed)
        columns = columns_of(plan, party.name)
        start = np.zeros(columns)
        start[: party.features] = joint_start[before : before + party.features]
        penalties = logistic.penalties(plan.l2, columns, shard.has_intercept)
        parties.append(OpenParty(party.name, shard, start, penalties, start, []))
        before += party.features
    return parties


def _class_weights(plan: Plan, label_party: OpenParty) -> Vector:
    y = label_party.shard.y
    if plan.class_weight == "none" or y is None:
        return np.ones(len(label_party.shard))
    return logistic.class_weights(y)


def _step(
    plan: Plan, parties: list[OpenParty], batch: Batch, generator: np.random.Generator, weights_of_rows: Vector
) -> None:
    sigmoid = SIGMOIDS[plan.sigmoid]
    features = [party.shard.X[batch.rows] for party in parties]
    scores = [X @ party.weights for X, party in zip(features, parties, strict=True)]
    signs = logistic.signs_of(parties[0].shard.y[batch.rows])  # type: ignore[index]  # The label party has labels.
    residuals = sigmoid.residuals(np.sum(scores, axis=0), signs) * weights_of_rows[batch.rows]
    noise = plan.noise_std * generator.standard_normal((len(parties), len(batch)))
    for index, party in enumerate(parties):
        # What a party learns is noisy with everybody else's draws; its own part stays exact (Algorithm 3).
        others = noise.sum(axis=0) - noise[index]
        party.sums.append((residuals + others) @ features[index])
    for party, own_scores in zip(parties, scores, strict=True):
        _descend(plan, sigmoid, party, batch, own_scores)


def _descend(plan: Plan, sigmoid: Sigmoid, party: OpenParty, batch: Batch, scores: Vector) -> None:
    gradient = party.sums[-1] * (sigmoid.gradient_scale / len(batch))
    logistic.stop_if_diverging(scores, gradient, sigmoid, batch.step)
    party.weights = logistic.updated(party.weights, gradient, plan.learning_rate, party.penalties)


def _transcript(plan: Plan, party: OpenParty, seed: bytes) -> Transcript:
    return Transcript(
        party=party.name,
        plan=plan.to_toml(),
        seed=seed,
        X=party.shard.X,
        y=party.shard.y,
        start=party.start,
        sums=np.array(party.sums).reshape(len(party.sums), -1),
        weights=party.weights,
    )
