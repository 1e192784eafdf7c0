"""The rule for `feature-geometry`: the peers' scores, and from their history their columns."""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, degrades, leaks, not_applicable
from plumbob.checking.rules.shared import (
    FEW_EPOCHS,
    USUAL_SCORE,
    are_most_determined,
    is_drowned,
    residual_numbers,
    with_noise,
    without_residuals,
)
from plumbob.counting import counted

WELL_CONDITIONED = 6
"""Most peer columns for which inner products are recovered with room to spare."""
LONG_HISTORY = 8
"""Visits per peer column that a fit of the history needs to be sure."""


def judge_scores(figures: Figures, party: str) -> Judgement:
    """Judge each visit's residual minus what the party knows of it."""
    noise, numbers = figures.noise_toward(party), residual_numbers(figures, party)
    if is_drowned(noise):
        return blocked(f"{numbers}, but the peers' noise of {noise:.3g} is far above a score of about {USUAL_SCORE}.")
    if noise or not are_most_determined(figures, party):
        return degrades(f"{numbers}{with_noise(noise)}: some scores show, or all of them blurred.")
    return leaks(f"{numbers}: every visit shows the peer's part of the score.")


def judge(figures: Figures, party: str) -> Judgement:
    """Judge inner products from the history of scores."""
    columns, visits, noise = figures.peer_columns(party), figures.visits, figures.noise_toward(party)
    numbers = f"{residual_numbers(figures, party)}; {visits} visits per row against {counted(columns, 'peer column')}"
    if visits <= columns:
        return not_applicable(f"{numbers}: too few to tell the peers' columns apart.")
    if is_drowned(noise / math.sqrt(visits)):
        return blocked(f"{numbers}, but noise of {noise:.3g} is on each score.")
    is_plain = not noise and not figures.plan.row_norm
    if columns == 1 and visits >= FEW_EPOCHS and is_plain and are_most_determined(figures, party):
        return leaks(f"{numbers}: the peers' only column is its scores, up to one factor.")
    is_easy = columns <= WELL_CONDITIONED and visits >= LONG_HISTORY * columns and not figures.plan.row_norm
    if (
        noise
        or not is_easy
        or figures.longest_batch > figures.columns(party)
        or not are_most_determined(figures, party)
    ):
        return degrades(f"{numbers}{with_noise(noise)}: the history is too short, blurred or uneven to be sure.")
    return leaks(
        f"{numbers}: all columns up to one rotation, which {columns} known rows fix. Columns with few values, such as "
        "yes or no, come out without a known row."
    )


RULES = (
    AttackRule(
        name="feature-geometry",
        by="label",
        target="scores",
        reference="Corollary 3.2",
        story=(
            "A batch no larger than the rank of the label party's columns shows the peer's part of every row's "
            "score. These are the numbers from which the features are then worked out."
        ),
        unless=without_residuals,
        judge=judge_scores,
    ),
    AttackRule(
        name="feature-geometry",
        by="label",
        target="features",
        reference="beyond Theorem 3.6: up to a rotation",
        story=(
            "The peer's scores over many steps fix every inner product between two people's rows: all features up "
            "to one rotation. Whoever knows a few people's features turns it the right way and has everybody's. "
            "Columns that hold few values, such as yes or no, come out without any."
        ),
        unless=without_residuals,
        judge=judge,
    ),
)
