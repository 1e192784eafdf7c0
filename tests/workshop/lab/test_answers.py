"""From controls to a plan and back: strict about what comes in, and every fix on a button really helps."""

from itertools import product
from typing import Any

import pytest

from plumbob.checking.check import check
from plumbob.errors import PlanError
from plumbob.plan import KEYS, Plan
from plumbob.workshop.lab.answers import asked, checked, fixes, mistakes
from plumbob.workshop.lab.choices import FIRST, chosen

FIRST_WISH = chosen(FIRST, FIRST.rows, "breast-cancer")


def wish(**changes: Any) -> dict[str, Any]:
    """The first one, with other parts, or other keys."""
    keys = {key: value for key, value in changes.items() if key not in FIRST_WISH}
    parts = {key: value for key, value in changes.items() if key in FIRST_WISH}
    return {**FIRST_WISH, "keys": {**FIRST_WISH["keys"], **keys}, **parts}


def test_controls_hold_the_whole_plan() -> None:
    """A plan that goes through the controls comes back as it was, names and all."""
    plan = Plan.for_columns(
        (3, 4, 5), rows=77, batch_size=7, title="A <b>title</b>", protocol="arbiter", noise="heuristic", row_norm=2.0
    ).replace(heuristic={"G": 2.0, "T": 7})
    assert asked(chosen(plan, 77, "")).plan == plan
    assert asked(FIRST_WISH).plan == FIRST


def test_rows_are_those_of_the_data() -> None:
    """Whatever number comes along with a data set's name; without one, the number counts."""
    assert asked(wish(rows=5)).plan.rows == 455
    assert asked(wish(data="", rows=5000)).plan.rows == 5000


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {**FIRST_WISH, "more": 1},
        wish(data="/etc/passwd"),
        wish(data=["breast-cancer"]),
        wish(data="", rows="many"),
        wish(data="", rows=True),
        wish(data="", rows=10**9),
        wish(features=[8]),
        wish(features=[8, 22.0]),
        wish(features=[True, 22]),
        wish(features=[10**6, 10**6]),
        wish(features=[1] * 9, names=[f"p{place}" for place in range(9)]),
        wish(names=["bank"]),
        wish(names=["bank", "bank"]),
        wish(names=["bank", "<b>"]),
        wish(keys=[]),
        wish(parties=[]),
        wish(epochs=10**9),
        wish(epochs="5"),
        wish(batch_size=10**9),
        wish(no_such_key=1),
        wish(heuristic=None),
        wish(heuristic={"G": "x"}),
    ],
)
def test_nonsense_is_refused(body: Any) -> None:
    """Whoever holds the address can send anything; what is no plan is refused in words."""
    with pytest.raises(PlanError, match=r"expected|unknown"):
        asked(body)


def test_each_mistake_names_its_key() -> None:
    """So that the page can show it beside its control."""
    with pytest.raises(PlanError) as error:
        asked(wish(epochs=-1, delta=2.0, tolerance_labels=3.0))
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
    body = wish(protocol=protocol, noise=noise, batch_size=batch_size, **stronger, **noise_std)
    leaking = [one for one in checked(asked(body))["findings"] if one["verdict"] == "leaks"]
    for finding in leaking:
        assert finding["fixes"]
        for fix in finding["fixes"]:
            assert set(fix["keys"]) <= {key.name for key in KEYS}
            better = asked(wish(**{**body["keys"], **fix["keys"]})).plan
            if fix["flags"].startswith("--epsilon"):
                continue  # A quarter of it: a step on the way, to be pressed again.
            same = [one for one in check(better) if (one.attack, one.target) == (finding["attack"], finding["target"])]
            assert {one.verdict for one in same} <= {"blocked", "degrades", "not applicable"}


def test_three_parties_are_checked_in_shares() -> None:
    """The page takes them, finds nothing that leaks while weights stay shared, and notes whom that holds for."""
    three = {"names": ["bank", "shop", "fund"], "features": [10, 10, 10]}
    keys = {key: value for key, value in chosen(Plan.for_columns((10, 10, 10)), 455, "").items() if key == "keys"}
    answer = checked(asked({**FIRST_WISH, **three, **keys}))
    assert not [one for one in answer["findings"] if one["verdict"] == "leaks"]
    assert {"shop+fund", "bank+shop", "bank+fund"} <= {one["by"] for one in answer["findings"]}
    assert any("keep to the protocol" in note for note in answer["notes"])


@pytest.mark.parametrize("keys", [{"label_flip_epsilon": 1e300}, {"noise": "std", "noise_std": 1e300}])
def test_absurd_numbers_are_a_mistake_too(keys: dict[str, Any]) -> None:
    """What no machine can calculate with is said in words."""
    with pytest.raises(PlanError, match="expected at most"):
        checked(asked(wish(**keys)))


def test_no_fix_no_button() -> None:
    """Where no flag helps there is nothing to press."""
    assert fixes("") == []
