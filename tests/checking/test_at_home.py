"""Trainings at home: they leak where the real one does, come to nothing under noise, and keep no row."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from plumbob.checking.at_home import REHEARSALS, advantage, at_home, can_rehearse, rehearsed
from plumbob.checking.check import check
from plumbob.checking.figures import AtHome
from plumbob.lab.attacks.interface import LabelClaim
from plumbob.lab.audit.score import scored
from plumbob.lab.audit.truth import Truth
from plumbob.plan import Plan
from tests.lab.audit.support import attack
from tests.protocol.support import made_up, plan_for, tables_for, trained

ROWS = 120


def exchange(**keys: Any) -> Plan:
    """Six columns at the label party, eight at its peer."""
    return plan_for((6, 8), protocol="exchange", **({"batch_size": 8, "epochs": 2, "rows": ROWS} | keys))


def told_at_home(plan: Plan) -> AtHome:
    """What the label party learns from its own table."""
    X, y = made_up(rows=ROWS, columns=plan.columns)
    return at_home(plan, tables_for(plan, X, y)["label"], "label")


def test_short_batches_leak_in_every_rehearsal() -> None:
    """A batch no longer than the peer's columns is solved whatever these columns are."""
    found = told_at_home(exchange()).rehearsed["features"]
    assert set(found) == {"label-sign", "label-stacked"}
    assert all(len(advantages) == REHEARSALS for advantages in found.values())
    assert min(found["label-sign"]) > 0.05


def test_large_noise_comes_to_nothing() -> None:
    """Noise far above a label leaves nothing above the tolerance in most rehearsals."""
    found = told_at_home(exchange(noise="std", noise_std=200.0, row_norm=1.0)).rehearsed["features"]
    assert {"label-sign", "label-average", "label-stacked"} == set(found)
    for advantages in found.values():
        assert np.median(advantages) <= 0.05


def test_check_says_what_was_rehearsed() -> None:
    """The reason names the rehearsals; without a table there are none."""
    plan = exchange()
    whys = {one.attack: one.why for one in check(plan, home=told_at_home(plan))}
    assert f"it leaks in {REHEARSALS} of {REHEARSALS} rehearsals at home" in whys["label-sign"]
    assert not any("rehearsals" in one.why for one in check(plan))


def test_nothing_of_the_table_is_kept() -> None:
    """A few numbers for each attack, the same for the same table, and no array."""
    kept = told_at_home(exchange())
    assert kept == told_at_home(exchange())
    for name in (one.name for one in fields(kept)):
        assert isinstance(getattr(kept, name), str | int | float | dict | None)
    assert all(isinstance(value, float) for one in kept.rehearsed["features"].values() for value in one)


@pytest.mark.parametrize("protocol", ["shares", "clear"])
def test_other_plans_are_not_rehearsed(protocol: str) -> None:
    """No rehearsal is made where nothing is encrypted, or nobody sees a sum."""
    assert not can_rehearse(plan_for((6, 8), protocol=protocol), ROWS)


def test_many_rows_are_trained_on_and_some_solved_for() -> None:
    """A long table takes as many steps as the plan has, and its rehearsal still ends in numbers."""
    plan = exchange(rows=2500, batch_size=64, epochs=1)
    X, y = made_up(rows=2500, columns=6)
    found = rehearsed(plan, "features", np.column_stack([X, np.ones(len(X))]), y.astype(np.int8))
    assert all(0.0 <= value <= 1.0 for advantages in found.values() for value in advantages)


def test_advantages_are_those_of_an_audit() -> None:
    """The same beliefs beside the same own scores are worth the same at home and to the auditor."""
    run = trained(exchange(epochs=1), made_up(rows=ROWS, columns=14))
    truth = Truth.of(run)
    view, generator = truth.views["features"], np.random.default_rng(4)
    beliefs = np.where(truth.is_positive, 1.0, -1.0) + generator.normal(size=ROWS)
    claim = LabelClaim(beliefs, np.zeros(ROWS, dtype=bool), ())
    (finding,) = scored(attack(claim), "features", claim, truth)
    assert advantage(truth.is_positive, beliefs, view.X @ view.weights) == pytest.approx(finding.advantage)
