"""Attacks from the arbiter's view: alone, and together with one party."""

from typing import Any

import pytest

import plumbob
from plumbob.checking.check import check
from plumbob.lab.audit import redteam
from plumbob.record import Finding
from tests.protocol.support import cut, plan_for, trained

SMALL: dict[str, Any] = {"protocol": "arbiter", "learning_rate": 0.01, "batch_size": 30, "epochs": 1, "row_norm": 1.0}


@pytest.fixture(autouse=True)
def only_the_arbiter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other attacks have tests of their own."""
    monkeypatch.setattr(redteam, "PASSIVE", ())
    monkeypatch.setattr(redteam, "ACTIVE", ())


def audited(**keys: Any) -> dict[tuple[str, str, str], Finding]:
    """The findings by attacker, victim and target."""
    plan = plan_for((3, 4), **(SMALL | keys))
    return {(one.by, one.against, one.target): one for one in plumbob.audit(trained(plan, cut("breast-cancer", 60, 7)))}


def test_the_arbiter_and_one_party_read_every_row() -> None:
    """Labels with a feature party, scores with the label party, at a batch size at which no party reads anything."""
    found = audited()
    labels = found["arbiter+features", "label", "labels"]
    assert (labels.verdict, labels.rate) == ("leaks", 1.0)
    scores = found["arbiter+label", "features", "scores"]
    assert scores.verdict == "leaks"
    assert scores.rate == pytest.approx(1.0, abs=1e-3)


def test_masked_sums_tell_the_arbiter_nothing() -> None:
    """Alone it is blocked, unless the plan takes the masks away: then the sums add up to everybody's weights."""
    assert audited()["arbiter", "features", "weights"].verdict == "blocked"
    unmasked = audited(unmasked_gradients_for_the_arbiter=True, epochs=2)
    for name in ("label", "features"):
        found = unmasked["arbiter", name, "weights"]
        assert found.verdict == "leaks"
        assert found.rate == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("unmasked", [False, True])
def test_check_says_the_same_before(unmasked: bool) -> None:
    """The same findings from the plan alone, and strong noise takes the labels away again."""
    plan = plan_for((3, 4), **SMALL, unmasked_gradients_for_the_arbiter=unmasked)
    found = {(one.by, one.target): one.verdict for one in check(plan, 1000) if one.attack == "arbiter-key"}
    assert found["arbiter+features", "labels"] == "leaks"
    assert found["arbiter+label", "scores"] == "leaks"
    assert found["arbiter", "weights"] == ("leaks" if unmasked else "blocked")
    noisy = plan.replace(noise="std", noise_std=200.0)
    found = {(one.by, one.target): one.verdict for one in check(noisy, 1000) if one.attack == "arbiter-key"}
    assert found["arbiter+features", "labels"] == "blocked"
