"""Which attacks of a feature party on labels will work, from a plan's figures."""

import math
from dataclasses import dataclass, replace

from plumbob.checking.figures import USUAL_AUC, Figures
from plumbob.checking.forecast import Forecast, Solve, reading, sure_reach
from plumbob.checking.rules import Judgement, blocked, not_applicable, without_sums
from plumbob.checking.verdict_words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted

BOX_REACH, LATTICE_REACH = 1.7, 5.0
"""Labels for each independent column that a box surely decodes, and that a lattice may."""
FAINT_IN_GENERAL, MANY_STEPS = 6.0, 8
"""Standard deviations below which own columns say nothing in general, and batches an epoch that even luck out."""
UNREST = 1.5
"""Scores that move between the steps blur more than those of one step."""
RARER = 4
"""Few chosen people are only as good a sample as those of the rarer class among them, taken to be one in four."""
IF_EXACT = 2
"""The same for people whose labels are read exactly."""
ENOUGH = 4
"""Equations for each label beyond which more steps bring little."""
STACKED_AUC = 0.995
"""What stacked equations reach at best: other parties' scores move between the steps."""
MOST_BY_ONE_COLUMN = 0.5
"""Equations for each label that a single column may be good for, however often it is used."""
SURE_IF_FEW, SURE_IF_MANY = 0.1, 0.3
"""Those that it surely is good for, where it has fewer equations than there are labels, and where it has more."""


def label_sign(figures: Figures, party: str) -> Judgement:
    """One batch at a time."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
    known = figures.rank(party) / figures.batch
    # Of several visits the first that determines a row is believed, otherwise whichever determines most.
    last = figures.steps // figures.passes if known == 1.0 else figures.steps
    solve = Solve(known, figures.noise_toward(party), last)
    forecast, numbers = reading(figures, party, known), _batch_numbers(figures, party)
    return _generally_judged(figures, party, "label-sign", forecast, numbers, solve)


def label_only(figures: Figures, party: str) -> Judgement:
    """Decoding where a residual is a label and nothing else."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if figures.plan.class_weight != "none":
        return not_applicable("Class weights multiply each residual with a factor that depends on its label.")
    if not figures.has_labels_alone and figures.plan.start != "zero":
        return not_applicable("Residuals hold other parties' scores in every step: the start is not zero.")
    load = figures.batch / figures.rank(party)
    coverage = 1.0 if figures.has_labels_alone else figures.batch / figures.rows
    where = "every step" if figures.has_labels_alone else f"the first step, {figures.batch:,} of {figures.rows:,} rows"
    numbers = (
        f"{load:.3g} labels per independent equation in {where} (solving decodes 1, limits on the labels about 2, "
        f"lattice reduction about {LATTICE_REACH:g})"
    )
    noise = figures.noise_toward(party)
    if noise:
        known = min(1.0, 1.0 / load)
        forecast = reading(figures, party, known, coverage=coverage)
        return _judge_forecast(figures, party, forecast, f"{numbers}; noise of {noise:.3g} leaves no exact solution")
    # Exact labels: what is decoded has no blur but the flips.
    if load <= BOX_REACH:
        return _judge_forecast(figures, party, _exact(figures, coverage), numbers, least=DEGRADES)
    return Judgement(DEGRADES, _sentence(numbers))


def label_stacked(figures: Figures, party: str) -> Judgement:
    """All batches at once."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
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
    return _generally_judged(figures, party, "label-stacked", forecast, numbers, solve, figures.visits)


def stackable(known: float) -> float:
    """Real columns are uneven: rows with small entries are told apart later than the count says."""
    return min(1.0, known / 1.3)


def label_average(figures: Figures, party: str) -> Judgement:
    """The mean over all visits, against noise."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
    noise = figures.noise_toward(party)
    if figures.plan.noise == "none":
        return not_applicable("There is no noise to average away; label-sign reads every visit as it is.")
    left = noise / math.sqrt(figures.visits)
    known = figures.rank(party) / figures.batch
    single = reading(figures, party, known)
    forecast = replace(single, ratio=single.ratio * math.sqrt(figures.visits))
    numbers = (
        f"noise of {noise:.3g} over {figures.visits} visits leaves {left:.3g} beside a label's "
        f"{figures.label_signal:.3g}, and a batch fixes {known:.1%} of its residuals"
    )
    solve = Solve(known, left, figures.steps, figures.fresh_visits)
    return _generally_judged(figures, party, "label-average", forecast, numbers, solve, figures.visits)


def label_counts(figures: Figures, party: str) -> Judgement:
    """Sums of labels over the categories of two-valued columns."""
    plan, columns = figures.plan, figures.columns(party)
    if not figures.sees_sums:
        return _counts_on_opened_weights(figures, party)
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if plan.class_weight != "none":
        return not_applicable("Class weights multiply each residual with a factor that depends on its label.")
    if plan.start != "zero" and not figures.has_labels_alone:
        return not_applicable("The start is not zero, so the first sums hold other parties' scores.")
    if figures.home is not None and figures.home.party == party and not figures.home.two_valued:
        return not_applicable("No column of this party's table has exactly two values.")
    rows = "every batch" if figures.has_labels_alone else f"the first batch of {figures.batch:,} rows"
    share = 1.0 if figures.has_labels_alone else figures.batch / figures.rows
    numbers = f"{columns} sums of labels over {rows}, exact at any batch size for columns with two values"
    if figures.noise_toward(party) and share <= plan.tolerance_labels:
        return blocked(_sentence(f"{numbers}, but noise of {figures.noise_toward(party):.3g} is on each residual"))
    hint = (
        "one-hot columns have two values" if plan.categorical == "one-hot" else "a plan does not say if there are any"
    )
    return Judgement(DEGRADES, _sentence(f"{numbers}; {hint}"))


def label_chosen_rows(figures: Figures, party: str) -> Judgement:
    """A party that puts zeros into all rows but those of its targets."""
    plan, columns = figures.plan, figures.columns(party)
    if not figures.sees_sums:
        return _chosen_on_opened_weights(figures, party)
    if not plan.kind.is_encrypted:
        return not_applicable("clear is calculated in one place: there is no party that could choose its rows.")
    steps = figures.steps * figures.runs
    each, in_all = min(columns, figures.batch), min(columns * steps, figures.rows)
    numbers = (
        f"the residuals of {counted(each, 'chosen person', 'chosen people')} per step at any batch size, "
        f"{counted(in_all, 'person', 'people')} in {counted(steps, 'step')}"
    )
    if figures.is_noisy:
        forecast = reading(figures, party, 1.0, figures.visits, judged=_sample(columns))
        numbers += f", each under noise of {figures.noise_toward(party):.3g} per visit"
        return _judge_forecast(figures, party, forecast, numbers)
    if plan.start == "zero" or (plan.kind.lends_keys and figures.has_labels_alone):
        bits = min(figures.slot_bits - plan.residual_bits - 2, 60)
        readable = min(figures.batch, columns * bits)
        numbers += f"; columns of powers of two read {readable} of {figures.batch:,} labels in the first step alone"
        people = max(1, max(readable, columns) // IF_EXACT)
        # Labels that are read exactly are read, however well own columns predict them.
        exact = replace(_exact(figures, judged=people), baseline_auc=USUAL_AUC)
        return _judge_forecast(figures, party, exact, numbers, least=DEGRADES)
    return _judge_forecast(
        figures, party, reading(figures, party, 1.0, judged=_sample(columns)), numbers, least=DEGRADES
    )


def _sample(people: int) -> int:
    return max(1, people // RARER)


def packing_for_labels(figures: Figures, party: str) -> Judgement:
    """Hidden values in replies."""
    if (reason := without_replies(figures, party)) is not None:
        return reason
    room = hidden_room(figures, party)
    if room.is_every_step:
        visits = figures.passes if figures.is_noisy else 1
        forecast = reading(figures, party, 1.0, visits, coverage=room.share)
    elif figures.plan.start == "zero" and not figures.noise_toward(party):
        forecast = _exact(figures, room.share)
    else:
        forecast = reading(figures, party, 1.0, coverage=room.share)
    return _judge_forecast(figures, party, forecast, room.numbers, least=BLOCKED if figures.is_noisy else DEGRADES)


def claimed_width(figures: Figures, party: str) -> Judgement:
    """More columns than agreed."""
    if (reason := without_replies(figures, party)) is not None:
        return reason
    return blocked(
        f"Widths are agreed: the plan's hash fixes {figures.columns(party)} columns, and any other number of sums ends "
        "the run; the columns that were agreed need not be real, so they all count here."
    )


def without_replies(figures: Figures, party: str) -> Judgement | None:
    """Hidden values need somebody who hands opened sums back."""
    if not figures.sees_sums:
        return blocked("In shares no sums are handed back, so nothing can be hidden in them.")
    if not figures.plan.kind.is_encrypted:
        return not_applicable("clear is calculated in one place: nobody hands opened sums back.")
    if figures.plan.unmasked_gradients_for_the_arbiter:
        return not_applicable("Replies have no masks: the arbiter would see what is hidden in them.")
    return without_sums(figures, party)


@dataclass(frozen=True)
class ReplyCapacity:
    """What replies have room for beside honest sums, or in their place."""

    share: float
    """Of all rows, those whose residual is read at least once."""
    is_every_step: bool
    """Whether that works in every step without its gradient being lost; otherwise it is done once."""
    numbers: str


def hidden_room(figures: Figures, party: str) -> ReplyCapacity:
    """From the widths that come back."""
    readable, rows = figures.readable_residuals(party), figures.batch
    bits, sums = sum(figures.reply_widths(party)), counted(figures.columns(party), "sum")
    room = f"{counted(readable, 'residual')} of {counted(rows, 'row')}"
    numbers = f"Replies of {bits:,} bits per step, meant for {sums}, have room for {room}"
    if figures.plan.replies == "paper":
        return ReplyCapacity(min(1.0, readable / rows), True, numbers)
    if readable < rows:
        return ReplyCapacity(min(readable, rows) / figures.rows, False, numbers)
    in_longest = figures.longest_batch / figures.rows if figures.longest_batch > readable else 0.0
    return ReplyCapacity(
        1.0 if figures.plan.batches == "reshuffled" and figures.visits > 1 else 1.0 - in_longest, True, numbers
    )


def _counts_on_opened_weights(figures: Figures, party: str) -> Judgement:
    """`shares`: one difference of rates for each column with two values, from an honest run's weights."""
    if (reason := _without_opened_weights(figures, keeps_its_norm=True)) is not None:
        return reason
    equations = figures.columns(party) * figures.runs
    return Judgement(
        DEGRADES,
        f"The opened weights are {equations} equations about {figures.rows:,} labels: for each column with two values, "
        "how much more often one of them has label 1.",
    )


def _chosen_on_opened_weights(figures: Figures, party: str) -> Judgement:
    """`shares`: the party fills its columns with zeros except for its targets, and reads them from its weights."""
    if (reason := _without_opened_weights(figures, keeps_its_norm=False)) is not None:
        return reason
    readable = figures.labels_in_opened_weights(party)
    is_one = readable <= figures.columns(party) * figures.runs
    per_column = "one per column" if is_one else "several per column, because weights start at 0"
    numbers = f"{party} can choose {readable} of {figures.rows:,} people and read their labels from its opened weights"
    if figures.flipped:
        numbers += f", of which {figures.flipped:.1%} are flipped at random"
    sends = "Whatever it sends" if figures.is_between_two else "If it keeps to the protocol otherwise"
    return Judgement(
        LEAKS,
        f"{numbers} ({per_column}). {sends}, its opened weights carry at most {figures.opened_bits(party)} bits.",
    )


def _without_opened_weights(figures: Figures, keeps_its_norm: bool) -> Judgement | None:
    """Weights that stay shared say nothing, and noise or flips bound what opened ones say.

    Noise for whole rows blocks nobody who may exceed its norm bound.
    """
    plan = figures.plan
    if plan.is_closed:
        return blocked("No sums are seen, and the weights are never opened.")
    if plan.noise == "rows":
        # For a label drawn by a fair coin: at most this much more than guessing (docs/privacy.md).
        most = math.tanh(plan.epsilon / 2.0)
        is_bound = keeps_its_norm and most <= plan.tolerance_labels
        return Judgement(
            BLOCKED if is_bound else DEGRADES,
            f"Weights are opened with noise: whatever rows a party brings within its norm bound, its guess about one "
            f"person's label gains at most {most:.2f} over a coin (epsilon {plan.epsilon:g}). Nobody can check that "
            "it keeps to the bound.",
        )
    if (most := 1.0 - 2.0 * figures.flipped) <= plan.tolerance_labels:
        return blocked(f"Weights are opened, but {figures.flipped:.1%} of the labels are flipped at random first.")
    return None


def _exact(figures: Figures, coverage: float = 1.0, judged: int | None = None) -> Forecast:
    judged_rows = figures.rows if judged is None else judged
    return Forecast(math.inf, coverage, judged_rows, figures.flipped, figures.baseline_auc)


def _generally_judged(
    figures: Figures, party: str, attack: str, forecast: Forecast, numbers: str, solve: Solve, visits: int = 1
) -> Judgement:
    """The same for attacks that solve for all rows of a batch, and so find out what own columns say in general too.

    That is no individual's secret, but it may be more than its part of the model says. And few batches mean few
    directions in which noise fell: one of them may happen to tell the classes apart.
    """
    reach, rehearsed = sure_reach(figures, party, solve), figures.rehearsed(party, attack)
    if rehearsed and _leaks_at_home(figures, rehearsed, is_forecast=reach is not None):
        leaking = sum(one > figures.plan.tolerance_labels for one in rehearsed)
        return Judgement(LEAKS, _sentence(f"{numbers}; it leaks in {leaking} of {len(rehearsed)} rehearsals at home"))
    signal, steps = figures.general_signal(party, visits), figures.steps // figures.passes
    is_drowned = math.isfinite(signal) and forecast.verdict(figures.plan.tolerance_labels) == BLOCKED
    if is_drowned and (signal > FAINT_IN_GENERAL or steps < MANY_STEPS):
        return Judgement(
            DEGRADES,
            _sentence(
                f"{numbers}; individual labels are lost in the noise (about {forecast.accuracy:.0%} are right), but "
                f"what its columns say about labels in general is {signal:.3g} standard deviations strong in {steps} "
                "batches per epoch, and may be more than its part of the model says"
            ),
        )
    if reach is not None and not rehearsed:
        ends = (
            f"expect about {forecast.accuracy:.0%} of labels right, AUC {reach.auc:.2f} where its own part of the "
            f"model has {reach.baseline_auc:.2f}"
        )
        if forecast.auc >= reach.auc:
            ends = _expectation(forecast, LEAKS)
        return Judgement(LEAKS, _sentence(f"{numbers}; {ends}"))
    judgement = _judge_forecast(figures, party, forecast, numbers)
    if judgement.verdict != LEAKS:
        return judgement
    return Judgement(DEGRADES, _sentence(f"{numbers}; {_expectation(forecast, DEGRADES)}"))


def _leaks_at_home(figures: Figures, rehearsed: tuple[float, ...], *, is_forecast: bool) -> bool:
    """Half of the rehearsals leak, and either the formula says the same or no rehearsal comes to nothing."""
    leaking = sum(one > figures.plan.tolerance_labels for one in rehearsed)
    return 2 * leaking >= len(rehearsed) and (is_forecast or min(rehearsed) > 0.0)


def _judge_forecast(figures: Figures, party: str, forecast: Forecast, numbers: str, least: str = BLOCKED) -> Judgement:
    """The forecast's verdict, but never less than `least`; without noise or flips nobody can say that it is nothing."""
    verdict = forecast.verdict(figures.plan.tolerance_labels)
    is_hidden = figures.noise_toward(party) > 0 or figures.flipped > 0
    if verdict == BLOCKED and (least != BLOCKED or not is_hidden):
        verdict = DEGRADES
    return Judgement(verdict, _sentence(f"{numbers}; {_expectation(forecast, verdict)}"))


def _expectation(forecast: Forecast, verdict: str) -> str:
    of_rows = "" if forecast.coverage == 1.0 else f" in the {forecast.coverage:.1%} of rows that are read"
    text = f"about {forecast.accuracy:.0%} of labels right{of_rows}, AUC {forecast.auc:.2f}"
    if verdict == LEAKS:
        return f"expect {text}"
    if verdict == DEGRADES:
        return f"{text}; inconclusive, as it depends on the attacker's columns"
    return f"{text}: not shown to leak"


def _sentence(numbers: str) -> str:
    return numbers[0].upper() + numbers[1:] + "."


def _batch_numbers(figures: Figures, party: str) -> str:
    rank, columns = figures.rank(party), figures.columns(party)
    text = (
        f"batches of {counted(figures.batch, 'row')} against {counted(columns, 'own column')}: rank {rank} fixes "
        f"{rank / figures.batch:.1%}"
    )
    noise = figures.noise_toward(party)
    return f"{text} of the residuals" + (f", each with noise of {noise:.3g}" if noise else "")
