"""The rule for `claimed-width`: claims more columns than were agreed."""

from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked
from plumbob.checking.rules.shared import without_replies
from plumbob.counting import counted


def judge(figures: Figures, party: str) -> Judgement:
    """Judge what a party reads by claiming more columns than were agreed."""
    return blocked(
        f"Widths are agreed: the plan's hash fixes {counted(figures.columns(party), 'column')}, and any other number "
        "of sums ends the run; the columns that were agreed need not be real, so they all count here."
    )


STORY = (
    "A party that claims more columns than it has gets more equations from every step. With as many as a batch has "
    "rows it solves for everybody's {}, unless widths are agreed beforehand."
)
RULE = AttackRule(
    name="claimed-width",
    by="features",
    target="labels",
    reference="Section 5.2",
    story=STORY.format("labels"),
    unless=without_replies,
    judge=judge,
    assumes="cheating",
)
RULES = (RULE, replace(RULE, by="label", target="scores", story=STORY.format("partial scores")))
