"""The rule for `label-only`: decodes labels where a residual holds nothing else."""

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import reading
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, not_applicable, without_sums
from plumbob.checking.rules.shared import exact, judge_forecast, sentence
from plumbob.checking.words import DEGRADES
from plumbob.counting import plain

BOX_REACH, LATTICE_REACH = 1.7, 5.0
"""Labels per independent column that a box surely decodes, and that a lattice may."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge decoding where a residual is a label and nothing else."""
    if figures.plan.weighs_rows:
        return not_applicable("Weights multiply each residual with a factor that only the label party knows.")
    if not figures.has_labels_alone and figures.plan.start != "zero":
        return not_applicable("Residuals hold other parties' scores in every step: the start is not zero.")
    load = figures.batch / figures.rank(party)
    coverage = 1.0 if figures.has_labels_alone else figures.batch / figures.rows
    where = "every step" if figures.has_labels_alone else f"the first step, {figures.batch:,} of {figures.rows:,} rows"
    numbers = (
        f"{plain(load)} {'label' if load == 1 else 'labels'} per independent equation in {where} (solving decodes 1, "
        f"limits on the labels about 2, lattice reduction about {LATTICE_REACH:g})"
    )
    noise = figures.noise_toward(party)
    if noise:
        known = min(1.0, 1.0 / load)
        forecast = reading(figures, party, known, coverage=coverage)
        return judge_forecast(figures, party, forecast, f"{numbers}; noise of {noise:.3g} leaves no exact solution")
    # Exact labels: what is decoded has no blur but the flips.
    if load <= BOX_REACH:
        return judge_forecast(figures, party, exact(figures, coverage), numbers, least=DEGRADES)
    return degrades(sentence(numbers))


RULE = AttackRule(
    name="label-only",
    by="features",
    target="labels",
    reference="Theorem 4.1; beyond it: first step from zero weights",
    story=(
        "Where the label party brings nothing but labels, or all weights are still zero, a sum is a riddle of yes "
        "and no. Integer and lattice methods solve it for several times more people than this party has columns."
    ),
    unless=without_sums,
    judge=judge,
)
