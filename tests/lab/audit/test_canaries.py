"""Canaries, rows whose labels are coin flips: named where nothing protects them, and no oftener than a promise allows.

A promise about rows bounds how often such a label is named: (e^epsilon + delta) / (1 + e^epsilon). On real labels a
guess may be right because the model is good; on a coin it is right half of the time, or the run has leaked.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.data import Table
from plumbob.lab.simulate import Run, train
from plumbob.model.intervals import wilson
from plumbob.plan import Plan
from plumbob.privacy.rows import coin_flip_bound
from tests.protocol.support import Tables, tables_for

Coins = NDArray[np.int8]
CANARIES, RUNS = 4, 25
FAR = 3.0  # Deviations, of a value that stands out.

KEYS: dict[str, Any] = {
    "protocol": "clear",
    "scale": "whitened",
    "sigmoid": "fourier",
    "batches": "full",
    "learning_rate": 0.0,
    "momentum": 0.5,
    "feature_bits": 13,
    "epochs": 30,
}


def plan_for(**keys: Any) -> Plan:
    """Ten columns and few rows: the weights follow single labels closely."""
    return Plan.for_columns((5, 5), **{**KEYS, **keys})


def few_people(plan: Plan) -> Tables:
    """Sixty rows, so that a label has weight."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 10))
    return tables_for(plan, X, (X[:, 0] + generator.normal(size=60) > 0).astype(np.int8))


def named(plan: Plan, tables: Mapping[str, Table], seed: int) -> int:
    """How many coins are guessed rightly from opened weights, over several seeded runs with fresh coins on some rows.

    The guesser is as strong as it can be without breaking anything: it knows every column and every other label.
    """
    generator, right = np.random.default_rng(seed), 0
    label_party = plan.label_party.name
    for number in range(RUNS):
        places = generator.choice(len(tables[label_party]), CANARIES, replace=False)
        coins = generator.integers(0, 2, CANARIES).astype(np.int8)
        # In `clear` a seed decides the noise, too: the same runs each time.
        run = train(
            plan.replace(seed=RUNS * seed + number),
            {**tables, label_party: with_coins(tables[label_party], places, coins)},
        )
        right += int((guessed_coins(run, places) == coins).sum())
    return right


def with_coins(table: Table, places: NDArray[np.intp], coins: Coins) -> Table:
    """The table with coins for labels at these places."""
    assert table.labels is not None
    labels = table.labels.copy()
    labels[places] = coins
    return replace(table, labels=labels)


def guessed_coins(run: Run, places: NDArray[np.intp]) -> Coins:
    """Guess 1 where a row scores above what the others' rows predict: a label pulls the weights toward its row.

    The weights without a row are one Newton step away from those with it, which takes the row's own leverage out.
    """
    transcripts = [run.transcripts[party.name] for party in run.model.plan.learners]
    X = np.hstack([transcript.X for transcript in transcripts])
    weights = np.concatenate([transcript.weights for transcript in transcripts])
    others = np.setdiff1d(np.arange(len(X)), places)
    y = transcripts[0].y
    assert y is not None
    gradient = X[others].T @ (probability(X[others] @ weights) - y[others])
    chances = probability(X @ weights)
    curvature = (X * (chances * (1 - chances))[:, None]).T @ X + 1e-6 * np.eye(X.shape[1])
    # At the optimum the canaries' residuals balance everybody else's: this is what they must add up to.
    pull = X[places] @ np.linalg.solve(curvature, gradient)
    return (pull > 0).astype(np.int8)


def probability(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sigmoid."""
    chances: NDArray[np.float64] = 0.5 + 0.5 * np.tanh(0.5 * scores)
    return chances


def is_within(right: int, plan: Plan) -> bool:
    """Whether the 95 % interval of the share of right guesses reaches below what the promise allows."""
    return wilson(right, RUNS * CANARIES)[0] <= coin_flip_bound(plan.epsilon, plan.delta)


def test_without_noise_canaries_are_named() -> None:
    """Opened weights of a small table give most coin flips away; this is what the guesser can do."""
    plan = plan_for()
    assert wilson(named(plan, few_people(plan), 1), RUNS * CANARIES)[0] > 0.65


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_under_the_promise_the_bound_holds(epsilon: float) -> None:
    """The same guesser, the same table, noise for whole rows: within the bound, and far from what it was."""
    plan = plan_for(noise="rows", epsilon=epsilon)
    right = named(plan, few_people(plan), 2)
    assert is_within(right, plan)
    assert right / (RUNS * CANARIES) < 0.65


def rows_of_their_choice(plan: Plan, coin: bool) -> Tables:
    """The worst table that a replay accepts, against one person of the feature party, whose row is a coin flip.

    The label party gives this person alone label 1 and a value of its own. More it may not: labels are 0 or 1, and no
    row counts more than another.
    """
    tables, sign = few_people(plan), 1.0 if coin else -1.0
    is_target = np.arange(len(tables["label"])) == 0
    label, features = tables["label"], tables["features"]
    return {
        "label": replace(
            label,
            labels=is_target.astype(np.int8),
            columns=tuple(replace(column, values=is_target.astype(np.float64)) for column in label.columns),
        ),
        "features": replace(
            features,
            columns=tuple(
                replace(column, values=np.where(is_target, sign * FAR, column.values)) for column in features.columns
            ),
        ),
    }


@pytest.mark.parametrize(("epsilon", "is_named"), [(0.0, True), (1.0, False), (4.0, False)])
def test_the_worst_table_that_a_replay_accepts(epsilon: float, is_named: bool) -> None:
    """Without noise every coin is read from the weights; with it the guesser stays within the bound."""
    plan = plan_for(noise="rows", epsilon=epsilon) if epsilon else plan_for()
    generator, right = np.random.default_rng(4), 0
    for number in range(RUNS * CANARIES):
        coin = bool(generator.integers(0, 2))
        run = train(plan.replace(seed=1 + number), rows_of_their_choice(plan, coin))
        right += int((run.transcripts["features"].weights.sum() > 0) == coin)
    assert is_within(right, plan) != is_named
    assert (right == RUNS * CANARIES) == is_named


@pytest.mark.soak
def test_the_bound_holds_over_shares_too() -> None:
    """Real messages and the operating system's randomness: the guesser reads opened weights and stays within."""
    plan = plan_for(protocol="shares", open="own", noise="rows", epsilon=2.0, epochs=6)
    assert is_within(named(plan, few_people(plan), 3), plan)
