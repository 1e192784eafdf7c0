"""What rules have in common that judge attacks on scores and features: which residuals a batch fixes."""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import Judgement, blocked, not_applicable, without_sums
from plumbob.checking.verdict_words import DEGRADES, LEAKS
from plumbob.counting import counted

USUAL_SCORE = 0.3
"""The spread of a peer's part of the score, beside which noise is large or small."""
FEW_EPOCHS = 3
"""Visits after which ratios have merged and the scale is clear, in practice."""
FEW = 0.1
"""The share of rows that may lie in a longer last batch without changing the verdict."""
FAR_ROOM, NEAR_ROOM = 2.5, 1.35
"""Own columns for each row of a batch with which it surely has full rank, redundant columns or not, after a start far
from zero, and after any other random one."""
UNEVEN = 4
"""Rows for each column up to which real columns, with their rare categories, may still fix a row here and there."""


def one_column(figures: Figures, party: str, epochs: str) -> Judgement:
    """Of an attack on the peers' only column."""
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
    """Scores show only where a batch's residuals are determined."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if not figures.peers(party):
        return not_applicable("No peer has columns.")
    if figures.batch > UNEVEN * figures.columns(party):
        return blocked(
            f"No residual is determined: batches of {figures.batch} rows against {figures.columns(party)} own columns, "
            "not shown to leak."
        )
    return None


def are_most_determined(figures: Figures, party: str) -> bool:
    """All batches, or all but a last one that the remainder made longer.

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
    """How many residuals of a batch own columns fix."""
    rows, columns = figures.batch, figures.columns(party)
    if rows <= columns:
        return f"Batches of {counted(rows, 'row')} against {counted(columns, 'own column')} fix every residual"
    return (
        f"Batches of {counted(rows, 'row')} against {counted(columns, 'own column')} fix no residual in "
        "general, but that of a row which is alone in a category they do"
    )


def with_noise(noise: float) -> str:
    """What noise adds to a sentence."""
    return f", with noise of {noise:.3g} on each score" if noise else ""
