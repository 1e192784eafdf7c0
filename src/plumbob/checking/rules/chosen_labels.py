"""`chosen-labels`: a label party that invents its labels reads a row that is never scored. Beyond the paper.

Columns are centred. While everybody else has one label, their residuals are nearly equal and cancel, and what is left
of the gradient is the row of the one person with the other label, or the sum of a group's rows. So the peers' weights
point at it. Scores of rows whose columns the label party knows, one more than the peers have columns, give the weights.
Every message is an honest one about these labels: no cryptography stops it, and no replay names it. Noise for whole
rows does: the promise holds whatever labels a party brings.
"""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.rules.drawing import TIMES, AttackDrawing, Block
from plumbob.checking.rules.prediction_equations import unknown_weights
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, not_applicable
from plumbob.checking.verdict_words import DEGRADES, LEAKS
from plumbob.counting import counted

MOST_EPSILON = 4.0
"""Up to which noise for rows left no more than chance of a chosen row (benchmarks/attacks/chosen_labels.py)."""


def judge(figures: Figures, party: str) -> Judgement:
    """By the rows that are scored, held-out ones included."""
    plan, theirs, scored = figures.plan, figures.peer_columns(party), figures.scored
    if not theirs:
        return not_applicable("No peer has columns.")
    if not plan.kind.is_encrypted or not scored:
        return not_applicable("No row is scored for the label party.")
    numbers = (
        f"{party} can give one person of {figures.rows:,} label 1 and everybody else 0: the shared weights then point "
        "at that person's row"
    )
    if plan.noise == "rows":
        most = math.tanh(plan.epsilon / 2.0)
        why = (
            f"{numbers}, but noise hides it: whatever labels {party} brings, what it says of one person's row gains at "
            f"most {most:.2f} over a coin (epsilon {plan.epsilon:g})."
        )
        return blocked(why) if plan.epsilon <= MOST_EPSILON else Judgement(DEGRADES, why)
    scores = f"{counted(scored, 'scored row')}, held-out ones included"
    if scored <= theirs:
        return Judgement(DEGRADES, f"{numbers}, of which {scores} show a part ({theirs} columns).")
    known = f"if it knows the columns of {unknown_weights(plan)} of them from elsewhere"
    return Judgement(LEAKS, f"{numbers}, and {scores}, show it {known}. The person need not be scored.")


def draw(figures: Figures, by: str, _target: str) -> AttackDrawing:
    """Labels of one's choice, and the weights that they lead to."""
    theirs = max(1, figures.peer_columns(by))
    labels = Block("made-up", figures.rows, 1, (f"{figures.rows} labels,", "one of them 1"), "0", empty_from=1)
    rows = Block("unknown", figures.rows, theirs, (f"{figures.rows} {TIMES} {theirs}", "peer's columns"), "?")
    weights = Block("known", 1, theirs, (f"{theirs} weights,", "from known rows"))
    ends = f"One person's {theirs} columns per run, from the scores of {unknown_weights(figures.plan)} known rows."
    return AttackDrawing((labels, rows, weights), (TIMES, "="), ends)


RULES = (
    AttackRule(
        name="chosen-labels",
        by="label",
        target="features",
        reference="beyond the paper: labels are an input",
        story=(
            "A label party gives label 1 to one person and 0 to everybody else. The joint weights then point at that "
            "person's row, and the scores of a few people whose columns it knows reveal them. Every message is an "
            "honest one, so nobody sees it."
        ),
        judge=judge,
        draw=draw,
        assumes="cheating",
        is_named_by_replay=False,
    ),
)
