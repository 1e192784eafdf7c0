"""What an attacker really finds out about one label bounds epsilon from below; `sound` noise keeps its promise.

The label party's own code releases its residuals: encoding, exact discrete Gaussian, budget, update with what was
released. The attacker is as strong as the promise allows for: it reads the released integers themselves, knows all
columns, weights and every label but one, and its own scores are zero. Two neighbouring label sets, many runs each; the
attacker decides by the sum of what is left of the target's residuals, which is the best test there is.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from plumbob.arrays import Vector
from plumbob.checking.study import widths_for
from plumbob.crypto import Draws
from plumbob.data import Batch, build_shard, split_array
from plumbob.lab import one_step
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.plan import Plan
from plumbob.privacy import discrete_gaussian
from plumbob.protocol.participant import Participant

RUNS = 4000
FEWER_RUNS, FEWEST_RUNS = 2500, 1500  # Where as many steps a run, or a larger leak, show as much.
DELTA = 0.01  # Large, so that the promise is as tight as it can be for so many runs.
ERROR = 0.05
TARGET = 0
X = np.array([[0.3, -0.2, 0.1], [-0.5, 0.4, 0.0], [0.2, 0.6, -0.3]])


def plan_for(**keys: Any) -> Plan:
    """Full batches of three people, so that many runs take no time."""
    common: dict[str, Any] = {"protocol": "exchange", "batches": "full", "epochs": 3, "learning_rate": 0.5}
    noise: dict[str, Any] = {"noise": "sound", "epsilon": 1.0, "delta": DELTA, "row_norm": 1.0, "scale": "none"}
    return Plan.for_columns((2, 1), **(common | noise | keys))


def label_party(plan: Plan, label: int, draws: Draws) -> ExchangeParty:
    """The label party's own code, at the point where training begins; the target's label is given."""
    table, _ = split_array(X, np.array([label, 0, 1]), (2, 1))
    draws.open(b"session", b"seed")
    party = ExchangeParty(Participant("label", plan, {}, draws), table)
    party.shard = build_shard(table, plan, "label", b"")
    party.widths = widths_for(plan, len(table))
    return party


def released_sum(party: ExchangeParty) -> float:
    """One run: what is left of the target's residuals after taking away the scores, which the attacker can follow."""
    everybody, total = np.arange(len(X)), 0.0
    for step in range(1, party.plan.epochs + 1):
        batch = Batch(step, step, everybody)
        scores = party.own_scores(batch)
        residuals = one_step.partial_residuals(scores, party.signs(batch))
        released = party.encode_released(batch, residuals)
        seen = released.encoding.decode(released.values)
        total -= seen[TARGET] - party.sigmoid.curve(scores)[TARGET]
        # The peer's scores are zero: it adds nothing to the sums.
        party.descend(batch, scores, party.own_part(residuals, released) @ party.shard.X)
    return total


def statistics(plan: Plan, label: int, runs: int) -> Vector:
    """The statistics of many runs, from randomness that is the same in every test run."""
    party = label_party(plan, label, Draws.begin(bytes([label]) * 32))
    found = []
    for _ in range(runs):
        party.weights = np.zeros(party.columns)
        found.append(released_sum(party))
    return np.array(found)


def epsilon_lower_bound(positive: Vector, negative: Vector) -> float:
    """An epsilon that is exceeded with 95 % confidence: threshold from one half of the runs, rates from the other."""
    half = len(positive) // 2
    candidates = np.quantile(np.concatenate([positive[:half], negative[:half]]), np.linspace(0.02, 0.98, 97))
    best = max(candidates, key=lambda at: _bound(positive[:half], negative[:half], float(at)))
    return _bound(positive[half:], negative[half:], float(best))


def _bound(positive: Vector, negative: Vector, threshold: float) -> float:
    hits, alarms = int((positive > threshold).sum()), int((negative > threshold).sum())
    ways = ((hits, alarms), (len(negative) - alarms, len(positive) - hits))
    return max(_log_odds(*way, len(positive)) for way in ways)


def _log_odds(hits: int, alarms: int, runs: int) -> float:
    low = float(beta.ppf(ERROR / 2, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - ERROR / 2, alarms + 1, runs - alarms)) if alarms < runs else 1.0
    return float(np.log((low - DELTA) / high)) if low > DELTA else 0.0


def measured_bound(plan: Plan, runs: int) -> float:
    """The attack on both label sets."""
    return epsilon_lower_bound(statistics(plan, 1, runs), statistics(plan, 0, runs))


@pytest.mark.parametrize(
    ("keys", "runs"),
    [
        ({"epsilon": 1.0}, FEWER_RUNS),
        pytest.param({"epsilon": 3.0}, RUNS, marks=pytest.mark.soak),
        ({"epochs": 1}, RUNS),
    ],
    ids=str,
)
def test_the_promise_is_kept(keys: dict[str, Any], runs: int) -> None:
    """What the best attack proves about epsilon never exceeds what was claimed, and is not nothing."""
    plan = plan_for(**keys)
    assert 0 < measured_bound(plan, runs) <= plan.epsilon


def test_a_broken_sampler_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a quarter of the deviation the same attack proves more than was claimed, by far."""

    def weak(variance: Fraction, below: discrete_gaussian.Below) -> int:
        return whole(variance / 16, below)

    whole = discrete_gaussian.sample
    monkeypatch.setattr(discrete_gaussian, "sample", weak)
    plan = plan_for()
    assert measured_bound(plan, FEWEST_RUNS) > 2 * plan.epsilon


def test_the_bound_itself_holds() -> None:
    """Where both label sets look the same, nothing is proved; where one number tells them apart, much is."""
    generator = np.random.default_rng(3)
    same = generator.normal(size=(2, RUNS))
    assert epsilon_lower_bound(same[0], same[1]) < 0.3
    assert epsilon_lower_bound(same[0] + 20, same[1]) > 4
