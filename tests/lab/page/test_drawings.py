"""The lab's drawings: charts of the runs' own values, and a picture for each attack, with the plan's own numbers."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from plumbob.checking.check import check
from plumbob.checking.rules import RULES
from plumbob.checking.rules.drawing import TIMES
from plumbob.errors import PlanError
from plumbob.lab.page.drafts import FIRST
from plumbob.lab.page.drawings import comparison, curve, picture
from plumbob.plan import Party, Plan


def run(folder: str, auc: float | None, labels: float | None, values: float | None = 0.0) -> dict[str, Any]:
    """A run as the list of runs has it."""
    reach = [None if one is None else {"verdict": "leaks", "advantage": one} for one in (labels, values)]
    return {
        "folder": folder,
        "protocol": "exchange",
        "noise": "none",
        "auc": auc,
        "labels": reach[0],
        "values": reach[1],
    }


def test_one_point_a_run_at_the_worst_it_gave_away() -> None:
    """The larger of what was found out about labels and about columns."""
    drawn = comparison([run("001-exchange", 0.9, 0.25, 0.75), run("002-exchange", 0.8, 0.5)])
    assert drawn.count("<svg") == 2
    for words in ("001-exchange", ">75 %", "0.9", "002-exchange", ">50 %", "0.8"):
        assert words in drawn


def test_a_run_that_was_not_attacked_has_no_place() -> None:
    """A run that was not attacked, or has no quality, is left out; without any run there is no chart."""
    assert comparison([run("001-exchange", None, 0.5), run("002-exchange", 0.9, None, None)]) == ""
    assert comparison([]) == ""


def test_noise_is_named() -> None:
    """Two runs of one protocol can be told apart by what protects them."""
    assert "001-exchange, sound noise" in comparison([{**run("001-exchange", 0.9, 0.1), "noise": "sound"}])


def test_a_curve_for_each_metric() -> None:
    """AUC and log loss, from the first epoch on."""
    drawn = curve([{"epoch": 1, "auc": 0.5, "log_loss": 0.7}, {"epoch": 2, "auc": None, "log_loss": 0.6}])
    assert drawn.count("<figure") == 2
    assert curve([]) == ""


def test_names_are_escaped() -> None:
    """A folder's name is somebody else's word."""
    assert "<script>" not in comparison([run("<script>", 0.9, 0.5)])


# Pictures of what attackers see: well formed and named.

OPEN = Plan.for_columns((8, 22), rows=455, batch_size=20, epochs=5, intercept=False, protocol="exchange").replace(
    parties=(Party("bank", "label", 8), Party("fund", "features", 22))
)
"""The demo's plan."""
PLANS = {
    "first": FIRST,
    "open": OPEN,
    "huge": Plan.for_columns((5_000, 10_000), rows=10_000_000, epochs=1000, protocol="exchange"),
    "tiny": Plan.for_columns((0, 1), rows=1, batch_size=1, epochs=1, intercept=False, protocol="exchange"),
    "three": Plan.for_columns(
        (1, 1, 1), rows=100, batch_size=10, protocol="arbiter", noise="std", noise_std=1.0, row_norm=1.0
    ),
    "shares": Plan.for_columns((3, 3), rows=100, batches="full", open="own"),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_finding_can_be_pictured(plan: Plan) -> None:
    """Whatever the plan: an image that has a name, of a size that fits, with nothing in it but shapes and words."""
    for finding in check(plan):
        found = picture(plan, finding.attack, finding.by, finding.target)
        if not any(rule.draw for rule in RULES if rule.name == finding.attack):
            assert found.story
            continue
        drawing = ElementTree.fromstring(found.svg)  # noqa: S314  # Our own drawing.
        assert drawing.get("role") == "img"
        assert finding.by in str(drawing.get("aria-label"))
        assert 0 < float(str(drawing.get("width"))) < 640
        assert {child.tag for child in drawing} == {"rect", "text"}
        assert len(list(drawing)) < 400
        assert found.story.count(".") >= 2
        assert found.conclusion.endswith(".")


def test_the_numbers_are_the_plans() -> None:
    """Captions count what the attacker would really have."""
    svg = picture(OPEN, "label-sign", "fund", "labels").svg
    assert ">20 residuals<" in svg
    assert f">20 {TIMES} 22<" in svg
    assert picture(OPEN.replace(batch_size=44), "label-sign", "fund", "labels").conclusion.startswith(
        "22 independent equations for 44"
    )


def test_scores_and_columns_are_two_stories() -> None:
    """Under one name there are two findings; each is told by what it is about."""
    scores, columns = (picture(OPEN, "feature-geometry", "bank", target) for target in ("scores", "features"))
    assert scores.story != columns.story
    assert "row's score" in scores.story
    assert scores.svg != columns.svg


def test_on_shares_nobody_sees_a_gradient() -> None:
    """No picture shows one there; what is opened at the end is counted, unless it never is."""
    shares = PLANS["shares"]
    for finding in check(shares):
        found = picture(shares, finding.attack, finding.by, finding.target)
        if not found.svg:
            continue
        assert "seen by nobody" in found.svg
        assert "own gradient" not in found.svg
    chosen = picture(shares, "label-chosen-rows", "features", "labels")
    assert "3 equations in the whole run" in chosen.conclusion
    never = picture(shares.replace(open="never"), "label-chosen-rows", "features", "labels")
    assert "nothing to work on" in never.conclusion


def test_an_unknown_attack_is_refused() -> None:
    """An unknown attack is refused with the names that exist; so is a party that the plan does not have."""
    with pytest.raises(PlanError, match="choose from altered-shares"):
        picture(OPEN, "<script>", "fund", "labels")
    with pytest.raises(PlanError, match="no party"):
        picture(OPEN, "label-sign", "shop", "labels")
