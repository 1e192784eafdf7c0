"""The rule for `label-counts`: counts the positives in each category of a two-valued column."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, degrades, not_applicable, without_sums
from plumbob.checking.rules.shared import sentence, without_opened_weights
from plumbob.counting import counted


def judge(figures: Figures, party: str) -> Judgement:
    """Judge sums of labels over the categories of two-valued columns."""
    plan, columns = figures.plan, figures.columns(party)
    if not figures.sees_sums:
        return _counts_on_opened_weights(figures, party)
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if plan.weighs_rows:
        return not_applicable("Weights multiply each residual with a factor that only the label party knows.")
    if plan.start != "zero" and not figures.has_labels_alone:
        return not_applicable("The start is not zero, so the first sums hold other parties' scores.")
    if figures.home is not None and figures.home.party == party and not figures.home.two_valued:
        return not_applicable("No column of this party's table has exactly two values.")
    rows = "every batch" if figures.has_labels_alone else f"the first batch of {figures.batch:,} rows"
    share = 1.0 if figures.has_labels_alone else figures.batch / figures.rows
    numbers = f"{counted(columns, 'sum')} of labels over {rows}, exact at any batch size for columns with two values"
    if figures.noise_toward(party) and share <= plan.tolerance_labels:
        return blocked(sentence(f"{numbers}, but noise of {figures.noise_toward(party):.3g} is on each residual"))
    hint = (
        "one-hot columns have two values" if plan.categorical == "one-hot" else "a plan does not say if there are any"
    )
    return degrades(sentence(f"{numbers}; {hint}"))


def _counts_on_opened_weights(figures: Figures, party: str) -> Judgement:
    """Judge `shares`: one difference of rates for each column with two values, from an honest run's weights."""
    if (reason := without_opened_weights(figures, keeps_its_norm=True)) is not None:
        return reason
    equations = figures.columns(party) * figures.runs
    return degrades(
        f"The opened weights are {equations} equations about {figures.rows:,} labels: for each column with two values, "
        "how much more often one of them has label 1."
    )


RULE = AttackRule(
    name="label-counts",
    by="features",
    target="labels",
    reference="beyond the paper: group counts",
    story=(
        "From zero weights, the first sum of a yes/no column is the number of positive labels among those "
        "with a yes, exactly and for any batch size. Small groups give single labels away."
    ),
    judge=judge,
)
