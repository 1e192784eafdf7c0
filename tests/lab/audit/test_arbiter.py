"""What an arbiter can read, alone and together with one party, as `check` says it."""

from typing import Any

import pytest

import plumbob
from plumbob.checking.check import check
from tests.protocol.support import cut, plan_for, trained

SMALL: dict[str, Any] = {"protocol": "arbiter", "learning_rate": 0.01, "batch_size": 30, "epochs": 1, "row_norm": 1.0}


def test_an_audit_says_what_check_says() -> None:
    """Nobody acts out an arbiter that joins a party: its findings are those of the plan, whatever else is run."""
    run = trained(plan_for((3, 4), **SMALL), cut("breast-cancer", 60, 7))
    found = plumbob.audit(run, ["arbiter-key"])
    assert {one.by for one in found} >= {"arbiter", "arbiter+features", "arbiter+label"}
    said = {(one.by, one.against, one.target): one.verdict for one in check(run.model.plan, 60)}
    assert all(said[one.by, one.against, one.target] == one.verdict for one in found)


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
