"""The rule for `label-chosen-rows`: a feature party that chooses its inputs chooses whose label it reads."""

from dataclasses import replace

from plumbob.checking.figures import USUAL_AUC, Figures
from plumbob.checking.forecast import reading
from plumbob.checking.rules.rule import AttackRule, Judgement, leaks, not_applicable
from plumbob.checking.rules.shared import exact, judge_forecast, without_opened_weights
from plumbob.checking.words import DEGRADES
from plumbob.counting import counted, percent

RARER = 4
"""A few chosen people are as good a sample as those of the rarer class among them, taken to be one in four."""
IF_EXACT = 2
"""The same factor for people whose labels are read exactly."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge a party that puts zeros into all rows but those of its targets."""
    plan, columns = figures.plan, figures.columns(party)
    if not figures.sees_sums:
        return _chosen_on_opened_weights(figures, party)
    if not plan.kind.is_encrypted:
        return not_applicable("clear is calculated in one place: there is no party that could choose its rows.")
    steps = figures.steps * figures.runs
    each, in_all = min(columns, figures.batch), min(columns * steps, figures.rows)
    numbers = (
        f"it reads the residuals of {counted(each, 'chosen person', 'chosen people')} per step at any batch size, "
        f"{counted(in_all, 'person', 'people')} in {counted(steps, 'step')}"
    )
    if figures.is_noisy:
        forecast = reading(figures, party, 1.0, figures.visits, judged=_sample(columns))
        numbers += f", each under noise of {figures.noise_toward(party):.3g} per visit"
        return judge_forecast(figures, party, forecast, numbers)
    if plan.start == "zero" or (plan.kind.lends_keys and figures.has_labels_alone):
        bits = min(figures.slot_bits - plan.residual_bits - 2, 60)
        readable = min(figures.batch, columns * bits)
        numbers += f"; columns of powers of two read {readable} of {figures.batch:,} labels in the first step alone"
        people = max(1, max(readable, columns) // IF_EXACT)
        # Labels that are read exactly are read, however well own columns predict them.
        surely = replace(exact(figures, judged=people), baseline_auc=USUAL_AUC)
        return judge_forecast(figures, party, surely, numbers, least=DEGRADES)
    return judge_forecast(
        figures, party, reading(figures, party, 1.0, judged=_sample(columns)), numbers, least=DEGRADES
    )


def _sample(people: int) -> int:
    return max(1, people // RARER)


def _chosen_on_opened_weights(figures: Figures, party: str) -> Judgement:
    """Judge `shares`: the party puts zeros into all rows but its targets', and reads them from its weights."""
    if (reason := without_opened_weights(figures, keeps_its_norm=False)) is not None:
        return reason
    readable = figures.labels_in_opened_weights(party)
    is_one = readable <= figures.columns(party) * figures.runs
    per_column = "one per column" if is_one else "several per column, because weights start at 0"
    chosen = f"{figures.spoken(party)} can choose {readable} of {figures.rows:,} people"
    numbers = f"{chosen} and read their labels from its opened weights"
    if figures.flipped:
        numbers += f", of which {percent(figures.flipped)} are flipped at random"
    sends = "Whatever it sends" if figures.is_between_two else "If it keeps to the protocol otherwise"
    return leaks(
        f"{numbers} ({per_column}). {sends}, its opened weights carry at most {figures.opened_bits(party)} bits."
    )


RULE = AttackRule(
    name="label-chosen-rows",
    by="features",
    target="labels",
    reference="beyond the paper: chosen inputs",
    story=(
        "A feature party sets all its rows to zero but those of a few people, and its sums are then about "
        "them alone. No check of a message can see it, and a larger batch does not help."
    ),
    judge=judge,
    assumes="cheating",
    is_named_by_replay=False,
)
