"""Pictures of what attackers see: one for each attack, with the plan's own numbers, well formed and named."""

import xml.etree.ElementTree as ElementTree

import pytest

from plumbob.checking.check import check
from plumbob.checking.rules import RULES
from plumbob.checking.rules.drawing import TIMES
from plumbob.errors import PlanError
from plumbob.lab.page.drafts import FIRST
from plumbob.lab.page.drawings import picture
from plumbob.plan import Party, Plan

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
