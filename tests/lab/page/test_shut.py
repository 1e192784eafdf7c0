"""What opens only after a replay is said on every page that has the two headlines."""

import pytest

from plumbob.checking.check import check
from plumbob.lab.page.drafts import answer
from plumbob.lab.page.server import TEMPLATES
from plumbob.plan import Plan
from plumbob.report.decision import decision_on_plan, summary_page
from plumbob.report.plan_page import findings_page

KEPT = {"evidence": "keep", "days": 1, "auditors": {"label": "628b2fd3" * 8}}
PAGES = {
    "decision sheet": lambda plan: summary_page(decision_on_plan(plan, check(plan), "0.1.0")),
    "findings": lambda plan: findings_page(plan, check(plan), "0.1.0"),
    "lab": lambda plan: TEMPLATES.get_template("answer.html").render(answer=answer(plan)),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("release", ["always", "replayed"])
def test_a_page_says_what_waits_for_a_replay(page: str, release: str) -> None:
    """Whose auditor opens scores stands there where the plan says so, and nowhere else."""
    plan = Plan.for_columns((5, 18), rows=20_000, release=release, **KEPT)
    assert ("Scores stay shut until" in PAGES[page](plan)) == (release == "replayed")
