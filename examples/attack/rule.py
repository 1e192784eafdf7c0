"""`label-direction`, as a plan is judged on it."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.remedies import without_gradients
from plumbob.checking.rules.rule import Judged, Rule
from plumbob.checking.words import DEGRADES


def direction(figures: Figures, by: str) -> Judged | None:
    """Judge the first sum: nothing says how much of the label lies in its direction."""
    if not figures.sees_sums or not figures.columns(by):
        return None
    why = f"The first of {figures.steps} steps points {by} to where positives lie: a guess, as good as its columns."
    # What leaks or degrades has a fix: the plan's keys that prevent it.
    return Judged(DEGRADES, "guess on which side positives are frequent", why, without_gradients(figures.plan))


RULES = (Rule({"label-direction": "an example"}, "features", "labels", direction),)
