"""Canaries: named where nothing protects them, and never more often than a promise about rows allows."""

from typing import Any

import numpy as np
import pytest

from plumbob.errors import DataError
from plumbob.lab.audit.canaries import CanaryResult, try_canaries
from plumbob.plan import Plan
from tests.protocol.support import Tables, tables_for

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


def test_without_noise_canaries_are_named() -> None:
    """Opened weights of a small table give most coin flips away; this is what the guesser can do."""
    plan = plan_for()
    result = try_canaries(plan, few_people(plan), 4, 25, np.random.default_rng(1))
    assert result.interval[0] > 0.65


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_under_the_promise_the_bound_holds(epsilon: float) -> None:
    """The same guesser, the same table, noise for whole rows: within the bound, and far from what it was."""
    plan = plan_for(noise="rows", epsilon=epsilon)
    result = try_canaries(plan, few_people(plan), 4, 25, np.random.default_rng(2))
    assert result.is_within_the_bound
    assert result.share < 0.65


def test_the_result_says_what_was_found() -> None:
    """Named, interval and bound in one sentence; a share that the promise does not allow is seen."""
    fine, broken = CanaryResult(52, 100, 0.731), CanaryResult(95, 100, 0.731)
    assert fine.is_within_the_bound
    assert not broken.is_within_the_bound
    assert "52 % (42.3 % to 61.5 %); the promise (differential privacy) allows 73.1 %" in fine.in_words()


def test_more_canaries_than_rows_are_refused() -> None:
    """Every canary is a row of the table."""
    plan = plan_for()
    with pytest.raises(DataError, match="choose fewer"):
        try_canaries(plan, few_people(plan), 61, 1, np.random.default_rng(0))


@pytest.mark.soak
def test_the_bound_holds_over_shares_too() -> None:
    """Real messages and the operating system's randomness: the guesser reads opened weights and stays within."""
    plan = plan_for(protocol="shares", open="own", noise="rows", epsilon=2.0, epochs=6, row_norm=0.5)
    result = try_canaries(plan, few_people(plan), 4, 25, np.random.default_rng(3))
    assert result.is_within_the_bound
