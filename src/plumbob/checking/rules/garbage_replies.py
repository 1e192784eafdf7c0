"""The rule for `garbage-replies`: replies that are no products bring out a peer's key in opened weights."""

import math
from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, degrades
from plumbob.checking.rules.shared import without_openings
from plumbob.protocol.openings import WEIGHTS
from plumbob.protocol.shares.shape import LatticeShape

DIGITS = 15
"""How many coefficients of a key, each -1, 0 or 1, one opened weight carries out."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge replies that are no products, so that a peer's key appears in opened weights."""
    columns, bits = figures.columns(party), figures.opened_bits(party)
    if not figures.is_between_two:
        return degrades(
            f"Three or more parties must keep to the protocol: beyond the {bits} bits opened to "
            f"{figures.spoken(party)}, nothing limits what a party that answers with garbage can read."
        )
    gradients = LatticeShape(figures.plan, figures.rows).sets_for(party)[1]
    known = min(columns * DIGITS, gradients.degree)
    return blocked(
        f"The {columns} opened weights of {figures.spoken(party)}, {WEIGHTS.bits} bits each, can show "
        f"{math.ceil(known * math.log2(3))} bits of a peer's key: {known} of its {gradients.degree} coefficients. The "
        f"key withstands the loss of {gradients.most_opened_bits} bits, so no residual and no "
        "label is read; the model is spoilt."
    )


RULE = AttackRule(
    name="garbage-replies",
    by="features",
    target="labels",
    reference="beyond the paper: a reply need not be a product",
    story=(
        "A party that answers with garbage instead of a product makes its peer open a piece of the peer's own key, or "
        "moves one person's residual. With a whole key it would read every residual of one pass; between two parties "
        "the parameters are chosen so that what is opened never holds enough of it."
    ),
    unless=without_openings,
    judge=judge,
    assumes="cheating",
)
RULES = (RULE, replace(RULE, by="label", target="scores"))
