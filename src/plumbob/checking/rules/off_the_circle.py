"""The rule for `off-the-circle`: sines and cosines of no angle show a person's score in an opened weight."""

from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, leaks, not_applicable
from plumbob.checking.rules.shared import without_openings

FEW_PEOPLE = 3
"""Fewer scores than this say little in general, though much about those people."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge sines and cosines of no angle, so that a chosen person's score appears in an opened weight."""
    if figures.passes == 1 and figures.plan.start == "zero":
        return not_applicable("Weights are zero before the only pass, so that every score in it is zero.")
    people, bits = min(figures.columns(party), figures.rows), figures.opened_bits(party)
    numbers = (
        f"{figures.spoken(party)} can choose {people} of {figures.rows:,} people, send false sines and cosines for "
        f"them, and read their joint scores from its opened weights, which carry {bits} bits"
    )
    if figures.plan.noise == "rows":
        return degrades(f"{numbers}, noise included: the promise about rows covers no false messages.")
    if party != figures.plan.label_party.name:
        return degrades(f"{numbers}, each blurred by a label that it does not know.")
    if people < FEW_PEOPLE:
        return degrades(f"{numbers}: few people, but these nearly exactly.")
    return leaks(f"{numbers}. It spoils its own part of the model.")


RULE = AttackRule(
    name="off-the-circle",
    by="features",
    target="scores",
    reference="beyond the paper: nothing binds a party's sines and cosines to an angle",
    story=(
        "On shares, each party turns its share of a score into sines and cosines. One that falsifies them for a few "
        "people, and puts zeros into its columns for everybody else, finds their joint scores in the weights that are "
        "opened to it, or their rows in scores."
    ),
    unless=without_openings,
    judge=judge,
    assumes="cheating",
)
RULES = (RULE, replace(RULE, by="label"))
