"""The paper's theorems are kept by real runs, and say nothing where they do not apply."""

from typing import Any

import pytest

from plumbob.lab.audit.truth import Truth
from plumbob.lab.bounds import safe_steps
from plumbob.lab.paper.promises import Countermeasure, measured, why_not
from tests.lab.audit.support import small_run
from tests.protocol.support import plan_for

NOISY: dict[str, Any] = {"row_norm": 1.0, "learning_rate": 0.02, "intercept": False}


@pytest.mark.parametrize(
    "keys",
    [{"noise": "std", "noise_std": 0.3}, {"noise": "heuristic", "epsilon": 2.0}, {"noise": "sound", "epsilon": 4.0}],
    ids=str,
)
def test_promises_are_kept(keys: dict[str, Any]) -> None:
    """Noise in gradients, loss and drift stay within what Lemma 6.3 and Theorems 6.4 and 6.6 allow."""
    found = measured(Truth.of(small_run(rows=200, **NOISY, **keys)))
    assert [one.theorem for one in found] == ["Lemma 6.3", "Theorem 6.4", "Theorem 6.6"]
    assert all(one.is_kept for one in found)


def test_noise_is_measured_as_it_was() -> None:
    """A tenth of the deviation gives a tenth of the noise in gradients, of the promise and of what was measured."""
    small, large = (
        measured(Truth.of(small_run(rows=200, noise="std", noise_std=std, **NOISY)))[0] for std in (0.01, 0.1)
    )
    assert small.promised == pytest.approx(large.promised / 10)
    assert small.measured == pytest.approx(large.measured / 10, rel=0.05)


def test_weak_noise_promises_what_no_noise_does() -> None:
    """As noise vanishes, Theorem 6.6 becomes Corollary 4.5."""
    assert Countermeasure(1e-9, 8, 40, 0.02, 1.0, 0.0).drift_steps == safe_steps(0.02, 0.0, 1.0)


@pytest.mark.parametrize(
    "keys",
    [{}, {"noise": "std", "noise_std": 1.0, "l2": 0.1}, {"noise": "sound", "sigmoid": "minimax"}],
    ids=str,
)
def test_where_they_do_not_apply(keys: dict[str, Any]) -> None:
    """Without noise, with a penalty or with another approximation they say nothing, and why is known."""
    plan = plan_for((2, 3), protocol="clear", **(NOISY | keys))
    assert why_not(plan)
    assert measured(Truth.of(small_run(**(NOISY | keys)))) == []
