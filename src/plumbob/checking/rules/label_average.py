"""The rule for `label-average`: averages what is left of a row's residual over its visits, against noise."""

import math
from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import Solve, reading
from plumbob.checking.rules.rule import AttackRule, Judgement, not_applicable, without_sums
from plumbob.checking.rules.shared import generally_judged
from plumbob.counting import percent


def judge(figures: Figures, party: str) -> Judgement:
    """Judge the mean over all visits, against noise."""
    noise = figures.noise_toward(party)
    if figures.plan.noise == "none":
        return not_applicable("There is no noise to average away; label-sign reads every visit as it is.")
    left = noise / math.sqrt(figures.visits)
    known = figures.rank(party) / figures.batch
    single = reading(figures, party, known)
    forecast = replace(single, ratio=single.ratio * math.sqrt(figures.visits))
    numbers = (
        f"noise of {noise:.3g} over {figures.visits} visits leaves {left:.3g} beside a label's "
        f"{figures.label_signal:.3g}, and a batch fixes {percent(known)} of its residuals"
    )
    solve = Solve(known, left, figures.steps, figures.fresh_visits)
    return generally_judged(figures, party, "label-average", forecast, numbers, solve, figures.visits)


RULE = AttackRule(
    name="label-average",
    by="features",
    target="labels",
    reference="beyond the paper: against Algorithm 3",
    story=(
        "Noise hides a residual once, but each epoch shows it again with fresh noise. The average over the "
        "epochs has less of it, and its sign is the label."
    ),
    unless=without_sums,
    judge=judge,
)
