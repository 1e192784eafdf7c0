"""`steering`: a party that moves its peers' weights reads their columns, unless the move is refused."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.checking.check import check
from plumbob.errors import DivergenceError, RemoteProtocolError
from plumbob.lab.attacks import NotApplicable
from plumbob.lab.attacks.steering import SteeringArbitratedParty, SteeringExchangeParty, SteeringParty, arm
from plumbob.lab.audit import audit
from plumbob.lab.audit.score import aligned
from plumbob.plan import Plan
from plumbob.protocol.party import LARGEST_SCORE, TrainingParty, steering_limit
from tests.protocol.support import Played, made_up, plan_for, played, trained

Matrix = NDArray[np.float64]

ROWS = 40
LARGE = 100.0
EXACT = 0.1
"""Of a standard deviation."""
# The victims have two columns together; the attacker reads ten rows in a step.
SETTINGS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "exchange, by the label party": ("label", "exchange", (10, 2)),
    "exchange, by a feature party": ("features", "exchange", (2, 10)),
    "three parties": ("label", "exchange", (10, 1, 1)),
    "arbiter, by the label party": ("label", "arbiter", (10, 2)),
    "arbiter, by a feature party": ("features", "arbiter", (2, 10)),
    "arbiter, three parties": ("label", "arbiter", (10, 1, 1)),
}


class LargeInExchange(SteeringExchangeParty):
    """Moves a weight further than training ever does."""

    push = LARGE


class LargeWithArbiter(SteeringArbitratedParty):
    """Moves weights further along a row than training ever does."""

    push = LARGE


def steering_plan(protocol: str, split: tuple[int, ...], **keys: Any) -> Plan:
    """The whole data in every batch, for as many epochs as two columns need on either side."""
    settings: dict[str, Any] = {"intercept": False, "batches": "full", "epochs": 7, "batch_size": ROWS}
    return plan_for(split, protocol=protocol, **(settings | keys))


def steered(setting: str, is_large: bool) -> Played:
    """A run with an attacker in it."""
    by, protocol, split = SETTINGS[setting]
    plan = steering_plan(protocol, split)
    large = LargeInExchange if protocol == "exchange" else LargeWithArbiter
    party_class = large if is_large else arm(plan, by)
    assert isinstance(party_class, type)
    return played(plan, made_up(rows=ROWS, columns=12), instead={by: party_class})


def errors_of(run: Played, by: str) -> Matrix:
    """What the attacker believes about the rows that it read, less the truth, as far as the attack leaves none open."""
    attacker = run.parties[by]
    assert isinstance(attacker, SteeringParty)
    victims = [party for name, party in run.parties.items() if name != by and isinstance(party, TrainingParty)]
    truth = np.hstack([victim.shard.X[:10] for victim in victims])
    assert truth.size == 20
    return aligned(attacker.recovered(), truth, attacker.left_open) - truth


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch: sums are taken as they come."""
    monkeypatch.setattr(TrainingParty, "refuse_steering", lambda *_: None)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("setting", SETTINGS)
def test_unchecked_sums_show_every_value(setting: str) -> None:
    """On either side, with two parties or three, 20 of 20 values are read; through an arbiter up to one rotation."""
    by, *_ = SETTINGS[setting]
    assert np.abs(errors_of(steered(setting, is_large=True), by)).max() < EXACT


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_push_beyond_the_limit_ends_the_run(setting: str) -> None:
    """A victim refuses it before its weights move."""
    by, *_ = SETTINGS[setting]
    run = steered(setting, is_large=True)
    victims = [party for name, party in run.parties.items() if name != by and isinstance(party, TrainingParty)]
    refusals = [end for end in run.ends.values() if isinstance(end, RemoteProtocolError)]
    assert any("steers this party's weights" in str(end) for end in refusals)
    assert all(np.abs(party.weights).max() < 1.0 for party in victims)


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_remains_are_small_pushes(setting: str) -> None:
    """Below the limit nobody notices, and where training itself moves little the values are read all the same."""
    by, *_ = SETTINGS[setting]
    run = steered(setting, is_large=False)
    assert not any(isinstance(end, Exception) for end in run.ends.values())
    assert (errors_of(run, by) ** 2).mean() < 0.1


class MiddlingInExchange(SteeringExchangeParty):
    """Moves a weight as far as the limit lets it, there and back."""

    push = 0.3


@pytest.mark.parametrize("setting", [name for name, (_, protocol, _) in SETTINGS.items() if protocol == "exchange"])
@pytest.mark.parametrize("start", ["zero", "normal"])
def test_pushes_close_to_the_limit_read_nearly_exactly(setting: str, start: str) -> None:
    """20 of 20 values, also where the peers' weights move on their own, and nobody notices."""
    by, protocol, split = SETTINGS[setting]
    plan = steering_plan(protocol, split, start=start)
    run = played(plan, made_up(rows=ROWS, columns=12), instead={by: MiddlingInExchange})
    assert not any(isinstance(end, Exception) for end in run.ends.values())
    assert np.abs(errors_of(run, by)).max() < EXACT


@pytest.mark.parametrize("keys", [{}, {"batches": "reshuffled"}, {"start": "normal"}, {"epochs": 2}], ids=str)
def test_check_does_not_call_it_blurred(keys: dict[str, Any]) -> None:
    """In `exchange`, whatever the verdict, people read that values are read nearly exactly."""
    found = check(steering_plan("exchange", (10, 4), **keys), ROWS)
    words = [finding.why for finding in found if finding.attack == "steering"]
    assert words
    assert all("nearly exactly" in one and "blurred" not in one for one in words)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_audit_finds_what_check_says(setting: str) -> None:
    """`leaks`, by a run of its own, for the chosen rows."""
    by, protocol, split = SETTINGS[setting]
    plan = steering_plan(protocol, split)
    run = trained(plan, made_up(rows=ROWS, columns=12))
    found = [finding for finding in audit(run, ["steering"]) if finding.by == by]
    assert {(finding.verdict, finding.target, finding.n) for finding in found} == {("leaks", "features", 10)}
    said = [finding for finding in check(plan, ROWS) if finding.attack == "steering" and finding.by == by]
    assert {finding.verdict for finding in said} == {"leaks"}
    assert [finding.against for finding in said] == [finding.against for finding in found]


def test_noise_and_shares_stop_it() -> None:
    """Noise far above a score hides every push, and in `shares` there is nothing to push and nothing to read."""
    noisy = steering_plan("exchange", (10, 2), noise="std", noise_std=100.0, row_norm=1.0)
    [found] = [one for one in audit(trained(noisy, made_up(ROWS, 12)), ["steering"]) if one.by == "label"]
    assert found.verdict == "blocked"
    verdicts = {one.verdict for one in check(noisy, ROWS) if one.attack == "steering"}
    assert verdicts == {"blocked"}
    shares = plan_for((10, 2), batches="full")
    assert {one.verdict for one in check(shares, ROWS) if one.attack == "steering"} == {"not applicable"}
    assert isinstance(arm(shares, "label"), NotApplicable)


def test_the_limit_follows_the_rows_and_the_noise() -> None:
    """Labels and scores for each row of the batch, and nine deviations of the noise."""
    X = np.array([[1.0, -2.0], [0.5, 0.0]])
    plain = steering_limit(steering_plan("exchange", (10, 2)), 1, X)
    assert plain == pytest.approx([1.5 * (2 + LARGEST_SCORE), 2 * (2 + LARGEST_SCORE)])
    noisy = steering_limit(steering_plan("exchange", (10, 2), noise="std", noise_std=3.0, row_norm=1.0), 1, X)
    assert noisy - plain == pytest.approx([27 * np.sqrt(1.25), 54])


def test_a_run_that_diverges_accuses_nobody() -> None:
    """Where own scores have run away too, it is called divergence."""
    run = played(plan_for((2, 2), protocol="exchange", learning_rate=900.0, epochs=4), made_up(columns=4))
    assert any(isinstance(end, DivergenceError) for end in run.ends.values())
