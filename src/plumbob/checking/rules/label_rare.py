"""The rule for `label-rare`: decodes which few rows of a batch are in the rarer class.

To say which rows of a batch these are takes as many bits as there are ways to choose them. A step tells, for each own
column, as many bits as the sum of these rows stands out from what blurs it: noise, and the other parties' scores. All
visits to a row add up.
"""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, blocked, degrades, leaks, not_applicable, without_sums
from plumbob.counting import counted, percent

RARE = 0.25
"""The share of positives above which neither class is called rare."""
ASSUMED_SHARES = (0.001, 0.003, 0.01, 0.03)
"""Shares of positives that are tried where nobody says which it is."""
ENOUGH, TOO_LITTLE = 2.5, 0.1
"""Bits for each bit that is needed, from which on the rows are surely found, and below which noise hides them."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge the bits that all sums say against those that the choice of a few rows needs."""
    if figures.plan.weighs_rows:
        return not_applicable("Weights multiply each residual with a factor that only the label party knows.")
    if figures.positives is None:
        most = max(ASSUMED_SHARES, key=lambda share: bits_for_each_needed(figures, party, share))
        ratio = bits_for_each_needed(figures, party, most)
        numbers = f"{_numbers(figures, party, most)}, if {percent(most)} of the labels are positive"
        return (
            degrades(f"{numbers}. --positives says how rare they are.")
            if ratio >= TOO_LITTLE or not figures.noise_toward(party)
            else blocked(f"{numbers}.")
        )
    share = min(figures.positives, 1.0 - figures.positives)
    if not share:
        return not_applicable("All labels are equal.")
    if share > RARE:
        return not_applicable(f"{percent(share)} of the labels are in the smaller class, which is not rare.")
    ratio = bits_for_each_needed(figures, party, share)
    numbers = f"{_numbers(figures, party, share)}: {percent(share)} of the labels are in the rarer class."
    if ratio >= ENOUGH:
        return leaks(numbers)
    # What columns say about labels in general needs fewer bits, and only noise hides it.
    return degrades(numbers) if ratio >= TOO_LITTLE or not figures.noise_toward(party) else blocked(numbers)


def bits_for_each_needed(figures: Figures, party: str, share: float) -> float:
    """How many bits the sums of all visits say for each bit that the choice of the rarer rows needs."""
    return said_bits(figures, party, share) / needed_bits(figures, share)


def needed_bits(figures: Figures, share: float) -> float:
    """The bits of which rows of a batch are in the rarer class, after labels were turned over at random."""
    seen = figures.flipped + (1.0 - 2.0 * figures.flipped) * share
    return -figures.batch * (seen * math.log2(seen) + (1.0 - seen) * math.log2(1.0 - seen))


def said_bits(figures: Figures, party: str, share: float) -> float:
    """The bits that a batch's sums say about this choice, in all visits that are in freshly shuffled batches."""
    blur = math.hypot(
        figures.noise_toward(party), figures.peer_spread(party, figures.growth), 2.0**-figures.plan.residual_bits
    )
    power = share * (1.0 - share) * (2.0 * figures.label_signal / blur) ** 2
    own = max(0, figures.rank(party) - (1 if figures.plan.intercept else 0))
    return figures.fresh_visits * own * 0.5 * math.log2(1.0 + power)


def _numbers(figures: Figures, party: str, share: float) -> str:
    said, needed = said_bits(figures, party, share), needed_bits(figures, share)
    return (
        f"The sums of {counted(figures.fresh_visits, 'visit')} in fresh batches say about {said:,.3g} bits, where "
        f"naming the positives of a batch of {counted(figures.batch, 'row')} takes {needed:,.3g}"
    )


RULE = AttackRule(
    name="label-rare",
    by="features",
    target="labels",
    reference="beyond the paper: sparse decoding",
    story=(
        "Where few people have label 1, a sum is a known number less a multiple of the sum of these few people's rows. "
        "Which people they are is found from far fewer equations than people, like a short list of items from a total."
    ),
    unless=without_sums,
    judge=judge,
)
