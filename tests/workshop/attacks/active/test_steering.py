"""Steering in `exchange`: a helper that moves the peer's weights reads its columns, unless the move is refused."""

from typing import Any

import numpy as np
import pytest

from plumbob.errors import DivergenceError, RemoteProtocolError
from plumbob.plan import Plan
from plumbob.protocol.party import LARGEST_SCORE, TrainingParty, steering_limit
from plumbob.workshop.attacks.active.steering import SteeringParty
from tests.protocol.support import Played, made_up, plan_for, played

ROWS = 40


class GentleParty(SteeringParty):
    """Moves a weight no further than a step of training might."""

    push = 0.25


def steering_plan(by: str, **keys: Any) -> Plan:
    """The victim has two columns; the attacker reads ten rows in a step."""
    split = (10, 2) if by == "label" else (2, 10)
    settings: dict[str, Any] = {"intercept": False, "batches": "full", "epochs": 4, "batch_size": ROWS}
    return plan_for(split, protocol="exchange", **(settings | keys))


def steered(by: str, party: type[SteeringParty] = SteeringParty) -> Played:
    """A run with an attacker in it."""
    return played(steering_plan(by), made_up(rows=ROWS, columns=12), cast={by: party})


def truth_of(run: Played, by: str) -> Any:
    """The victim's values of the rows that were read, by column."""
    victim, attacker = run.parties["features" if by == "label" else "label"], run.parties[by]
    assert isinstance(victim, TrainingParty)
    assert isinstance(attacker, SteeringParty)
    return victim.shard.X[:10], attacker.values()[:, :2]


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch: sums are taken as they come."""
    monkeypatch.setattr(TrainingParty, "refuse_steering", lambda *_: None)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("by", ["label", "features"])
def test_unchecked_sums_show_every_value(by: str) -> None:
    """On either side, 20 of 20 values of the peer are read to a tenth of a standard deviation or better."""
    truth, claims = truth_of(steered(by), by)
    assert truth.size == 20
    assert np.abs(claims - truth).max() < 0.1


@pytest.mark.parametrize("by", ["label", "features"])
def test_a_push_beyond_the_limit_ends_the_run(by: str) -> None:
    """The victim refuses it before its weights move."""
    run = steered(by)
    victim = "features" if by == "label" else "label"
    assert isinstance(run.ends[victim], RemoteProtocolError)
    assert "steers this party's weights" in str(run.ends[victim])
    party = run.parties[victim]
    assert isinstance(party, TrainingParty)
    assert np.abs(party.weights).max() < 1.0


def test_what_remains_is_a_small_push() -> None:
    """A push of a quarter is not noticed, and what it reads is blurred by what training itself moves."""
    run = steered("label", GentleParty)
    assert not any(isinstance(end, Exception) for end in run.ends.values())
    truth, claims = truth_of(run, "label")
    assert np.corrcoef(claims.ravel(), truth.ravel())[0, 1] > 0.5


def test_the_limit_follows_the_rows_and_the_noise() -> None:
    """Labels and scores for each row of the batch, and nine deviations of the noise."""
    X = np.array([[1.0, -2.0], [0.5, 0.0]])
    plain = steering_limit(steering_plan("label"), 1, X)
    assert plain == pytest.approx([1.5 * (2 + LARGEST_SCORE), 2 * (2 + LARGEST_SCORE)])
    noisy = steering_limit(steering_plan("label", noise="std", noise_std=3.0, row_norm=1.0), 1, X)
    assert noisy - plain == pytest.approx([27 * np.sqrt(1.25), 54])


def test_a_run_that_diverges_accuses_nobody() -> None:
    """Where own scores have run away too, it is called divergence."""
    run = played(plan_for((2, 2), protocol="exchange", learning_rate=900.0, epochs=4), made_up(columns=4))
    assert any(isinstance(end, DivergenceError) for end in run.ends.values())
