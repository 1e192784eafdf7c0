"""`own-weights`: opened weights repeat the labels that they were fitted to, and shared ones do not."""

from typing import Any

import numpy as np
import pytest

from plumbob.checking.check import check
from plumbob.lab.attacks.own_weights import OWN_WEIGHTS
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import Truth
from plumbob.plan import Plan
from plumbob.record import Finding
from tests.lab.attacks.support import Data, refused
from tests.protocol.support import trained


def coin_flips(rows: int, columns: int) -> Data:
    """Labels that no column says anything about."""
    generator = np.random.default_rng(rows)
    return generator.standard_normal((rows, columns)), generator.integers(0, 2, rows)


def measured(rows: int, columns: int) -> Finding:
    """What own weights say after a run on coin flips, with four columns at the label party."""
    plan = Plan.for_columns((4, columns), protocol="clear", seed=1)
    truth = Truth.of(trained(plan, coin_flips(rows, 4 + columns)))
    (found,) = scored(OWN_WEIGHTS, "features", OWN_WEIGHTS(truth.views["features"]), truth)
    return found


def judged(rows: int, columns: int, **keys: Any) -> str:
    """What the plan's numbers say."""
    plan = Plan.for_columns((4, columns), **({"rows": rows, "open": "own"} | keys))
    return next((one.verdict for one in check(plan) if one.attack == "own-weights"), "no finding")


@pytest.mark.parametrize(("rows", "columns", "least"), [(100, 60, 0.9), (300, 120, 0.75), (1000, 100, 0.6)])
def test_weights_remember_coin_flips(rows: int, columns: int, least: float) -> None:
    """Many columns for few rows repeat labels that nothing predicts; the party's own model is no excuse for it."""
    found = measured(rows, columns)
    assert found.rate is not None
    assert found.rate >= least
    assert found.verdict == judged(rows, columns) == "leaks"


def test_few_columns_remember_little() -> None:
    """The negative control: three weights on a thousand coin flips are no better than guessing."""
    assert measured(1000, 3).verdict != "leaks"
    assert judged(1000, 3) == "degrades"


def test_defences() -> None:
    """Weights that stay shared say nothing; noise for whole rows bounds what they say of anybody alone."""
    assert judged(300, 120, open="never") == "no finding"
    assert judged(300, 120, noise="rows", epsilon=0.05, delta=1e-6) == "degrades"


@pytest.mark.parametrize(
    "keys", [{"noise": "rows", "epsilon": 0.1, "delta": 1e-6}, {"label_flip_epsilon": 0.1}], ids=["rows", "flips"]
)
def test_what_columns_say_in_general_is_no_secret_of_one_person(keys: dict[str, Any]) -> None:
    """With many rows it comes through noise and flips that leave nothing of any one label, and `check` says so."""
    X, _ = coin_flips(30_000, 8)
    y = (X[:, 4:] @ np.ones(4) + np.random.default_rng(1).standard_normal(30_000) > 0).astype(np.int64)
    plan = Plan.for_columns((4, 4), protocol="clear", seed=1, rows=30_000, **keys)
    truth = Truth.of(trained(plan, (X, y)))
    (found,) = scored(OWN_WEIGHTS, "features", OWN_WEIGHTS(truth.views["features"]), truth)
    assert found.verdict == "leaks"
    assert [one.verdict for one in check(plan) if one.attack == "own-weights"] == ["degrades"]


def test_nothing_was_opened() -> None:
    """A view of `shares` has no weights."""
    run = trained(Plan.for_columns((2, 3)), coin_flips(60, 5))
    assert refused(OWN_WEIGHTS(Truth.of(run).views["features"]), "no weight was opened")
