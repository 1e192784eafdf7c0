"""Readings that replies allow to a cheating party of `exchange` or `arbiter`: packed values, pushes, chosen rows.

A helper decrypts sums and hands them back. A reply has room for more than the sum that was agreed (section 5.2).
Nothing binds either what a party adds to its peers' sums, or which rows it multiplies with.
"""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.rules.gradients import (
    FEW,
    FEW_EPOCHS,
    RowByRow,
    is_drowned,
    with_noise,
)
from plumbob.checking.rules.remedies import without_gradients
from plumbob.checking.rules.rule import Judged, Rule
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted, percent

ENOUGH_COLUMNS, FEW_PEOPLE = 0.6, 3
"""The share of the peers' columns, and the people, from which on steering surely shows more than own columns do."""
RARER, IF_EXACT = 4, 2
"""How many chosen people make one of a sample of labels: the rarer class is one in four; less where all are exact."""


def packed_labels(figures: Figures, by: str) -> Judged | None:
    """Judge what a feature party reads by hiding values in its replies."""
    if not _hands_sums_back(figures, by):
        return None
    share, is_every_step, numbers = _room(figures, by)
    is_exact = not is_every_step and figures.plan.start == "zero" and not figures.noise_toward(by)
    visits = figures.passes if is_every_step and figures.is_noisy else 1
    read = RowByRow(figures, by, share, visits, is_exact=is_exact)
    why = f"{numbers}; about {percent(read.right)} of the labels that are read come out right."
    return Judged(read.verdict, f"read the labels of {figures.people}", why, _cut_replies(figures))


def packed_scores(figures: Figures, by: str) -> Judged | None:
    """Judge what the label party reads by hiding values in its replies."""
    if not _hands_sums_back(figures, by) or not figures.peers(by):
        return None
    can = f"read {{whose}} part of the score of {figures.people}"
    (share, is_every_step, numbers), noise = _room(figures, by), figures.noise_toward(by)
    if is_drowned(figures, by, noise / math.sqrt(figures.visits if is_every_step else 1)):
        return Judged(BLOCKED, can, f"{numbers}, but each has noise of {noise:.3g} on it.")
    is_longest_read = figures.readable_residuals(by) >= figures.longest_batch
    is_longest_rare = figures.longest_batch / figures.rows <= FEW
    is_sure = is_every_step and share == 1.0 and (is_longest_read or is_longest_rare) and not noise
    return Judged(LEAKS if is_sure else DEGRADES, can, f"{numbers}{with_noise(noise)}.", _cut_replies(figures))


def packed_column(figures: Figures, by: str) -> Judged | None:
    """Judge what follows from the scores of a peer's only column: ratios within batches, merged over visits."""
    if (
        not _hands_sums_back(figures, by)
        or figures.peer_columns(by) != 1
        or (figures.batch == 1 and figures.passes < 2)
    ):
        return None
    can = f"read {{whose}} only column for {figures.people}"
    (share, is_every_step, numbers), noise = _room(figures, by), figures.noise_toward(by)
    why = f"{numbers}, in {counted(figures.visits, 'visit')}{with_noise(noise)}"
    if is_drowned(figures, by, noise / math.sqrt(figures.visits)):
        return Judged(BLOCKED, can, f"{why}.")
    # As from scores that are solved for: two visits merge the ratios, and a third fixes the scale.
    is_sure = is_every_step and share == 1.0 and not noise and figures.visits >= FEW_EPOCHS
    return Judged(LEAKS if is_sure else DEGRADES, can, f"{why}.", _cut_replies(figures))


def pushes(figures: Figures, by: str) -> Judged | None:
    """Judge pushes on the peers' weights that stay below the limit of a step."""
    if not figures.sees_sums or not figures.plan.kind.is_encrypted or not figures.columns(by):
        return None
    if not figures.peers(by) or figures.passes < 2:
        # In one epoch nobody comes back after a push.
        return None
    people, width, noise = figures.steered_people(by), figures.peer_columns(by), figures.noise_toward(by)
    read = figures.steered_columns(by)
    shown = max(1, read)
    which = f"{shown} of {{whose}} columns" if shown < width else "{whose} only column" if width == 1 else ""
    can = f"read {which or f'all {width} of {{whose}} columns'} for {counted(people, 'person', 'people')} of its choice"
    numbers = (
        f"{figures.spoken(by)} can move its peers' weights by less than the limit of a step, and so read {people} "
        f"chosen people's values in {read} of {counted(width, 'column')}"
    )
    if is_drowned(figures, by, noise / math.sqrt(figures.visits)):
        return Judged(BLOCKED, can, f"{numbers}, but noise of {noise:.3g} is on each residual.")
    fix = without_gradients(figures.plan)
    if noise or people < FEW_PEOPLE or not _is_enough(figures, by, people, read) or not _is_steady(figures, by):
        how_well = "" if noise else ", nearly exactly by pushes close to that limit, by small ones less so"
        return Judged(DEGRADES, can, f"{numbers}{with_noise(noise)}{how_well}.", fix)
    return Judged(LEAKS, can, f"{numbers}, nearly exactly.", fix)


def chosen_rows(figures: Figures, by: str) -> Judged | None:
    """Judge a party that puts zeros into all rows but those of its targets, and so chooses whose labels it reads."""
    plan, columns = figures.plan, figures.columns(by)
    if not figures.sees_sums or not plan.kind.is_encrypted or not columns:
        return None
    steps = figures.steps * figures.runs
    each, in_all = min(columns, figures.batch), min(columns * steps, figures.rows)
    numbers = (
        f"It reads the residuals of {counted(each, 'chosen person', 'chosen people')} per step at any batch size, "
        f"{counted(in_all, 'person', 'people')} in {counted(steps, 'step')}"
    )
    if figures.is_noisy:
        read = RowByRow(figures, by, visits=figures.visits, people=max(1, columns // RARER))
        numbers += f", each under noise of {figures.noise_toward(by):.3g} per visit"
    elif plan.start == "zero" or (plan.kind.lends_keys and figures.has_labels_alone):
        bits = min(figures.slot_bits - plan.residual_bits - 2, 60)
        readable = min(figures.batch, columns * bits)
        numbers += f"; columns of powers of two read {readable} of {figures.batch:,} labels in the first step alone"
        people = max(1, max(readable, columns) // IF_EXACT)
        read = RowByRow(figures, by, people=people, is_exact=True)
    else:
        read = RowByRow(figures, by, people=max(1, columns // RARER))
    return Judged(
        read.verdict, f"read labels of its choice, up to {each:,} per step", f"{numbers}.", without_gradients(plan)
    )


def _hands_sums_back(figures: Figures, by: str) -> bool:
    """Whether somebody hands opened sums back, which hidden values need, and no arbiter sees what is hidden."""
    plan = figures.plan
    is_masked = not plan.unmasked_gradients_for_the_arbiter
    return figures.sees_sums and plan.kind.is_encrypted and is_masked and bool(figures.columns(by))


def _room(figures: Figures, by: str) -> tuple[float, bool, str]:
    """What replies have room for: the share of rows read at least once, whether in every step, and a sentence."""
    readable, rows = figures.readable_residuals(by), figures.batch
    bits, sums = sum(figures.reply_widths(by)), counted(figures.columns(by), "sum")
    room = f"{counted(readable, 'residual')} of {counted(rows, 'row')}"
    numbers = f"Replies of {bits:,} bits per step, meant for {sums}, have room for {room}"
    if figures.plan.replies == "paper":
        return min(1.0, readable / rows), True, numbers
    if readable < rows:
        # It gives up a step's gradient for that, and so does it once.
        return min(readable, rows) / figures.rows, False, numbers
    in_longest = figures.longest_batch / figures.rows if figures.longest_batch > readable else 0.0
    comes_back = figures.plan.batches == "reshuffled" and figures.visits > 1
    return 1.0 if comes_back else 1.0 - in_longest, True, numbers


def _cut_replies(figures: Figures) -> dict[str, object]:
    return {"replies": "packed"} if figures.plan.replies == "paper" else without_gradients(figures.plan)


def _is_enough(figures: Figures, by: str, people: int, read: int) -> bool:
    """Whether enough columns are read, or with an arbiter inner products, of which a rotation needs nearly all."""
    width = figures.peer_columns(by)
    if figures.plan.kind.has_arbiter:
        return read >= min(width, people)
    return read >= (1.0 if figures.plan.row_norm else ENOUGH_COLUMNS) * width


def _is_steady(figures: Figures, by: str) -> bool:
    """Whether pushes stand out from what training does: measured, not proved (docs/attacks.md)."""
    plan = figures.plan
    if plan.sigmoid != "taylor":
        return False
    if plan.batches == "full":
        return figures.is_still(by) or (len(plan.learners) == 2 and not plan.row_norm) or plan.kind.has_arbiter
    # In other batches the row that an arbiter's attacker pushes along is not there to be read.
    return plan.kind.lends_keys and figures.is_still(by)


PACKING = {"packing": "Section 5.2, Algorithm 2"}
STEERING = {"steering": "beyond the paper: nothing binds what a party adds to its peers' sums"}
RULES = (
    Rule(PACKING, "features", "labels", packed_labels, assumes="cheating"),
    Rule(PACKING, "label", "scores", packed_scores, assumes="cheating"),
    Rule(PACKING, "label", "features", packed_column, assumes="cheating"),
    Rule(STEERING, "label", "features", pushes, assumes="cheating"),
    Rule(STEERING, "features", "features", pushes, assumes="cheating"),
    Rule(
        {"label-chosen-rows": "beyond the paper: chosen inputs"},
        "features",
        "labels",
        chosen_rows,
        assumes="cheating",
        leaves_trace=False,
    ),
)
