"""The rule for `own-weights`: what a party's opened weights say about the labels of the rows that they come from.

A model with many columns for its rows remembers labels: fitted to coin flips, d columns on n rows give a row's own
label with weight h = d / n, and its sign comes out right for a share Phi(sqrt(h / (1 - h))) of the rows. What columns
say about labels in general comes on top, and no plan tells how much that is.
"""

import math
from statistics import NormalDist

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, leaks, not_applicable
from plumbob.checking.rules.shared import without_opened_weights
from plumbob.counting import counted, percent

REMEMBERED = 0.1
"""Columns for each row from which on weights surely name labels better than guessing: 63 % of coin flips."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge by columns over rows, in all runs together."""
    if not figures.columns(party):
        return not_applicable(f"{figures.spoken(party)} has no columns, so no weight is opened to it.")
    if figures.plan.is_closed:
        return not_applicable("The weights are never opened.")
    if (reason := without_opened_weights(figures, keeps_its_norm=True)) is not None:
        return reason
    held = min(1.0, figures.columns(party) * figures.runs / figures.rows)
    right = 1.0 if held == 1.0 else NormalDist().cdf(math.sqrt(held / (1.0 - held)))
    numbers = (
        f"{counted(figures.columns(party), 'weight')} on {figures.rows:,} rows remember coin flips with "
        f"{percent(right)} right, and show what {figures.spoken(party)}'s columns say about labels in general"
    )
    if noise := figures.noise_toward(party):
        # Noise hides single labels, not what columns say about labels in general: that is in the weights too.
        return degrades(f"{numbers}; noise of {noise:.3g} is on each residual.")
    return leaks(f"{numbers}.") if held >= REMEMBERED else degrades(f"{numbers}.")


OWN_WEIGHTS = "own-weights"
RULE = AttackRule(
    name=OWN_WEIGHTS,
    by="features",
    target="labels",
    reference="beyond the paper: a model remembers its rows",
    story=(
        "The weights of a party's own columns, opened when training ends, score the very people that they were fitted "
        "to. With many columns for the rows these scores repeat the labels, even labels that are coin flips."
    ),
    judge=judge,
)
