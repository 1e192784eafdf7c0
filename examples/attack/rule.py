"""`label-direction`, as a plan is judged on it."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, without_sums


def judge(figures: Figures, party: str) -> Judgement:
    """It needs one sum, and nothing says how much of the label lies in its direction."""
    why = f"The first of {figures.steps} steps points {party} to where positives lie: a guess, as good as its columns."
    return without_sums(figures, party) or degrades(why)


RULE = AttackRule(
    name="label-direction",
    by="features",
    target="labels",
    reference="an example",
    story=(
        "The first step moves the weights to the side where positives are frequent. "
        "Rows on that side are guessed to be positive."
    ),
    judge=judge,
)
