"""What rules have in common that judge attacks on labels: from a forecast to a verdict and a sentence."""

import math
from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import Forecast, Solve, sure_reach
from plumbob.checking.rules.rule import Judgement, blocked
from plumbob.checking.verdict_words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted

FAINT_IN_GENERAL, MANY_STEPS = 6.0, 8
"""Standard deviations below which own columns say nothing in general, and batches an epoch that even luck out."""


def without_opened_weights(figures: Figures, keeps_its_norm: bool) -> Judgement | None:
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


def exact(figures: Figures, coverage: float = 1.0, judged: int | None = None) -> Forecast:
    """Labels that are read without any blur but the flips."""
    judged_rows = figures.rows if judged is None else judged
    return Forecast(math.inf, coverage, judged_rows, figures.flipped, figures.baseline_auc)


def generally_judged(
    figures: Figures, party: str, attack: str, forecast: Forecast, numbers: str, solve: Solve, visits: int = 1
) -> Judgement:
    """The same for attacks that solve for all rows of a batch, and so find out what own columns say in general too.

    That is no individual's secret, but it may be more than its part of the model says. And few batches mean few
    directions in which noise fell: one of them may happen to tell the classes apart. A forecast errs to both sides, so
    that only what noise lets through at most, over these visits, is `blocked`.
    """
    if forecast.verdict(figures.plan.tolerance_labels) == BLOCKED and figures.noise_toward(party):
        forecast = replace(forecast, ratio=max(forecast.ratio, figures.most_ratio(party, visits)))
    reach, rehearsed = sure_reach(figures, party, solve), figures.rehearsed(party, attack)
    if rehearsed and _leaks_at_home(figures, rehearsed, is_forecast=reach is not None):
        leaking = sum(one > figures.plan.tolerance_labels for one in rehearsed)
        return Judgement(LEAKS, sentence(f"{numbers}; it leaks in {leaking} of {len(rehearsed)} rehearsals at home"))
    signal, steps = figures.general_signal(party, visits), figures.steps // figures.passes
    is_drowned = math.isfinite(signal) and forecast.verdict(figures.plan.tolerance_labels) == BLOCKED
    if is_drowned and (signal > FAINT_IN_GENERAL or steps < MANY_STEPS):
        return Judgement(
            DEGRADES,
            sentence(
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
            ends = expectation(forecast, LEAKS)
        return Judgement(LEAKS, sentence(f"{numbers}; {ends}"))
    judgement = judge_forecast(figures, party, forecast, numbers)
    if judgement.verdict != LEAKS:
        return judgement
    return Judgement(DEGRADES, sentence(f"{numbers}; {expectation(forecast, DEGRADES)}"))


def _leaks_at_home(figures: Figures, rehearsed: tuple[float, ...], *, is_forecast: bool) -> bool:
    """Half of the rehearsals leak, and either the formula says the same or no rehearsal comes to nothing."""
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
    of_rows = "" if forecast.coverage == 1.0 else f" in the {forecast.coverage:.1%} of rows that are read"
    text = f"about {forecast.accuracy:.0%} of labels right{of_rows}, AUC {forecast.auc:.2f}"
    if verdict == LEAKS:
        return f"expect {text}"
    if verdict == DEGRADES:
        return f"{text}; inconclusive, as it depends on the attacker's columns"
    return f"{text}: not shown to leak"


def sentence(numbers: str) -> str:
    """With a capital letter and a full stop."""
    return numbers[0].upper() + numbers[1:] + "."


def batch_numbers(figures: Figures, party: str) -> str:
    """How many residuals of a batch own columns fix."""
    rank, columns = figures.rank(party), figures.columns(party)
    text = (
        f"batches of {counted(figures.batch, 'row')} against {counted(columns, 'own column')}: rank {rank} fixes "
        f"{rank / figures.batch:.1%}"
    )
    noise = figures.noise_toward(party)
    return f"{text} of the residuals" + (f", each with noise of {noise:.3g}" if noise else "")
