"""What a party reaches that breaks the protocol of `shares` by lattices, from a plan's figures.

It can spoil the model, and nobody sees it. What it learns is in the numbers that are opened to it, and these have a
fixed number of bits each.
"""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.rules import Judgement, blocked, not_applicable
from plumbob.checking.verdict_words import DEGRADES, LEAKS
from plumbob.protocol.lattice_sets import LatticeShape
from plumbob.protocol.openings import WEIGHTS

DIGITS = 15
"""Coefficients of a key, each -1, 0 or 1, that one opened weight carries out."""
FEW_PEOPLE = 3
"""Fewer scores than these say little in general, though much about those people."""


def off_the_circle(figures: Figures, party: str) -> Judgement:
    """Sines and cosines of no angle, so that a chosen person's score stands in an opened weight."""
    shown = "falsified sines stick out of the masks as a scaled factor does (masked-shares)"
    if (reason := _without_openings(figures, party, shown)) is not None:
        return reason
    people, bits = min(figures.columns(party), figures.rows), figures.opened_bits(party)
    numbers = (
        f"{party} can choose {people} of {figures.rows} people, falsify its sines for them, and read their joint "
        f"scores from its opened weights, which carry {bits} bits"
    )
    if figures.plan.noise == "rows":
        return Judgement(DEGRADES, f"{numbers}, noise included: the promise about rows covers no falsified sines.")
    if party != figures.plan.label_party.name:
        return Judgement(DEGRADES, f"{numbers}, each blurred by a label that it does not know.")
    if people < FEW_PEOPLE:
        return Judgement(DEGRADES, f"{numbers}: few people, but these nearly exactly.")
    return Judgement(LEAKS, f"{numbers}. It spoils its own part of the model.")


def garbage_replies(figures: Figures, party: str) -> Judgement:
    """Replies that are no products, so that a peer's key stands in opened weights."""
    columns = figures.columns(party)
    shown = f"garbage in its replies shows it about {columns} coefficients of a peer's key per pass; the key stands"
    if (reason := _without_openings(figures, party, shown)) is not None:
        return reason
    bits = figures.opened_bits(party)
    if not figures.is_between_two:
        return Judgement(
            DEGRADES,
            f"Three or more parties must keep to the protocol: beyond the {bits} bits opened to {party}, nothing "
            "limits what a party that answers with garbage can read.",
        )
    gradients = LatticeShape(figures.plan, figures.rows).sets_for(party)[1]
    known = min(columns * DIGITS, gradients.degree)
    return blocked(
        f"The {columns} opened weights of {party}, {WEIGHTS.bits} bits each, can show "
        f"{math.ceil(known * math.log2(3))} bits of a peer's key: {known} of its {gradients.degree} coefficients. The "
        f"key withstands the loss of {gradients.most_opened_bits} bits, so no residual and no "
        "label is read; the model is spoilt."
    )


def _without_openings(figures: Figures, party: str, shown_behind_masks: str) -> Judgement | None:
    """Where no weight is opened. Among three or more, the label party still sees masked numbers."""
    plan = figures.plan
    if not plan.kind.has_lattices:
        return not_applicable("There are no lattice products in this plan.")
    if plan.is_closed and not figures.is_between_two and party == plan.label_party.name:
        return Judgement(
            DEGRADES, f"No weight is opened, but {party} adds up numbers behind masks: {shown_behind_masks}."
        )
    if plan.is_closed:
        return blocked(f"No weight is opened to {party}: this way it can spoil the model, but learns nothing.")
    if not figures.columns(party):
        return not_applicable(f"{party} has no columns, so no weight is opened to it.")
    return None
