"""The rule for `false-residual`: a label party falsifies its share of one person's residual."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.drawing import TIMES, AttackDrawing, Block, product
from plumbob.checking.rules.rule import AttackRule, Judgement, not_applicable
from plumbob.checking.rules.shared import bits_of_a_run, in_scores


def judge(figures: Figures, party: str) -> Judgement:
    """Judge by the scores that are opened from shares."""
    if not figures.plan.is_closed:
        return not_applicable("Weights are opened, and other attacks read more from those.")
    return in_scores(figures, party)


def draw(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """Draw a residual that is made large, and the weights that it leads to."""
    theirs = max(1, figures.peer_columns(by))
    forged = Block("made-up", figures.rows, 1, ("one large residual,", "all others erased"), empty_from=1)
    rows = Block("unknown", figures.rows, theirs, (f"{figures.rows} {TIMES} {theirs}", "peer's columns"), "?")
    weights = Block("known", 1, theirs, (f"{theirs} weights,", "from known rows"))
    ends = "Weights stay shared."
    if figures.plan.is_closed:
        ends = f"One person's {theirs} columns per run; at most {bits_of_a_run(figures, by):,} bits."
    return product(forged, rows, weights, ends)


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
    draw=draw,
    assumes="cheating",
)
