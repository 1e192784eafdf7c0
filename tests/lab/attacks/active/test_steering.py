"""`steering`: a party that moves its peers' weights reads their columns, unless the move is refused."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.checking.check import check
from plumbob.errors import DivergenceError, RemoteProtocolError
from plumbob.lab.attacks import NotApplicable
from plumbob.lab.attacks.hooks import hooked
from plumbob.lab.attacks.steering import Steering, arm
from plumbob.lab.audit import audit
from plumbob.lab.audit.score import aligned
from plumbob.lab.exchange.party import LARGEST_SCORE, GradientParty, steering_limit
from plumbob.lab.simulate.parties import party_class
from plumbob.plan import Plan
from plumbob.record import Finding
from tests.lab.exchange.quick_keys import use_quick_keys
from tests.protocol.support import Played, made_up, plan_for, played, trained

Matrix = NDArray[np.float64]

ROWS = 40
LARGE, MIDDLING = 100.0, 0.3
"""Pushes further than training ever moves a weight, and as far as the limit lets one, there and back."""
EXACT = 0.1
"""The largest error that counts as exact, in standard deviations."""
# The victims have two columns together; the attacker reads ten rows in a step.
SETTINGS: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "exchange, by the label party": ("label", "exchange", (10, 2)),
    "exchange, by a feature party": ("features", "exchange", (2, 10)),
    "three parties": ("label", "exchange", (10, 1, 1)),
    "arbiter, by the label party": ("label", "arbiter", (10, 2)),
    "arbiter, by a feature party": ("features", "arbiter", (2, 10)),
    "arbiter, three parties": ("label", "arbiter", (10, 1, 1)),
}


def steering_plan(protocol: str, split: tuple[int, ...], **keys: Any) -> Plan:
    """The whole data in every batch, for as many epochs as two columns need on either side."""
    settings: dict[str, Any] = {"intercept": False, "batches": "full", "epochs": 7, "batch_size": ROWS}
    return plan_for(split, protocol=protocol, **(settings | keys))


@dataclass(frozen=True)
class Steered:
    """A run with an attacker in it."""

    run: Played
    by: str
    hook: Steering

    @property
    def victims(self) -> list[GradientParty]:
        parties = self.run.parties.items()
        return [party for name, party in parties if name != self.by and isinstance(party, GradientParty)]

    @property
    def failures(self) -> list[Exception]:
        return [end for end in self.run.ends.values() if isinstance(end, Exception)]

    @property
    def errors(self) -> Matrix:
        """What the attacker believes about the rows that it read, less the truth, as far as none is left open."""
        truth = np.hstack([victim.shard.X[:10] for victim in self.victims])
        assert truth.size == 20
        attacker: Any = self.run.parties[self.by]
        return aligned(self.hook.recovered(attacker), truth, self.hook.left_open) - truth


def steered(setting: str, push: float | None = None, **keys: Any) -> Steered:
    """A run with the attack's own push, or one of this size."""
    by, protocol, split = SETTINGS[setting]
    plan = steering_plan(protocol, split, **keys)
    armed = arm(plan, by)
    assert isinstance(armed, Steering)
    hook = type(armed)(push)
    attacker = hooked(party_class(plan.kind), hook)
    with pytest.MonkeyPatch.context() as patch:
        use_quick_keys(patch)
        return Steered(played(plan, made_up(rows=ROWS, columns=12), instead={by: attacker}), by, hook)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch: sums are taken as they come."""
    monkeypatch.setattr(GradientParty, "refuse_steering", lambda *_: None)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("setting", SETTINGS)
def test_unchecked_sums_show_every_value(setting: str) -> None:
    """On either side, with two parties or three, 20 of 20 values are read; through an arbiter up to one rotation."""
    assert np.abs(steered(setting, LARGE).errors).max() < EXACT


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_push_beyond_the_limit_ends_the_run(setting: str) -> None:
    """A victim refuses it before its weights move."""
    run = steered(setting, LARGE)
    refusals = [end for end in run.failures if isinstance(end, RemoteProtocolError)]
    assert any("steers this party's weights" in str(end) for end in refusals)
    assert all(np.abs(party.weights).max() < 1.0 for party in run.victims)


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_remains_are_small_pushes(setting: str) -> None:
    """Below the limit nobody notices, and where training itself moves little the values are read all the same."""
    run = steered(setting)
    assert not run.failures
    assert (run.errors**2).mean() < 0.1


@pytest.mark.parametrize("setting", [name for name, (_, protocol, _) in SETTINGS.items() if protocol == "exchange"])
@pytest.mark.parametrize("start", ["zero", "normal"])
def test_pushes_close_to_the_limit_read_nearly_exactly(setting: str, start: str) -> None:
    """20 of 20 values, also where the peers' weights move on their own, and nobody notices."""
    run = steered(setting, MIDDLING, start=start)
    assert not run.failures
    assert np.abs(run.errors).max() < EXACT


@pytest.mark.parametrize("keys", [{}, {"batches": "reshuffled"}, {"start": "normal"}, {"epochs": 2}], ids=str)
def test_check_does_not_call_it_blurred(keys: dict[str, Any]) -> None:
    """In `exchange`, whatever the verdict, people read that values are read nearly exactly."""
    found = check(steering_plan("exchange", (10, 4), **keys), ROWS)
    words = [finding.why for finding in found if finding.attack == "steering"]
    assert words
    assert all("nearly exactly" in one and "blurred" not in one for one in words)


@pytest.mark.parametrize("setting", ["exchange, by a feature party", "three parties", "arbiter, by the label party"])
def test_the_audit_finds_what_check_says(setting: str) -> None:
    """The audit finds that steering `leaks` for the chosen rows, in its own run."""
    by, protocol, split = SETTINGS[setting]
    plan = steering_plan(protocol, split)
    run = trained(plan, made_up(rows=ROWS, columns=12))
    found = [finding for finding in audit(run, ["steering"]) if finding.by == by]
    assert {(finding.verdict, finding.target, finding.n) for finding in found} == {("leaks", "features", 10)}
    assert {one.against for one in said(setting)} == {one.against for one in found}


@pytest.mark.parametrize("setting", SETTINGS)
def test_check_says_that_it_leaks(setting: str) -> None:
    """Every way of steering that reads all values is a leak before the run."""
    assert {finding.verdict for finding in said(setting)} == {"leaks"}


def said(setting: str) -> list[Finding]:
    """What `check` says of this attacker."""
    by, protocol, split = SETTINGS[setting]
    findings = check(steering_plan(protocol, split), ROWS)
    return [finding for finding in findings if finding.attack == "steering" and finding.by == by]


def test_noise_and_shares_stop_it() -> None:
    """Noise far above a score hides every push, and in `shares` there is nothing to push and nothing to read."""
    noisy = steering_plan("exchange", (10, 2), noise="std", noise_std=100.0, row_norm=1.0)
    [found] = [one for one in audit(trained(noisy, made_up(ROWS, 12)), ["steering"]) if one.by == "label"]
    assert found.verdict == "blocked"
    verdicts = {one.verdict for one in check(noisy, ROWS) if one.attack == "steering"}
    assert verdicts == {"blocked"}
    shares = plan_for((10, 2))
    assert not [one for one in check(shares, ROWS) if one.attack == "steering"]
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
