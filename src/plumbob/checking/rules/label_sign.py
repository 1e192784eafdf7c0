"""The rule for `label-sign`: solves each batch for residuals, whose sign gives the label away."""

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import Solve, reading
from plumbob.checking.rules.drawing import AttackDrawing, one_step
from plumbob.checking.rules.rule import AttackRule, Judgement, without_sums
from plumbob.checking.rules.shared import batch_numbers, generally_judged
from plumbob.counting import percent


def judge(figures: Figures, party: str) -> Judgement:
    """Judge one batch at a time."""
    known = figures.rank(party) / figures.batch
    # Of several visits the first that determines a row is believed, otherwise whichever determines most.
    last = figures.steps // figures.passes if known == 1.0 else figures.steps
    solve = Solve(known, figures.noise_toward(party), last)
    forecast, numbers = reading(figures, party, known), batch_numbers(figures, party)
    return generally_judged(figures, party, "label-sign", forecast, numbers, solve)


def draw(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """Draw one step's sums against one step's residuals."""
    rows, rank = figures.batch, figures.rank(by)
    solved = (
        "every residual is solved for" if rank >= rows else f"at most {percent(rank / rows)} of the residuals are fixed"
    )
    return one_step(figures, by, "?", f"{rank} independent equations for {rows} residuals per step: {solved}.")


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
    draw=draw,
)
