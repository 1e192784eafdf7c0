"""The rule for `label-sign`: solves each batch for residuals, whose sign gives the label away."""

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import Solve, reading
from plumbob.checking.rules.rule import AttackRule, Judgement, without_sums
from plumbob.checking.rules.shared import batch_numbers, generally_judged


def judge(figures: Figures, party: str) -> Judgement:
    """Judge one batch at a time."""
    known = figures.rank(party) / figures.batch
    # Of several visits the first that determines a row is believed, otherwise whichever determines most.
    last = figures.steps // figures.passes if known == 1.0 else figures.steps
    solve = Solve(known, figures.noise_toward(party), last)
    forecast, numbers = reading(figures, party, known), batch_numbers(figures, party)
    return generally_judged(figures, party, "label-sign", forecast, numbers, solve)


RULE = AttackRule(
    name="label-sign",
    by="features",
    target="labels",
    reference="Criterion 4.2, Corollary 4.5, Theorems 4.6 and 4.10",
    story=(
        "Where a batch has no more people than this party has independent columns, its gradient can be solved "
        "for each person's residual. While scores are small, the sign of the residual is the label."
    ),
    unless=without_sums,
    judge=judge,
)
