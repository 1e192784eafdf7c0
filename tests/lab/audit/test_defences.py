"""Defences are compared on the same data, by the views that their own protocols give."""

import json
from typing import Any

import numpy as np
import pytest

from plumbob.data import split_array
from plumbob.lab.attacks import View
from plumbob.lab.audit import defences
from plumbob.lab.audit.again import in_clear, plan_again
from plumbob.lab.audit.defences import (
    AS_PLANNED,
    DefenceComparison,
    DefenceOutcome,
    as_seen_under,
    compare,
    defences_for,
)
from plumbob.lab.reports.defences_page import defences_table, page_of, sentences
from plumbob.plan import Plan
from tests.protocol.support import cut, plan_for, tables_for, trained

LEAKING: dict[str, Any] = {"row_norm": 1.0, "intercept": False, "learning_rate": 0.05, "epochs": 2}


def comparison(plan: Plan, rows: int = 160, **fields: Any) -> DefenceComparison:
    """Real rows, and the attacks that need no time."""
    X, y = cut("breast-cancer", rows, plan.columns)
    return DefenceComparison(tables_for(plan, X, y), only=["label-sign", "label-average", "label-counts"], **fields)


@pytest.fixture(scope="module")
def outcomes() -> list[DefenceOutcome]:
    """One comparison for several tests; keys for tests would leak under every defence."""
    plan = plan_for((4, 16), protocol="exchange", key_bits=2048, test_only_keys=False, **LEAKING)
    return compare(plan, comparison(plan))


def test_the_list(outcomes: list[DefenceOutcome]) -> None:
    """Every kind of defence is there, at several budgets, and the plan is marked among them."""
    names = [one.defence for one in outcomes]
    assert names[:4] == ["none", "batches of 128", "fixed batches", "large start"]
    for kind in ("heuristic noise", "sound noise", "flipped labels"):
        assert sum(name.startswith(kind) for name in names) == len(defences.BUDGETS)
    assert names[-2:] == ["shares", "shares, never opened"]
    assert [one.defence for one in outcomes if one.is_plan] == ["none"]


def test_what_holds(outcomes: list[DefenceOutcome]) -> None:
    """Without defence labels leak; under noise and in shares nothing is gained by solving for them."""
    by_name = {one.defence: one for one in outcomes}
    assert (by_name["none"].advantages["label-sign"] or 0.0) > 0.05
    assert by_name["none"].verdicts["labels"] == "leaks"
    for name in ("heuristic noise, epsilon 0.5", "sound noise, epsilon 0.5"):
        assert by_name[name].verdicts["labels"] == "blocked"
        assert by_name[name].advantages["label-average"] is not None
    assert by_name["shares"].advantages["label-sign"] is None
    # Whoever chooses its rows reads labels from opened weights; that attack was not run here, and counts all the same.
    assert by_name["shares"].verdicts["labels"] == "leaks"
    assert by_name["shares, never opened"].verdicts["labels"] == "blocked"


def test_what_it_costs(outcomes: list[DefenceOutcome]) -> None:
    """Quality is that of each one's own training; seconds and bytes only where bytes were sent."""
    by_name = {one.defence: one for one in outcomes}
    # Shares train whitened columns in full batches, whatever the undefended plan has.
    assert by_name["shares"].auc == by_name["shares, never opened"].auc != by_name["none"].auc
    assert (by_name["sound noise, epsilon 0.5"].auc or 0.0) < (by_name["none"].auc or 0.0)
    assert all(one.seconds is None and one.bytes is None for one in outcomes)
    json.dumps([one.to_dict() for one in outcomes], allow_nan=False)


def test_the_table(outcomes: list[DefenceOutcome]) -> None:
    """One line a defence and one column an attack, on a page that escapes the title."""
    table = defences_table(outcomes)
    assert [line[0] for line in table.rows] == [one.defence for one in outcomes]
    assert {"AUC", "accuracy", "label-sign", "label-average", "time"} <= set(table.header)
    assert "label-counts" not in table.header  # It had nothing to work on, anywhere.
    assert any("calculated in the clear" in line for line in sentences(outcomes))
    assert "&lt;b&gt;" in page_of("<b>", outcomes)


def test_encrypted_has_seconds_and_bytes() -> None:
    """Really encrypted, cost is measured and active attacks take part."""
    plan = plan_for((2, 3), protocol="exchange", row_norm=1.0, epochs=1)
    made = comparison(plan, rows=32, encrypted=True)
    run = made.run(plan)
    found = defences.outcome_of(run, [], "none", made.encrypted)
    assert found.seconds is not None
    assert found.bytes
    assert DefenceComparison(made.tables, encrypted=True).attacks() is None
    assert "label-chosen-rows" not in (DefenceComparison(made.tables).attacks() or [])


def test_what_cannot_be_had_is_said() -> None:
    """Nine parties cannot have `shares`: its line says why, and the others are compared all the same."""
    plan = plan_for((1,) * 9, protocol="exchange", **LEAKING)
    X, y = cut("breast-cancer", 48, 9)
    tables = dict(zip([party.name for party in plan.learners], split_array(X, y, (1,) * 9), strict=True))
    found = {one.defence: one for one in compare(plan, DefenceComparison(tables, only=["label-counts"]))}
    assert "two to 8 parties" in found["shares"].refused
    assert found["none"].auc is not None
    assert any(line.startswith("shares is not available here") for line in sentences(list(found.values())))


def test_the_plan_itself_is_compared() -> None:
    """A plan that is none of the list comes first, as it is."""
    plan = plan_for((2, 3), protocol="exchange", noise="std", noise_std=3.0, row_norm=1.0)
    assert defences_for(plan, 40)[0].name == AS_PLANNED
    assert defences_for(plan.replace(noise="none", noise_std=0.0), 40)[0].name == "none"


def test_flags_are_what_changes() -> None:
    """What to type names the keys that differ from the plan, and no others."""
    plan = plan_for((2, 3), protocol="shares", open="never")
    typed = {one.name: one.flags(plan) for one in defences_for(plan, 40)}
    assert typed["shares, never opened"] == ""
    assert typed["none"] == "--open own --protocol exchange"


def test_views_are_those_of_the_protocol() -> None:
    """A run of `clear`, shown as one of `shares`, has the view that the real run has."""
    plan = plan_for((2, 3), protocol="shares")
    real = trained(plan)
    shown = as_seen_under(plan, trained(in_clear(plan)))
    for name in ("label", "features"):
        one, two = View.of(real.transcripts[name]), View.of(shown.transcripts[name])
        assert one.plan == two.plan
        assert one.sums.shape == two.sums.shape
        np.testing.assert_allclose(one.sums, two.sums, atol=1e-3)
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-4)


def test_in_the_clear_it_is_the_same_training() -> None:
    """What was the protocol's own default stays as it was: scale, batches, sigmoid, momentum, rate, bits and passes.

    Evidence, which nothing in the clear can keep, stops neither this nor an attack's own runs.
    """
    plan = Plan.for_columns((2, 3), rows=40, evidence="keep", days=30)
    clear = in_clear(plan)
    assert plan_again(plan).evidence == clear.evidence == "none"
    assert clear.levels(27_000) == plan.levels(27_000)
    for name in ("scale", "batches", "sigmoid", "momentum", "learning_rate", "feature_bits", "residual_bits"):
        assert getattr(clear, name) == getattr(plan, name), name
