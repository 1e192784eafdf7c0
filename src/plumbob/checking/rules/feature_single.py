"""The rule for `feature-single`: one column of the peers, read value by value."""

from dataclasses import replace

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, not_applicable, without_sums
from plumbob.checking.rules.shared import one_column


def judge(figures: Figures, party: str) -> Judgement:
    """Judge ratios that are merged over epochs, then the scale."""
    if (columns := figures.peer_columns(party)) != 1:
        return not_applicable(f"The peers have {columns} columns; ratios need exactly one (Theorem 3.6).")
    if figures.batch == 1:
        return not_applicable("A batch of one row has no ratios in it; feature-chain works there.")
    return one_column(figures, party, "of which about 2 merge the ratios and one more fixes the scale")


RULE = AttackRule(
    name="feature-single",
    by="label",
    target="features",
    reference="Theorem 3.5",
    story=(
        "Within a batch the peer's scores are its only column times one number, so they give ratios between people, "
        "and batches that share people join the ratios. How the scores move from one epoch to the next gives the scale."
    ),
    unless=without_sums,
    judge=judge,
)
REVERSED = "Once a feature party has read the labels, the label party's only column is open to the same attack."
RULES = (RULE, replace(RULE, by="features", reference="Remark 4.9", story=f"{REVERSED} {RULE.story}"))
