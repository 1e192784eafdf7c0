"""What a party of `shares` reaches that runs other code, from a plan's widths.

It can put a number of any size on its share of one person's residual: by the share itself, by sines that are none, or
by a reply that is no product. The weights then hold that person's row, and the scores that are opened to the label
party show it. A score has a fixed number of bits. And however many are opened, they depend on each weight's share
modulo a fixed power of two only, so that this is all that a run can carry out about rows that are never scored.
"""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import Judgement, blocked, not_applicable
from plumbob.checking.verdict_words import DEGRADES, LEAKS
from plumbob.counting import counted
from plumbob.protocol.releases import scored_bits
from plumbob.protocol.shares.shape import LatticeShape


def in_scores(figures: Figures, party: str) -> Judgement:
    """What scores carry out where weights stay shared."""
    plan, scored = figures.plan, figures.scored
    if party != plan.label_party.name:
        return blocked(f"Nothing is opened to {party}: this way it can spoil the model, but learns nothing.")
    theirs = figures.peer_columns(party)
    if not scored or not theirs:
        return blocked(f"No row is scored for {party}: this way it can spoil the model, but learns nothing.")
    why = (
        f"{party} can put a number of any size on one person's residual, so that the shared weights hold that person's "
        f"row. {counted(scored, 'score')} then carry at most {scored_bits(plan, 1)} bits each about its peers' rows, "
        f"scored or not, and at most {bits_of_a_run(figures, party):,} in all about rows that are never scored"
    )
    noise = "; noise for rows does not cover residuals of any size" if plan.noise == "rows" else ""
    return Judgement(LEAKS if scored > theirs else DEGRADES, f"{why}{noise}.")


def bits_of_a_run(figures: Figures, party: str) -> int:
    """What any number of scores can depend on of the shared weights: a weight's width for each column, and one more."""
    return LatticeShape(figures.plan, figures.rows).input_bits * (figures.peer_columns(party) + 1)


def without_openings(figures: Figures, party: str) -> Judgement | None:
    """Where no weight is opened to this party."""
    if not figures.plan.kind.has_lattices:
        return not_applicable("There are no lattice products in this plan.")
    if figures.plan.is_closed:
        return in_scores(figures, party)
    if not figures.columns(party):
        return not_applicable(f"{party} has no columns, so no weight is opened to it.")
    return None
