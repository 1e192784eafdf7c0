"""`clear`: the oracle. No cryptography and no messages; every party gets exactly its own gradient.

It is what the encrypted protocols are tested against, and it carries every approximation. What it leaves behind is
what they leave: one transcript a party.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.checking import study
from plumbob.data import Batch, Shard, Table, all_steps, batches, build_shard, stream
from plumbob.errors import DataError
from plumbob.lab import one_step
from plumbob.lab.flips import flipped_signs
from plumbob.lab.one_step import starting_weights
from plumbob.lab.transcript import Transcript, flipped_labels
from plumbob.model import logistic
from plumbob.plan import Plan
from plumbob.plan.mistakes import refuse_large_delta
from plumbob.plan.sigmoids import SIGMOIDS, Sigmoid
from plumbob.privacy.discrete_gaussian import Draw
from plumbob.privacy.rows import RowCost
from plumbob.protocol import row_cost, row_noise
from plumbob.protocol.openings import columns_of
from plumbob.protocol.party import AfterStep, row_weights


@dataclass
class OpenParty:
    """A party whose state everybody may look at."""

    name: str
    shard: Shard
    descent: one_step.Descent
    penalties: Vector | Matrix
    start: Vector
    sums: list[Vector]
    own_noise: list[Vector]
    """What own draws add to the sums, in each step in which they return."""


def train_clear(
    plan: Plan,
    tables: Mapping[str, Table],
    seed: bytes,
    progress: AfterStep | None = None,
    held_out_key: bytes = b"",
    shards: Mapping[str, Shard] = MappingProxyType({}),
) -> tuple[list[Transcript], dict[str, Shard]]:
    """Train all parties in one place; `tables` are aligned, `seed` fixes batches and the start.

    `held_out_key` draws the held-out rows by their ids; without one, the seed does. `shards` are rows that are prepared
    already.
    """
    refuse_large_delta(plan, min(map(len, tables.values()), default=0))
    parties = _open_parties(plan, tables, seed, held_out_key or seed, shards)
    rows = len(parties[0].shard)
    steps = all_steps(rows, plan)
    generator = stream(seed, "noise")
    labels = _labels(plan, parties[0], seed)
    on_sums = _noise_on_sums(plan.on(rows), parties, generator)
    for batch in batches(seed, rows, plan):
        _step(plan, parties, batch, labels, _noise(plan, len(batch), generator), on_sums)
        if progress is not None:
            progress(batch, steps)
    return [_transcript(plan, party, seed, labels.signs) for party in parties], {
        party.name: party.shard for party in parties
    }


def _open_parties(
    plan: Plan, tables: Mapping[str, Table], seed: bytes, key: bytes, shards: Mapping[str, Shard]
) -> list[OpenParty]:
    joint_start = starting_weights(plan.start, plan.columns, stream(seed, "starting weights"))
    parties, before = [], 0
    for party in plan.learners:
        # From the seed, like all noise here.
        draw = stream(seed, f"home of {party.name}").bytes
        ruled = plan.on(_trained_rows(plan, tables))
        treatment = row_noise.HomeTreatment(ruled, party.name, draw, failure=0.0) if plan.noise == "rows" else None
        shard = shards.get(party.name) or build_shard(tables[party.name], plan, party.name, key, treatment)
        columns = columns_of(plan, party.name)
        start = np.zeros(columns)
        start[: party.features] = joint_start[before : before + party.features]
        descent = one_step.Descent.from_start(start)
        parties.append(OpenParty(party.name, shard, descent, shard.penalties(plan.l2), start, [], []))
        before += party.features
    return parties


def _trained_rows(plan: Plan, tables: Mapping[str, Table]) -> int:
    rows = len(tables[plan.label_party.name])
    return rows - plan.held_out(rows)


def _noise_on_sums(plan: Plan, parties: list[OpenParty], generator: np.random.Generator) -> list[Matrix] | None:
    """For each party, what everybody's draws add to its sums in each pass; None where noise is on residuals."""
    if (cost := row_cost.row_cost(plan, failure=0.0)) is None:
        return None
    columns = [len(party.start) for party in parties]
    drawn: Matrix = np.sum([noise_of_a_run(plan, cost, sum(columns), generator.bytes) for _ in parties], axis=0)
    return np.split(drawn, np.cumsum(columns)[:-1], axis=1)


def noise_of_a_run(plan: Plan, cost: RowCost, columns: int, draw: Draw) -> Matrix:
    """One party's noise on all coordinates, one row per pass, in the units of a sum of residuals times rows."""
    drawn = row_noise.whole_noise_of_a_run(cost, columns, draw).astype(np.float64)
    return drawn * 2.0 ** -(plan.feature_bits + plan.residual_bits)


def cut_residuals(plan: Plan, residuals: Vector) -> Vector:
    """Residuals rounded toward zero to whole units of 2**-residual_bits, as the encrypted protocol cuts them."""
    scale = 2.0**plan.residual_bits
    cut: Vector = np.trunc(residuals * scale) / scale
    return cut


@dataclass(frozen=True, repr=False, eq=False)
class TrainingLabels:
    """The labels of all training rows as training uses them, and how much each row weighs."""

    signs: Vector
    weights: Vector


def _labels(plan: Plan, label_party: OpenParty, seed: bytes) -> TrainingLabels:
    y = label_party.shard.y
    if y is None:
        raise DataError(f"{label_party.name}: expected labels, its table has none")
    drawn = stream(seed, "flipped labels").bytes(8 * len(y))
    signs = flipped_signs(logistic.signs_of(y), plan.label_flip_epsilon, drawn)
    return TrainingLabels(signs, row_weights(plan, y, label_party.shard.weights))


def _noise(plan: Plan, rows: int, generator: np.random.Generator) -> tuple[Matrix, Matrix]:
    """For each party (row), what everybody's draws add to the residuals it learns from; and what its own add."""
    stds = np.array([study.noise_std(plan, party.role) for party in plan.learners])
    drawn = stds[:, None] * generator.standard_normal((len(stds), rows))
    # Own draws do not come back: a party's own part stays exact (Algorithm 3), unless soundness needs it as released.
    returns = [study.updates_with_released_noise(plan, party.role) for party in plan.learners]
    own: Matrix = np.where(np.array(returns)[:, None], drawn, 0.0)
    return drawn.sum(axis=0) - drawn + own, own


def _step(
    plan: Plan,
    parties: list[OpenParty],
    batch: Batch,
    labels: TrainingLabels,
    noise: tuple[Matrix, Matrix],
    on_sums: list[Matrix] | None,
) -> None:
    sigmoid = SIGMOIDS[plan.sigmoid]
    # A batch of all rows is the table itself, in its order: a copy in every step would take longer than the rest.
    is_whole = plan.batches == "full" and len(batch) == len(labels.signs)
    features = [party.shard.X if is_whole else party.shard.X[batch.rows] for party in parties]
    scores = [X @ party.descent.weights for X, party in zip(features, parties, strict=True)]
    residuals = sigmoid.residuals(np.sum(scores, axis=0), labels.signs[batch.rows]) * labels.weights[batch.rows]
    if on_sums is not None:
        residuals = cut_residuals(plan, residuals)
    for party, X, added, own in zip(parties, features, *noise, strict=True):
        party.sums.append(one_step.residual_sums(X, residuals + added))
        if own.any():
            party.own_noise.append(own @ X)
    if on_sums is not None:
        for party, drawn in zip(parties, on_sums, strict=True):
            party.sums[-1] = party.sums[-1] + drawn[batch.step - 1]
    for party, own_scores in zip(parties, scores, strict=True):
        _descend(plan, sigmoid, party, batch, own_scores)


def _descend(plan: Plan, sigmoid: Sigmoid, party: OpenParty, batch: Batch, scores: Vector) -> None:
    gradient = one_step.gradient(party.sums[-1], len(batch), sigmoid)
    one_step.stop_if_diverging(scores, gradient, sigmoid, batch.step)
    party.descent = party.descent.after(gradient, plan.rate_over(len(batch)), plan.momentum, party.penalties)


def _transcript(plan: Plan, party: OpenParty, seed: bytes, signs: Vector) -> Transcript:
    return Transcript(
        party=party.name,
        plan=plan.to_toml(),
        seed=seed,
        X=party.shard.X,
        y=party.shard.y,
        start=party.start,
        sums=np.array(party.sums).reshape(len(party.sums), -1),
        weights=party.descent.weights,
        own_noise=np.array(party.own_noise) if party.own_noise else None,
        flipped=flipped_labels(plan, party.shard.y, signs),
    )
