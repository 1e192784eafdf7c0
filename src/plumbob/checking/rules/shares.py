"""Readings that `shares` allows to a party with other software: false shares, false residuals, and masks.

A party can put a number of any size on its share of one person's residual: by the share itself, by sines that are none,
or by a reply that is no product. The weights then hold that person's row, and the scores that are opened to the label
party show it. A score has a fixed number of bits. However many are opened, they depend on each weight's share modulo a
fixed power of two only, so that this is all that a run can carry out about rows that are never scored.

Between two parties nothing is opened in training. Among more, products are lifted behind masks (docs/lattice.md): the
label party sees c = x + masks, modulo m. An honest x is far smaller than the masks, but nothing binds how large x is: a
label party that scales its own factor up sees the leading bits of x. The masks have M bits each, so c tells at most
log2(m) - M bits about x, whatever anybody sends. In every pass these are the sums for all columns and, for each row,
one number (from five parties on sixteen more for each party beyond four).
"""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.predictions import one_persons_row
from plumbob.checking.rules.remedies import true_messages, without_gradients
from plumbob.checking.rules.rule import Judged, Rule
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted
from plumbob.plan import in_words
from plumbob.protocol.openings import scored_bits
from plumbob.protocol.shares.shape import RunShape

FEW_PEOPLE = 3
"""Fewer scores than this say little in general, though much about those people."""
FALSE_RESIDUAL, MASKED_SHARES = "false-residual", "masked-shares"


def altered_share(figures: Figures, by: str) -> Judged | None:
    """Judge a label party that shifts its share of one weight, and so reads one column in every score."""
    plan, scored = figures.plan, figures.scored
    if not plan.is_closed or not scored or not figures.peers(by):
        return None
    which = "the only column" if figures.peer_columns(by) == 1 else "one of the columns"
    why = (
        f"If {figures.spoken(by)} breaks the protocol when training ends and shifts its share of one weight, each "
        f"score (here {scored:,}) shows it {which} of that weight's owner instead: at most {scored_bits(plan, 1)} bits "
        "per score."
    )
    can = f"read one of {{whose}} columns for {figures.scored_people}, by false messages"
    return Judged(LEAKS, can, why, true_messages(plan))


def false_residual(figures: Figures, by: str) -> Judged | None:
    """Judge what scores carry out where weights stay shared."""
    plan, scored, theirs = figures.plan, figures.scored, figures.peer_columns(by)
    if not plan.kind.has_lattices or not plan.is_closed or not theirs:
        return None
    can = one_persons_row(figures, by, "by false messages")
    if not scored:
        why = f"No row is scored for {figures.spoken(by)}: this way it can spoil the model, but learns nothing."
        return Judged(BLOCKED, can, why)
    why = (
        f"{figures.spoken(by)} can put a number of any size on one person's residual, so that the shared weights hold "
        f"that person's row. {counted(scored, 'score')} then carry at most {scored_bits(plan, 1)} bits each about its "
        f"peers' rows, scored or not, and at most {_bits_of_a_run(figures, by):,} in all about rows that are never "
        f"scored{'; noise for rows does not cover residuals of any size' if plan.noise == 'rows' else ''}."
    )
    return Judged(LEAKS if scored > theirs else DEGRADES, can, why, true_messages(plan))


def false_sines(figures: Figures, by: str) -> Judged | None:
    """Judge sines and cosines of no angle, so that a chosen person's score appears in an opened weight."""
    plan = figures.plan
    if not plan.kind.has_lattices or plan.is_closed or not figures.columns(by):
        return None
    if figures.passes == 1 and plan.start == "zero":
        # Weights are zero before the only pass, so that every score in it is zero.
        return None
    people, bits = min(figures.columns(by), figures.rows), figures.opened_bits(by)
    can = f"read the joint scores of {counted(people, 'person', 'people')} of its choice"
    numbers = (
        f"{figures.spoken(by)} can choose {people} of {figures.rows:,} people, send false sines and cosines for them, "
        f"and read their joint scores from its opened weights, which carry {bits} bits"
    )
    fix = true_messages(plan)
    if plan.noise == "rows":
        return Judged(
            DEGRADES, can, f"{numbers}, noise included: the promise about rows covers no false messages.", fix
        )
    if by != plan.label_party.name:
        return Judged(DEGRADES, can, f"{numbers}, each blurred by a label that it does not know.", fix)
    if people < FEW_PEOPLE:
        return Judged(DEGRADES, can, f"{numbers}: few people, but these nearly exactly.", fix)
    return Judged(LEAKS, can, f"{numbers}. It spoils its own part of the model.", fix)


def masked_numbers(figures: Figures, by: str) -> Judged | None:
    """Judge the numbers that are opened behind masks among three or more parties."""
    plan = figures.whole_plan
    if not plan.kind.has_lattices or plan.is_between_two or not figures.peers(by):
        return None
    shape = RunShape(plan, figures.rows)
    why = (
        f"{figures.spoken(by)} sees {shape.masked_numbers:,} masked numbers in a pass over all {figures.rows:,} rows "
        f"({in_words(figures.levels)}). If it moves shared weights or scales what the masks hide, it reads up to "
        f"{shape.most_bits_behind_a_mask} bits of each number: about one column, or one person's columns, per pass, "
        "and spoils the model. Nothing limits either what a party that answers with garbage reads. This is calculated, "
        "and was not tried."
    )
    passes = counted(figures.passes, "pass", "passes")
    can = f"read roughly one of {{whose}} columns, or one person's columns, in each of {passes} over the rows"
    return Judged(LEAKS, can, why, true_messages(plan) if plan.is_closed else {})


def chosen_rows(figures: Figures, by: str) -> Judged | None:
    """Judge a party that puts zeros into all rows but its targets', and reads their labels from its opened weights."""
    plan = figures.plan
    if not plan.kind.has_lattices or plan.is_closed or not figures.columns(by):
        return None
    readable = figures.labels_in_opened_weights(by)
    can = f"read the labels of {counted(readable, 'person', 'people')} of its choice"
    if bound := figures.bound_on_opened_labels:
        # Noise for rows hides nobody from a party that exceeds its norm bound.
        return Judged(DEGRADES if plan.noise == "rows" else BLOCKED, can, bound, without_gradients(plan))
    is_one = readable <= figures.columns(by) * figures.runs
    per_column = "one per column" if is_one else "several per column, because weights start at 0"
    sends = "Whatever it sends" if figures.is_between_two else "If it keeps to the protocol otherwise"
    why = (
        f"{figures.spoken(by)} can choose {readable} of {figures.rows:,} people and read their labels from its opened "
        f"weights ({per_column}){figures.flips_in_words}. {sends}, its opened weights carry at most "
        f"{figures.opened_bits(by)} bits."
    )
    return Judged(LEAKS, can, why, without_gradients(plan))


def _bits_of_a_run(figures: Figures, by: str) -> int:
    """How many bits of the shared weights scores can depend on: a weight's width for each column, and one more."""
    return RunShape(figures.whole_plan, figures.rows).input_bits * (figures.peer_columns(by) + 1)


RULES = (
    Rule(
        {"altered-shares": "beyond the paper: a share is bound, but not proved right"},
        "label",
        "features",
        altered_share,
        assumes="cheating",
        stage="prediction",
        is_floor=True,
    ),
    Rule(
        {FALSE_RESIDUAL: "Jagielski et al., eprint 2025/906: erased and shifted residuals; docs/attacks.md"},
        "label",
        "features",
        false_residual,
        assumes="cheating",
        is_floor=True,
    ),
    *(
        Rule(
            {FALSE_RESIDUAL: "beyond the paper: nothing binds a party's sines and cosines to an angle"},
            role,
            "scores",
            false_sines,
            assumes="cheating",
        )
        for role in ("features", "label")
    ),
    Rule(
        {MASKED_SHARES: "docs/lattice.md, three and more parties: claims 1 and 3"},
        "label",
        "features",
        masked_numbers,
        assumes="cheating",
    ),
    Rule(
        {"label-chosen-rows": "beyond the paper: chosen inputs"},
        "features",
        "labels",
        chosen_rows,
        assumes="cheating",
        leaves_trace=False,
    ),
)
