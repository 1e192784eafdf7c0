"""The rule for `steering`: moves the peers' weights, and reads their columns in the scores that follow."""

import math
from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, degrades, leaks, not_applicable, without_sums
from plumbob.checking.rules.shared import is_drowned, with_noise
from plumbob.counting import counted

ENOUGH_COLUMNS, FEW_PEOPLE = 0.6, 3
"""The share of the peers' columns, and the people, from which on steering surely shows more than own columns do."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge pushes on the peers' weights that stay below the limit of a step."""
    people, width, noise = figures.steered_people(party), figures.peer_columns(party), figures.noise_toward(party)
    read = figures.steered_columns(party)
    numbers = (
        f"{figures.spoken(party)} can move its peers' weights by less than the limit of a step, and so read {people} "
        f"chosen people's values in {read} of {counted(width, 'column')}"
    )
    if is_drowned(noise / math.sqrt(figures.visits)):
        return blocked(f"{numbers}, but noise of {noise:.3g} is on each residual.")
    if noise or people < FEW_PEOPLE or not _is_enough(figures, party, people, read) or not _is_steady(figures, party):
        how_well = "" if noise else ", nearly exactly by pushes close to that limit, by small ones less so"
        return degrades(f"{numbers}{with_noise(noise)}{how_well}.")
    return leaks(f"{numbers}, nearly exactly.")


def _without_pushes(figures: Figures, party: str) -> Judgement | None:
    if not figures.sees_sums:
        return not_applicable("In shares nobody sees a residual, so a push shows nothing.")
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
    """Whether enough columns are read, or with an arbiter inner products, of which a rotation needs nearly all."""
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


STORY = (
    "{} adds a little to what its peers get, and so moves one of their weights. In the next {} it reads what that "
    "weight makes of single people: their values in that column. A limit on each step stops large moves; small ones "
    "look like training."
)
RULE = AttackRule(
    name="steering",
    by="label",
    target="features",
    reference="beyond the paper: nothing binds what a party adds to its peers' sums",
    story=STORY.format("The label party", "scores"),
    unless=_without_pushes,
    judge=judge,
    assumes="cheating",
)
RULES = (RULE, replace(RULE, by="features", story=STORY.format("A feature party", "residuals")))
