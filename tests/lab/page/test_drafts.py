"""From controls to a plan and back: what the page offers is what there is, and every fix on a button really helps."""

import os
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbob import datasets
from plumbob.checking.check import check
from plumbob.errors import PlanError
from plumbob.lab.page.drafts import (
    FIRST,
    SHAPES,
    DatasetShape,
    Parts,
    checked,
    chosen,
    controls,
    fitted_defaults,
    keys_in_short,
    mistakes,
    shape_like,
    shapes_here,
)
from plumbob.lab.page.drafts import asked as asked_with
from plumbob.lab.page.own_tables import TableReading, TablesRead
from plumbob.plan import KEYS, Plan

FIRST_DRAFT = chosen(FIRST, FIRST.rows, "loans")
NOTHING_SAID = msgspec.to_builtins(TableReading())


def asked(body: Any, tables: TablesRead | None = None) -> Plan:
    """The draft, as the lab takes what the page sends."""
    return asked_with(Parts.of(body), tables)


def draft(**changes: Any) -> dict[str, Any]:
    """The first one, with other parts, or other keys."""
    keys = {key: value for key, value in changes.items() if key not in FIRST_DRAFT}
    parts = {key: value for key, value in changes.items() if key in FIRST_DRAFT}
    return {**FIRST_DRAFT, "keys": {**FIRST_DRAFT["keys"], **keys}, **parts}


def test_controls_hold_the_whole_plan() -> None:
    """A plan that goes through the controls comes back as it was, names and all."""
    plan = Plan.for_columns(
        (3, 4, 5), rows=77, batch_size=7, title="A <b>title</b>", protocol="arbiter", noise="heuristic", row_norm=2.0
    ).replace(heuristic={"G": 2.0, "T": 7})
    assert asked(chosen(plan, 77, "")) == plan
    assert asked(FIRST_DRAFT) == FIRST


def test_rows_are_those_of_the_data() -> None:
    """Whatever number comes along with a data set's name; without one, the number counts."""
    assert asked(draft(rows=5)).rows == 3_200
    assert asked(draft(data="", rows=5000)).rows == 5000


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {**FIRST_DRAFT, "more": 1},
        draft(data="/etc/passwd"),
        draft(data=["loans"]),
        draft(data="", rows="many"),
        draft(data="", rows=True),
        draft(data="", rows=""),
        draft(data="", rows=0),
        draft(features=[8, ""]),
        draft(features=None),
        draft(names=["bank"], features=[8]),
        draft(reading=None),
        draft(reading={**NOTHING_SAID, "drop": "id"}),
        draft(reading={**NOTHING_SAID, "types": {"x": 1}}),
        draft(reading={"id": "x"}),
        draft(data="", rows=10**9),
        draft(features=[8]),
        draft(features=[8, 22.0]),
        draft(features=[True, 22]),
        draft(features=[10**6, 10**6]),
        draft(features=[1] * 9, names=[f"p{place}" for place in range(9)]),
        draft(names=["bank"]),
        draft(names=["bank", "bank"]),
        draft(names=["bank", "<b>"]),
        draft(keys=[]),
        draft(parties=[]),
        draft(epochs=10**9),
        draft(epochs="5"),
        draft(batch_size=10**9),
        draft(no_such_key=1),
        draft(heuristic=None),
        draft(heuristic={"G": "x"}),
    ],
)
def test_nonsense_is_refused(body: Any) -> None:
    """Whoever holds the address can send anything; what is no plan is refused in words."""
    with pytest.raises(PlanError, match=r"expected|unknown"):
        asked(body)


def test_each_mistake_names_its_key() -> None:
    """Each mistake names its key, so that the page can show it beside its control."""
    with pytest.raises(PlanError) as error:
        asked(draft(epochs=-1, delta=2.0, tolerance_labels=3.0))
    assert [mistake["key"] for mistake in mistakes(error.value)] == ["epochs", "delta", "tolerance_labels"]


@pytest.mark.parametrize(
    ("protocol", "noise", "batch_size"),
    [
        one
        for one in product(("clear", "exchange", "arbiter", "shares"), ("none", "std", "sound"), (5, 64))
        if not (one[0] == "shares" and one[1] != "none")
    ],
)
def test_every_fix_on_a_button_helps(protocol: str, noise: str, batch_size: int) -> None:
    """Each is a change of known keys to a plan that can be run, in which that finding does not leak any more."""
    stronger = {"epsilon": 1e4} if noise == "sound" else {}
    noise_std = {"noise_std": 0.01} if noise == "std" else {}
    fitted = {**fitted_defaults()[protocol], "protocol": protocol, "row_norm": 1.0, "epochs": 5}
    body = draft(**fitted, noise=noise, batch_size=batch_size, **stronger, **noise_std)
    leaking = [one for one in checked(asked(body))["findings"] if one["verdict"] == "leaks"]
    for finding in leaking:
        assert finding["fix"]
        assert set(finding["changes"]) <= {key.name for key in KEYS}
        better = asked(draft(**with_fix(body["keys"], finding["changes"])))
        same = [one for one in check(better) if (one.attack, one.target) == (finding["attack"], finding["target"])]
        assert {one.verdict for one in same} <= {"blocked", "degrades", "not applicable"}


def with_fix(keys: dict[str, Any], fix: dict[str, Any]) -> dict[str, Any]:
    """The draft with a fix applied as on the page: with another protocol, its defaults replace the old one's."""
    protocol = fix.get("protocol", keys["protocol"])
    old, new = (fitted_defaults()[name] for name in (keys["protocol"], protocol))
    along = {name: new[name] for name in new if keys[name] == old[name]} if protocol != keys["protocol"] else {}
    return {**keys, **along, **fix}


def test_three_parties_are_checked_in_shares() -> None:
    """The page takes them: while weights stay shared, nothing leaks as long as everyone keeps to the protocol."""
    three = {"names": ["bank", "shop", "fund"], "features": [10, 10, 10]}
    keys = {key: value for key, value in chosen(Plan.for_columns((10, 10, 10)), 455, "").items() if key == "keys"}
    answer = checked(asked({**FIRST_DRAFT, **three, **keys}))
    leaking = [one["assumes"] for one in answer["findings"] if one["verdict"] == "leaks"]
    assert set(leaking) == {"cheating"}
    assert {"shop+fund", "bank+shop", "bank+fund"} <= {one["by"] for one in answer["findings"]}
    assert next(block["heading"] for block in answer["headlines"].values()) == "If everyone keeps to the protocol"


@pytest.mark.parametrize("keys", [{"label_flip_epsilon": 1e300}, {"noise": "std", "noise_std": 1e300}])
def test_absurd_numbers_are_a_mistake_too(keys: dict[str, Any]) -> None:
    """What no machine can calculate with is said in words."""
    with pytest.raises(PlanError, match="expected at most"):
        checked(asked(draft(**keys)))


def test_what_a_lattice_has_in_place_of_a_length() -> None:
    """A run over lattices is told by its parameter sets; a length belongs to other keys, and clear has neither."""
    assert keys_in_short(FIRST).startswith("lattice parameter sets ")
    assert keys_in_short(Plan.for_columns((2, 3), protocol="exchange")) == "paillier keys of 2048 bits"
    assert keys_in_short(Plan.for_columns((2, 3), protocol="clear")) == ""


def test_it_begins_with_the_safe_defaults() -> None:
    """Shares, over lattices, whitened, with the Fourier series, and weights that are never opened."""
    plan = asked(FIRST_DRAFT)
    assert (plan.protocol, plan.open) == ("shares", "never")
    assert (plan.scale, plan.sigmoid) == ("whitened", "fourier")
    leaking = [one for one in checked(asked(FIRST_DRAFT))["findings"] if one["verdict"] == "leaks"]
    assert {one["assumes"] for one in leaking} == {"cheating"}


def test_own_tables_say_how_many_columns_and_rows() -> None:
    """Tables give columns, rows and the bins that the rule chose, whatever the controls hold."""
    plan = asked(draft(data="own", features=[1, 1], rows=5, bins=3), TablesRead((3, 4), 500, {"bins": 5}))
    assert ([party.features for party in plan.learners], plan.rows, plan.bins) == ([3, 4], 500, 5)
    with pytest.raises(PlanError, match="bank: no column"):
        asked(draft(data="own"), TablesRead(mistake="bank: no column 'x'"))


# What the page offers.


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_data_sets_numbers_are_right(shape: DatasetShape) -> None:
    """They are written down, so that a plan can be checked before anything is read; here they are read."""
    if shape.name in ("credit", "mnist-01") and not os.environ.get("PLUMBOB_DATA"):
        pytest.skip("PLUMBOB_DATA is not set: the larger data sets are not here")
    assert datasets.load(shape.name)[0].shape == (shape.rows, shape.columns)


def test_all_data_sets_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once; those that are not on this machine are named, and cannot be chosen."""
    monkeypatch.delenv("PLUMBOB_DATA", raising=False)
    assert {shape.name for shape in SHAPES} == set(datasets.names())
    here = {one["name"]: one["is_here"] for one in shapes_here(None)}
    assert here == {"breast-cancer": True, "digits-01": True, "loans": True, "credit": False, "mnist-01": False}
    (tmp_path / "mnist").mkdir()
    assert {one["name"]: one["is_here"] for one in shapes_here(tmp_path)} == {**here, "mnist-01": True}


def test_every_key_has_a_control() -> None:
    """Every key has a control, except the rows, which are the data's."""
    assert [one["name"] for one in controls()] == [key.name for key in KEYS if key.name != "rows"]


def test_a_runs_data_are_known_by_their_numbers() -> None:
    """A record does not say where its rows came from; other numbers are nobody's."""
    assert shape_like(27_000, 23) == "credit"
    assert shape_like(27_000, 24) == ""
