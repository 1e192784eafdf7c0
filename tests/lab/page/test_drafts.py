"""From controls to a plan and back: what the page offers is what there is, and each change on a button helps."""

from itertools import product
from typing import Any

import pytest

from plumbob.checking.check import check
from plumbob.errors import PlanError
from plumbob.lab.page.drafts import FIRST, Draft, PlanControls, answer, controls_of, defaults_of, plan_of, unused
from plumbob.plan import KEYS, Plan
from tests.lab.page.conftest import draft


def asked(body: object, like: Plan = FIRST) -> Plan:
    """The plan that the page's controls say."""
    return plan_of(Draft.of(body), like)


def body_of(controls: PlanControls) -> dict[str, Any]:
    """What the page sends while nobody has touched a control."""
    parties = [party for party in controls.parties if party.name]
    keys = {one.name: one.value for one in (*controls.first, *controls.others) if one.value}
    return {"names": [one.name for one in parties], "columns": [one.columns for one in parties], "keys": keys}


@pytest.mark.parametrize(
    "plan",
    [
        FIRST,
        Plan.for_columns(
            (3, 4, 5), rows=77, batch_size=7, title="A <b>", protocol="arbiter", noise="heuristic", row_norm=2.0
        ).replace(heuristic={"G": 2.0, "T": 7}),
        Plan.for_columns((3, 4), protocol="exchange", intercept=False),
        Plan.for_columns((3, 4), open="own", noise="rows", epsilon=2.0, delta=1e-7),
    ],
    ids=lambda plan: plan.protocol,
)
def test_controls_hold_the_whole_plan(plan: Plan) -> None:
    """A plan that goes through the controls comes back as it was, names and all."""
    assert asked(body_of(controls_of(plan)), plan).hash() == plan.hash()


def test_every_key_has_one_control() -> None:
    """No key is missing, and none stands there twice."""
    controls = controls_of(FIRST)
    names = [one.name for one in (*controls.first, *controls.others)]
    assert sorted(names) == sorted(key.name for key in KEYS)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {**draft(), "more": 1},
        {**draft(), "names": ["bank"]},
        {**draft(), "names": ["bank", "bank"]},
        {**draft(), "names": ["bank", "<b>"]},
        {**draft(), "names": ["p"] * 9, "columns": ["1"] * 9},
        {**draft(), "columns": ["5", ""]},
        {**draft(), "columns": ["5", "many"]},
        {**draft(), "columns": ["5", "1000000"]},
        {**draft(), "columns": [5, 18]},
        {"names": [], "columns": [], "keys": {}},
        draft(rows="many"),
        draft(rows="-1"),
        draft(rows="1" + "0" * 9),
        draft(epochs="1" + "0" * 9),
        draft(epochs="x" * 201),
        draft(protocol="telepathy"),
        draft(row_weights="perhaps"),
        draft(l2="much"),
        draft(no_such_key="1"),
        {**draft(), "keys": {"epochs": 5}},
    ],
)
def test_nonsense_is_refused(body: object) -> None:
    """Whoever holds the address can send anything; what is no plan is refused in words."""
    with pytest.raises(PlanError, match=r"expected|unknown|at least|differ"):
        asked(body)


@pytest.mark.parametrize(
    ("protocol", "noise", "batch_size"),
    [
        one
        for one in product(("clear", "exchange", "arbiter", "shares"), ("none", "std"), ("5", "64"))
        if not (one[0] == "shares" and one[1] != "none")
    ],
)
def test_every_change_on_a_button_helps(protocol: str, noise: str, batch_size: str) -> None:
    """Each sets known keys, and no finding of its headline that leaked leaks afterwards."""
    weak = {"noise": "std", "noise_std": "0.01", "row_norm": "1"} if noise == "std" else {}
    batches = {} if protocol == "shares" else {"batch_size": batch_size, "epochs": "5"}
    keys = {"protocol": protocol, **batches, **weak}
    for shown in answer(asked(draft(**keys))).blocks:
        if not shown.changes:
            continue
        changed = {**keys, **{one.name: one.value for one in shown.changes}}
        before = {(one.attack, one.target) for one in check(asked(draft(**keys))) if _leaks(one, shown.block.assumes)}
        after = {(one.attack, one.target) for one in check(asked(draft(**changed))) if _leaks(one, shown.block.assumes)}
        assert not before & after


def _leaks(finding: Any, assumes: str) -> bool:
    return bool(finding.verdict == "leaks" and finding.assumes == assumes)


def test_absurd_numbers_are_a_mistake_too() -> None:
    """What no machine can calculate with is said in words."""
    with pytest.raises(PlanError, match="expected at most"):
        answer(asked(draft(protocol="exchange", noise="std", noise_std="1e300")))


def test_an_empty_control_shows_the_protocols_default() -> None:
    """With another protocol, an empty control stands for another value; what means nothing there is hidden."""
    shares, exchange = (Draft.of(draft(protocol=name)) for name in ("shares", "exchange"))
    assert (defaults_of(shares)["sigmoid"], defaults_of(exchange)["sigmoid"]) == ("fourier", "taylor")
    assert (set(unused(shares)), set(unused(exchange))) == (
        {"epsilon", "delta", *(key.name for key in KEYS if key.is_study)} - {"protocol", "seed"},
        {"open", "most_rows", "evidence", "release", "epsilon", "delta"},
    )


def test_waiting_for_a_replay_keeps_evidence() -> None:
    """Whoever chooses it need not know that nothing else can be replayed."""
    plan = asked(draft(release="replayed"))
    assert (plan.release, plan.evidence) == ("replayed", "keep")
