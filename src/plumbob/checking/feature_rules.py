"""Which attacks on scores and features will work, from a plan's figures."""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.label_rules import hidden_room, without_replies
from plumbob.checking.rules import Judgement, blocked, not_applicable, without_sums
from plumbob.checking.verdict_words import DEGRADES, LEAKS
from plumbob.counting import counted

USUAL_SCORE = 0.3
"""The spread of a peer's part of the score, beside which noise is large or small."""
WELL_CONDITIONED = 6
"""Peer columns up to which inner products are recovered with room to spare."""
LONG_HISTORY = 8
"""Visits for each peer column that a fit of the history needs, to be sure of it."""
FEW_EPOCHS = 3
"""Visits after which ratios have merged and the scale is clear, in practice."""
FEW = 0.1
"""The share of rows that may lie in a longer last batch without changing the verdict."""
FAR_ROOM, NEAR_ROOM = 2.5, 1.35
"""Own columns for each row of a batch with which it surely has full rank, redundant columns or not, after a start far
from zero, and after any other random one."""
CHAIN_ROOM = 2
"""Own columns for each row of the longest batch with which every batch has full rank, redundant columns or not."""
ENOUGH_COLUMNS, FEW_PEOPLE = 0.6, 3
"""The share of the peers' columns, and the people, from which on steering surely shows more than own columns do."""
UNEVEN = 4
"""Rows for each column up to which real columns, with their rare categories, may still fix a row here and there."""


def peer_scores(figures: Figures, party: str) -> Judgement:
    """Each visit's residual minus what the party knows of it."""
    if (reason := _without_residuals(figures, party)) is not None:
        return reason
    noise, numbers = figures.noise_toward(party), _numbers(figures, party)
    if _is_drowned(noise):
        return blocked(f"{numbers}, but the peers' noise of {noise:.3g} is far above a score of about {USUAL_SCORE}.")
    if noise or not _are_most_determined(figures, party):
        return Judgement(DEGRADES, f"{numbers}{_with(noise)}: some scores show, or all of them blurred.")
    return Judgement(LEAKS, f"{numbers}: every visit shows the peer's part of the score.")


def geometry(figures: Figures, party: str) -> Judgement:
    """Inner products from the history of scores."""
    if (reason := _without_residuals(figures, party)) is not None:
        return reason
    columns, visits, noise = figures.peer_columns(party), figures.visits, figures.noise_toward(party)
    numbers = f"{_numbers(figures, party)}; {visits} visits per row against {counted(columns, 'peer column')}"
    if visits <= columns:
        return not_applicable(f"{numbers}: too few to tell the peers' columns apart.")
    if _is_drowned(noise / math.sqrt(visits)):
        return blocked(f"{numbers}, but noise of {noise:.3g} is on each score.")
    is_plain = not noise and not figures.plan.row_norm
    if columns == 1 and visits >= FEW_EPOCHS and is_plain and _are_most_determined(figures, party):
        return Judgement(LEAKS, f"{numbers}: the peers' only column is its scores, up to one factor.")
    is_easy = columns <= WELL_CONDITIONED and visits >= LONG_HISTORY * columns and not figures.plan.row_norm
    if (
        noise
        or not is_easy
        or figures.longest_batch > figures.columns(party)
        or not _are_most_determined(figures, party)
    ):
        return Judgement(DEGRADES, f"{numbers}{_with(noise)}: the history is short, blurred or ill-conditioned.")
    return Judgement(LEAKS, f"{numbers}: all columns up to one rotation, which {columns} known rows fix.")


def single(figures: Figures, party: str) -> Judgement:
    """Ratios, merged over epochs, then the scale."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if (columns := figures.peer_columns(party)) != 1:
        return not_applicable(f"The peers have {columns} columns; ratios need exactly one (Theorem 3.6).")
    if figures.batch == 1:
        return not_applicable("A batch of one row has no ratios in it; feature-chain works there.")
    return _one_column(figures, party, "of which about 2 merge the ratios and one more fixes the scale")


def chain(figures: Figures, party: str) -> Judgement:
    """Each weight from the one before it, which needs no ratios."""
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if (columns := figures.peer_columns(party)) != 1:
        return not_applicable(f"The peers have {columns} columns; the chain needs exactly one (Theorem 3.6).")
    if figures.visits < 2:
        return not_applicable("One epoch only: no row comes back to tell the right first weight.")
    judgement = _one_column(figures, party, "of which the second tells the right first weight")
    # Real columns are rarely independent, and one batch with a rank too low breaks the chain; short rows hide its end.
    is_tight = CHAIN_ROOM * figures.longest_batch > figures.columns(party)
    if judgement.verdict == LEAKS and (is_tight or figures.plan.row_norm):
        return Judgement(DEGRADES, f"{judgement.why} A batch of {figures.longest_batch} rows may break the chain.")
    return judgement


def _one_column(figures: Figures, party: str, epochs: str) -> Judgement:
    if (reason := _without_residuals(figures, party)) is not None:
        return reason
    noise = figures.noise_toward(party)
    numbers = f"{_numbers(figures, party)}; {figures.visits} epochs, {epochs}"
    if _is_drowned(noise / math.sqrt(figures.visits)):
        return blocked(f"{numbers}; but noise of {noise:.3g} is on each score.")
    # A feature party must replay the label party's intercept, for which no residual may be missing.
    needs_all = figures.plan.intercept and party != figures.plan.label_party.name
    is_whole = figures.longest_batch <= figures.columns(party)
    sure = figures.visits >= FEW_EPOCHS and not noise and (is_whole if needs_all else True)
    return Judgement(LEAKS if sure and _are_most_determined(figures, party) else DEGRADES, f"{numbers}{_with(noise)}.")


def packing_for_scores(figures: Figures, party: str) -> Judgement:
    """Hidden values in replies, at the label party."""
    if (reason := without_replies(figures, party)) is not None:
        return reason
    if not figures.peers(party):
        return not_applicable("No peer has columns, so there are no scores to read.")
    room, noise = hidden_room(figures, party), figures.noise_toward(party)
    numbers = room.numbers[0].upper() + room.numbers[1:]
    if _is_drowned(noise):
        return blocked(f"{numbers}, but each has noise of {noise:.3g} on it.")
    is_longest_read = figures.readable_residuals(party) >= figures.longest_batch
    is_longest_rare = figures.longest_batch / figures.rows <= FEW
    is_sure = room.is_every_step and room.share == 1.0 and (is_longest_read or is_longest_rare) and not noise
    return Judgement(LEAKS if is_sure else DEGRADES, f"{numbers}{_with(noise)}.")


def steering(figures: Figures, party: str) -> Judgement:
    """Pushes on the peers' weights that stay below the limit of a step."""
    if (reason := _without_pushes(figures, party)) is not None:
        return reason
    people, width, noise = figures.steered_people(party), figures.peer_columns(party), figures.noise_toward(party)
    read = min(figures.steered_columns(party), width)
    numbers = (
        f"{party} can move its peers' weights by less than the limit of a step, and so read {people} chosen people's "
        f"values in {read} of {counted(width, 'column')}"
    )
    if _is_drowned(noise / math.sqrt(figures.visits)):
        return blocked(f"{numbers}, but noise of {noise:.3g} is on each residual.")
    if noise or people < FEW_PEOPLE or not _is_enough(figures, party, people, read) or not _is_steady(figures, party):
        how_well = "" if noise else ", nearly exactly by pushes close to that limit, by small ones less so"
        return Judgement(DEGRADES, f"{numbers}{_with(noise)}{how_well}.")
    return Judgement(LEAKS, f"{numbers}, nearly exactly.")


def _without_pushes(figures: Figures, party: str) -> Judgement | None:
    if not figures.sees_sums:
        return blocked("In shares nobody sees a residual, so a push shows nothing.")
    if not figures.plan.kind.is_encrypted:
        return not_applicable("clear is calculated in one place: no party could push another's weights.")
    if (reason := without_sums(figures, party)) is not None:
        return reason
    if not figures.peers(party):
        return not_applicable("No peer has columns.")
    if figures.passes < 2:
        return not_applicable("One epoch only: nobody comes back after a push.")
    return None


def _is_enough(figures: Figures, party: str, people: int, read: int) -> bool:
    """Columns, or with an arbiter inner products with people's rows, of which a rotation of them needs nearly all."""
    width = figures.peer_columns(party)
    if figures.plan.kind.has_arbiter:
        return read >= min(width, people)
    return read >= (1.0 if figures.plan.row_norm else ENOUGH_COLUMNS) * width


def _is_steady(figures: Figures, party: str) -> bool:
    """Whether pushes stand out from what training does: measured, not proved (docs/attacks.md)."""
    plan = figures.plan
    if plan.sigmoid != "taylor":
        return False
    if plan.batches == "full":
        return figures.is_still(party) or (len(plan.learners) == 2 and not plan.row_norm) or plan.kind.has_arbiter
    # In other batches the row that an arbiter's attacker pushes along is not there to be read.
    return plan.kind.lends_keys and figures.is_still(party)


def _without_residuals(figures: Figures, party: str) -> Judgement | None:
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


def _are_most_determined(figures: Figures, party: str) -> bool:
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


def _is_drowned(noise: float) -> bool:
    return noise > 10.0 * USUAL_SCORE


def _numbers(figures: Figures, party: str) -> str:
    rows, columns = figures.batch, figures.columns(party)
    if rows <= columns:
        return f"Batches of {counted(rows, 'row')} against {counted(columns, 'own column')} fix every residual"
    return (
        f"Batches of {counted(rows, 'row')} against {counted(columns, 'own column')} fix no residual in "
        "general, but that of a row which is alone in a category they do"
    )


def _with(noise: float) -> str:
    return f", with noise of {noise:.3g} on each score" if noise else ""
