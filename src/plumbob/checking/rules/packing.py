"""The rule for `packing`: hides extra sums in the high bits of replies."""

from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import reading
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, not_applicable
from plumbob.checking.rules.shared import (
    FEW,
    exact,
    hidden_room,
    is_drowned,
    judge_forecast,
    with_noise,
    without_replies,
)
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS


def judge(figures: Figures, party: str) -> Judgement:
    """Judge what a party reads by hiding values in its replies."""
    room = hidden_room(figures, party)
    if room.is_every_step:
        visits = figures.passes if figures.is_noisy else 1
        forecast = reading(figures, party, 1.0, visits, coverage=room.share)
    elif figures.plan.start == "zero" and not figures.noise_toward(party):
        forecast = exact(figures, room.share)
    else:
        forecast = reading(figures, party, 1.0, coverage=room.share)
    return judge_forecast(figures, party, forecast, room.numbers, least=BLOCKED if figures.is_noisy else DEGRADES)


def judge_for_scores(figures: Figures, party: str) -> Judgement:
    """Judge hidden values in replies, at the label party."""
    if not figures.peers(party):
        return not_applicable("No peer has columns, so there are no scores to read.")
    room, noise = hidden_room(figures, party), figures.noise_toward(party)
    numbers = room.numbers[0].upper() + room.numbers[1:]
    if is_drowned(noise):
        return blocked(f"{numbers}, but each has noise of {noise:.3g} on it.")
    is_longest_read = figures.readable_residuals(party) >= figures.longest_batch
    is_longest_rare = figures.longest_batch / figures.rows <= FEW
    is_sure = room.is_every_step and room.share == 1.0 and (is_longest_read or is_longest_rare) and not noise
    return Judgement(LEAKS if is_sure else DEGRADES, f"{numbers}{with_noise(noise)}.")


STORY = (
    "Each reply that a helper decrypts has room for dozens of numbers beside the one that was agreed. The attacker "
    "fills it with the peer's own ciphertexts and reads everybody's {} one by one, in large batches too."
)
RULE = AttackRule(
    name="packing",
    by="features",
    target="labels",
    reference="Section 5.2, Algorithm 2",
    story=STORY.format("labels"),
    unless=without_replies,
    judge=judge,
    assumes="cheating",
)
RULES = (
    RULE,
    replace(RULE, by="label", target="scores", story=STORY.format("partial scores"), judge=judge_for_scores),
)
