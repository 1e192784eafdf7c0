"""The rule for `false-residual`: a label party falsifies its share of one person's residual."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, not_applicable
from plumbob.checking.rules.shared import in_scores


def judge(figures: Figures, party: str) -> Judgement:
    """Judge by the scores that are opened from shares."""
    if not figures.plan.is_closed:
        return not_applicable("Weights are opened, and other attacks read more from those.")
    return in_scores(figures, party)


RULE = AttackRule(
    name="false-residual",
    by="label",
    target="features",
    reference="Jagielski et al., eprint 2025/906: erased and shifted residuals; docs/attacks.md",
    story=(
        "Residuals are shared, and a party can add what it likes to its share of one. A label party that erases "
        "all residuals but one person's, and makes that one large, turns the weights into that person's row: the "
        "scores of a few people whose columns it knows then show it exactly."
    ),
    judge=judge,
    assumes="cheating",
)
