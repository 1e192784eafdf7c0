"""What several rules share: from a forecast, a batch, a reply or an opening to a verdict and a sentence."""

import math
from dataclasses import dataclass, replace

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import Forecast, Solve, sure_reach
from plumbob.checking.rules.rule import Judgement, blocked, degrades, leaks, not_applicable, without_sums
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted, decimal, percent
from plumbob.plan import Plan
from plumbob.protocol.releases import scored_bits
from plumbob.protocol.shares.shape import LatticeShape

# Attacks on labels: from a forecast to a verdict.

FAINT_IN_GENERAL, MANY_STEPS = 6.0, 8
"""Standard deviations below which own columns say nothing in general; batches per epoch that even luck out."""


def without_opened_weights(figures: Figures, keeps_its_norm: bool) -> Judgement | None:
    """The judgement where weights stay shared, or noise or flips bound what opened ones say; None otherwise.

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
            "Weights are opened with noise: whatever rows a party brings within its norm bound, its guess about one "
            f"person's label is {than_a_coin(plan)}. Nobody can check that it keeps to the bound.",
        )
    if (most := 1.0 - 2.0 * figures.flipped) <= plan.tolerance_labels:
        return blocked(f"Weights are opened, but {percent(figures.flipped)} of the labels are flipped at random first.")
    return None


def than_a_coin(plan: Plan) -> str:
    """How good a guess about one person can be under noise for whole rows."""
    right = 0.5 + math.tanh(plan.epsilon / 2.0) / 2.0
    return f"right at most {percent(right)} of the time, where a coin is right 50 % (epsilon {plan.epsilon:g})"


def exact(figures: Figures, coverage: float = 1.0, judged: int | None = None) -> Forecast:
    """The forecast for labels that are read without any blur but the flips."""
    judged_rows = figures.rows if judged is None else judged
    return Forecast(math.inf, coverage, judged_rows, figures.flipped, figures.baseline_auc)


def generally_judged(
    figures: Figures, party: str, attack: str, forecast: Forecast, numbers: str, solve: Solve, visits: int = 1
) -> Judgement:
    """Judge an attack that solves for all rows of a batch, and so also finds what own columns say in general.

    That is no individual's secret, but it may be more than its part of the model says. And few batches mean few
    directions in which noise fell: one of them may happen to tell the classes apart. A forecast errs to both sides, so
    that only what noise lets through at most, over these visits, is `blocked`.
    """
    if forecast.verdict(figures.plan.tolerance_labels) == BLOCKED and figures.noise_toward(party):
        forecast = replace(forecast, ratio=max(forecast.ratio, figures.most_ratio(party, visits)))
    reach, rehearsed = sure_reach(figures, party, solve), figures.rehearsed(party, attack)
    if rehearsed and _leaks_at_home(figures, rehearsed, is_forecast=reach is not None):
        leaking = sum(one > figures.plan.tolerance_labels for one in rehearsed)
        return leaks(sentence(f"{numbers}; it leaks in {leaking} of {len(rehearsed)} rehearsals at home"))
    signal, steps = figures.general_signal(party, visits), figures.steps // figures.passes
    is_drowned = math.isfinite(signal) and forecast.verdict(figures.plan.tolerance_labels) == BLOCKED
    if is_drowned and (signal > FAINT_IN_GENERAL or steps < MANY_STEPS):
        return degrades(
            sentence(
                f"{numbers}; individual labels are lost in the noise (about {percent(forecast.accuracy)} are right), "
                f"but what its columns say about labels in general is {signal:.3g} standard deviations strong in "
                f"{steps} batches per epoch, and may be more than its part of the model says"
            ),
        )
    if reach is not None and not rehearsed:
        ends = (
            f"expect about {percent(forecast.accuracy)} of labels right, AUC {decimal(reach.auc)} where its own part "
            f"of the model has {decimal(reach.baseline_auc)}"
        )
        if forecast.auc >= reach.auc:
            ends = expectation(forecast, LEAKS)
        return leaks(sentence(f"{numbers}; {ends}"))
    judgement = judge_forecast(figures, party, forecast, numbers)
    if judgement.verdict != LEAKS:
        return judgement
    return degrades(sentence(f"{numbers}; {expectation(forecast, DEGRADES)}"))


def _leaks_at_home(figures: Figures, rehearsed: tuple[float, ...], *, is_forecast: bool) -> bool:
    """Whether half of the rehearsals leak, and the formula says the same or no rehearsal comes to nothing."""
    leaking = sum(one > figures.plan.tolerance_labels for one in rehearsed)
    return 2 * leaking >= len(rehearsed) and (is_forecast or min(rehearsed) > 0.0)


def judge_forecast(figures: Figures, party: str, forecast: Forecast, numbers: str, least: str = BLOCKED) -> Judgement:
    """The forecast's verdict, but never less than `least`; without noise or flips nobody can say that it is nothing."""
    verdict = forecast.verdict(figures.plan.tolerance_labels)
    is_hidden = figures.noise_toward(party) > 0 or figures.flipped > 0
    if verdict == BLOCKED and (least != BLOCKED or not is_hidden):
        verdict = DEGRADES
    return Judgement(verdict, sentence(f"{numbers}; {expectation(forecast, verdict)}"))


def expectation(forecast: Forecast, verdict: str) -> str:
    """What a forecast comes to, in words that fit the verdict."""
    share = percent(forecast.coverage) if forecast.coverage >= 0.001 else "few"
    of_rows = "" if forecast.coverage == 1.0 else f" in the {share} {'of ' * (share != 'few')}rows that are read"
    text = f"about {percent(forecast.accuracy)} of labels right{of_rows}, AUC {decimal(forecast.auc)}"
    if verdict == LEAKS:
        return f"expect {text}"
    if verdict == DEGRADES:
        return f"{text}; inconclusive, as it depends on the attacker's columns"
    return f"{text}: not shown to leak"


def sentence(numbers: str) -> str:
    """The numbers as a sentence, with a capital letter and a full stop."""
    return numbers[0].upper() + numbers[1:] + "."


def batch_numbers(figures: Figures, party: str) -> str:
    """A sentence on how many residuals of a batch own columns fix."""
    rank, columns = figures.rank(party), figures.columns(party)
    text = (
        f"batches of {counted(figures.batch, 'row')} against its {counted(columns, 'column')} fix "
        f"{percent(rank / figures.batch)} of the residuals (rank {rank})"
    )
    noise = figures.noise_toward(party)
    return text + (f", each with noise of {noise:.3g}" if noise else "")


# Attacks on scores and features: which residuals a batch fixes.

USUAL_SCORE = 0.3
"""The spread of a peer's part of the score, beside which noise is large or small."""
FEW_EPOCHS = 3
"""How many visits usually let ratios merge and show the scale."""
FEW = 0.1
"""The share of rows that may lie in a longer last batch without changing the verdict."""
FAR_ROOM, NEAR_ROOM = 2.5, 1.35
"""Own columns per row of a batch with which it surely has full rank: after a start far from zero, or after another."""
UNEVEN = 4
"""Rows per column up to which real columns, with their rare categories, may still fix a row here and there."""


def one_column(figures: Figures, party: str, epochs: str) -> Judgement:
    """Judge an attack on the peers' only column."""
    if (reason := without_residuals(figures, party)) is not None:
        return reason
    noise = figures.noise_toward(party)
    numbers = f"{residual_numbers(figures, party)}; {figures.visits} epochs, {epochs}"
    if is_drowned(noise / math.sqrt(figures.visits)):
        return blocked(f"{numbers}; but noise of {noise:.3g} is on each score.")
    # A feature party must replay the label party's intercept, for which no residual may be missing.
    needs_all = figures.plan.intercept and party != figures.plan.label_party.name
    is_whole = figures.longest_batch <= figures.columns(party)
    sure = figures.visits >= FEW_EPOCHS and not noise and (is_whole if needs_all else True)
    return Judgement(
        LEAKS if sure and are_most_determined(figures, party) else DEGRADES, f"{numbers}{with_noise(noise)}."
    )


def without_residuals(figures: Figures, party: str) -> Judgement | None:
    """The judgement where a batch's residuals are not determined, so that scores do not show; None otherwise."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if not figures.peers(party):
        return not_applicable("No peer has columns.")
    if figures.batch > UNEVEN * figures.columns(party):
        return blocked(
            f"No residual is determined: batches of {figures.batch:,} rows against its "
            f"{counted(figures.columns(party), 'column')}, not shown to leak."
        )
    return None


def are_most_determined(figures: Figures, party: str) -> bool:
    """Whether all batches are determined, or all but a last one that the remainder made longer.

    Real columns are rarely independent. A random start makes scores large, and what one batch leaves open then hides
    what the others show, unless there is room, or the party knows the rank of its own columns.
    """
    columns = figures.columns(party)
    if figures.batch > figures.rank(party):
        return False
    room = {"zero": 1.0, "normal": FAR_ROOM}.get(figures.plan.start, NEAR_ROOM)
    if not figures.knows_rank(party) and room * figures.batch > columns:
        return False
    return figures.longest_batch <= columns or figures.longest_batch / figures.rows <= FEW


def is_drowned(noise: float) -> bool:
    """Whether noise hides a score."""
    return noise > 10.0 * USUAL_SCORE


def residual_numbers(figures: Figures, party: str) -> str:
    """A sentence on how many residuals of a batch own columns fix."""
    rows, columns = figures.batch, figures.columns(party)
    if rows <= columns:
        return f"Batches of {counted(rows, 'row')} against its {counted(columns, 'column')} fix every residual"
    return (
        f"Batches of {counted(rows, 'row')} against its {counted(columns, 'column')} fix no residual in "
        "general, but that of a row which is alone in a category they do"
    )


def with_noise(noise: float) -> str:
    """The part of a sentence that noise adds."""
    return f", with noise of {noise:.3g} on each score" if noise else ""


# What replies have room for beside honest sums, or in their place.


def without_replies(figures: Figures, party: str) -> Judgement | None:
    """The judgement where nobody hands opened sums back, which hidden values need; None otherwise."""
    if not figures.sees_sums:
        return not_applicable("In shares no sums are handed back, so nothing can be hidden in them.")
    if not figures.plan.kind.is_encrypted:
        return not_applicable("clear is calculated in one place: nobody hands opened sums back.")
    if figures.plan.unmasked_gradients_for_the_arbiter:
        return not_applicable("Replies have no masks: the arbiter would see what is hidden in them.")
    return without_sums(figures, party)


@dataclass(frozen=True)
class ReplyCapacity:
    """What replies have room for beside honest sums, or in their place."""

    share: float
    """The share of all rows whose residual is read at least once."""
    is_every_step: bool
    """Whether that works in every step without its gradient being lost; otherwise it is done once."""
    numbers: str


def hidden_room(figures: Figures, party: str) -> ReplyCapacity:
    """The room for hidden values, from the widths of the replies."""
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


# What a party of `shares` reaches that runs other code.
#
# It can put a number of any size on its share of one person's residual: by the share itself, by sines that are none, or
# by a reply that is no product. The weights then hold that person's row, and the scores that are opened to the label
# party show it. A score has a fixed number of bits. And however many are opened, they depend on each weight's share
# modulo a fixed power of two only, so that this is all that a run can carry out about rows that are never scored.


def in_scores(figures: Figures, party: str) -> Judgement:
    """Judge what scores carry out where weights stay shared."""
    plan, scored = figures.plan, figures.scored
    if party != plan.label_party.name:
        return blocked(
            f"Nothing is opened to {figures.spoken(party)}: this way it can spoil the model, but learns nothing."
        )
    theirs = figures.peer_columns(party)
    if not scored or not theirs:
        return blocked(
            f"No row is scored for {figures.spoken(party)}: this way it can spoil the model, but learns nothing."
        )
    why = (
        f"{figures.spoken(party)} can put a number of any size on one person's residual, so that the shared weights "
        f"hold that person's row. {counted(scored, 'score')} then carry at most {scored_bits(plan, 1)} bits each about "
        f"its peers' rows, scored or not, and at most {bits_of_a_run(figures, party):,} in all about rows that are "
        f"never scored"
    )
    noise = "; noise for rows does not cover residuals of any size" if plan.noise == "rows" else ""
    return Judgement(LEAKS if scored > theirs else DEGRADES, f"{why}{noise}.")


def bits_of_a_run(figures: Figures, party: str) -> int:
    """How many bits of the shared weights scores can depend on: a weight's width for each column, and one more."""
    return LatticeShape(figures.plan, figures.rows).input_bits * (figures.peer_columns(party) + 1)


def without_openings(figures: Figures, party: str) -> Judgement | None:
    """The judgement where no weight is opened to this party; None otherwise."""
    if not figures.plan.kind.has_lattices:
        return not_applicable("There are no lattice products in this plan.")
    if figures.plan.is_closed:
        return in_scores(figures, party)
    if not figures.columns(party):
        return not_applicable(f"{figures.spoken(party)} has no columns, so no weight is opened to it.")
    return None
