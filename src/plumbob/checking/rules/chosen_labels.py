"""`chosen-labels`: a label party that invents its labels reads a row that is never scored. Beyond the paper.

Columns are centred. While everybody else has one label, their residuals are nearly equal and cancel, and what is left
of the gradient is the row of the one person with the other label, or the sum of a group's rows. So the peers' weights
point at it. Scores of rows whose columns the label party knows, one more than the peers have columns, give the weights.
Weights of rows (`row_weights`) do the same without a false label: a row that counts 1 while all others count 0.
Every message is an honest one about these labels: no cryptography stops it, and no replay names it. Noise for whole
rows does: the promise holds whatever labels a party brings.
"""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.prediction_equations import unknown_weights
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, degrades, leaks, not_applicable
from plumbob.checking.rules.shared import than_a_coin
from plumbob.counting import counted

MOST_EPSILON = 4.0
"""Noise for rows left only chance of a chosen row up to this epsilon (study: benchmarks/attacks of commit ae113e8c)."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge by how many rows are scored, held-out ones included."""
    plan, theirs, scored = figures.plan, figures.peer_columns(party), figures.scored
    if not theirs:
        return not_applicable("No peer has columns.")
    if not plan.kind.is_encrypted or not scored:
        return not_applicable("No row is scored for the label party.")
    numbers = (
        f"{figures.spoken(party)} can give one person of {figures.rows:,} label 1 and everybody else 0: the shared "
        "weights then point at that person's row"
    )
    if plan.row_weights != "none":
        numbers += ", and still more if it lets that row count 1 and all others 0 (row_weights)"
    if plan.noise == "rows":
        why = (
            f"{numbers}, but noise hides it: whatever labels {figures.spoken(party)} brings, its guess about one "
            f"person's row is {than_a_coin(plan)}."
        )
        return blocked(why) if plan.epsilon <= MOST_EPSILON else degrades(why)
    scores = f"{counted(scored, 'scored row')}, held-out ones included"
    if scored <= theirs:
        return degrades(f"{numbers}, of which {scores} show a part ({theirs} columns).")
    known = f"if it knows the columns of {unknown_weights(plan)} of them from elsewhere"
    return leaks(f"{numbers}, and {scores}, show it {known}. The person need not be scored.")


RULE = AttackRule(
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
    assumes="cheating",
    is_named_by_replay=False,
    is_floor=True,
)
