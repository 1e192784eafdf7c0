"""The rule for `feature-chain`: one column of the peers, read from batches that share no rows."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, not_applicable, without_sums
from plumbob.checking.rules.shared import one_column
from plumbob.checking.words import LEAKS

CHAIN_ROOM = 2
"""Own columns per row of the longest batch with which every batch has full rank, redundant columns or not."""


def judge(figures: Figures, party: str) -> Judgement:
    """Judge how far each weight follows from the one before it, which needs no ratios."""
    if (columns := figures.peer_columns(party)) != 1:
        return not_applicable(f"The peers have {columns} columns; the chain needs exactly one (Theorem 3.6).")
    if figures.visits < 2:
        return not_applicable("One epoch only: no row comes back to tell the right first weight.")
    judgement = one_column(figures, party, "of which the second tells the right first weight")
    # Real columns are rarely independent, and one batch with a rank too low breaks the chain; short rows hide its end.
    is_tight = CHAIN_ROOM * figures.longest_batch > figures.columns(party)
    if judgement.verdict == LEAKS and (is_tight or figures.plan.row_norm):
        return degrades(f"{judgement.why} A batch of {figures.longest_batch} rows may break the chain.")
    return judgement


RULE = AttackRule(
    name="feature-chain",
    by="label",
    target="features",
    reference="beyond the paper: batches without ratios",
    story=(
        "Each step moves the peer's only weight by an amount that its own scores give away, so one guessed "
        "number unrolls the whole training. Only the right guess gives a person the same value in two epochs."
    ),
    unless=without_sums,
    judge=judge,
)
