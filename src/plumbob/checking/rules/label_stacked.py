"""The rule for `label-stacked`: solves the equations of all steps as one system."""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import Solve, reading
from plumbob.checking.rules.rule import AttackRule, Judgement, without_sums
from plumbob.checking.rules.shared import generally_judged
from plumbob.counting import counted

UNREST = 1.5
"""The factor by which scores that move between the steps blur more than those of one step."""
ENOUGH = 4
"""Equations per label beyond which more steps bring little."""
STACKED_AUC = 0.995
"""The best AUC of stacked equations: other parties' scores move between the steps."""
MOST_BY_ONE_COLUMN = 0.5
"""Most equations per label that a single column may give, however often it is used."""
SURE_IF_FEW, SURE_IF_MANY = 0.1, 0.3
"""Equations per label that it surely gives, where it has fewer equations than labels, and where it has more."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge what the equations of all batches say together."""
    per_step = figures.rank(party)
    known = figures.equations_a_row(party)
    numbers = (
        f"{counted(figures.fresh_visits, 'visit')} in freshly shuffled batches, with "
        f"{counted(per_step, 'independent equation')} per batch of {counted(figures.batch, 'row')}, "
        f"{'makes' if figures.fresh_visits == 1 else 'make'} {known:.3g} equations per label"
    )
    if figures.plan.batches != "reshuffled":
        numbers += f' (batches = "{figures.plan.batches}" repeat the same equations)'
    sure = SURE_IF_MANY if known >= 1.0 else SURE_IF_FEW
    if per_step == 1 < figures.batch:
        # One column's equations are too much alike for the count to mean what it says.
        known = min(known, MOST_BY_ONE_COLUMN)
    unrest, visits = 1.0 if per_step == figures.batch else UNREST, max(1, round(known))
    forecast = reading(figures, party, stackable(known), visits, unrest=unrest)
    noise = figures.noise_toward(party)
    per_epoch = figures.steps // figures.passes
    last = figures.steps if noise else min(figures.steps, per_epoch * max(1, ENOUGH * figures.batch // per_step))
    share = min(stackable(known), sure) if per_step == 1 < figures.batch else stackable(known)
    solve = Solve(share, noise / math.sqrt(visits), last, unrest=unrest, most_auc=STACKED_AUC)
    return generally_judged(figures, party, "label-stacked", forecast, numbers, solve, figures.visits)


def stackable(known: float) -> float:
    """Equations per label that count: real columns are uneven, and rows with small entries are told apart later."""
    return min(1.0, known / 1.3)


RULE = AttackRule(
    name="label-stacked",
    by="features",
    target="labels",
    reference="beyond the paper: all steps' equations stacked",
    story=(
        "Every step is a few equations about the same people's labels. Over the epochs they add up until the "
        "labels are fixed, also where no single batch gives anything away."
    ),
    unless=without_sums,
    judge=judge,
)
