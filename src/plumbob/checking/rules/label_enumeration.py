"""The rule for `label-enumeration`: tries all labels of groups of similar rows."""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, not_applicable, without_sums

CLUSTERS = 8


def judge(figures: Figures, party: str) -> Judgement:
    """Judge whether trying labels finds which groups have which, as far as own columns make groups."""
    if figures.plan.start != "zero":
        return not_applicable("The start is not zero, so the first sums hold other parties' scores.")
    noise = figures.noise_toward(party)
    return degrades(
        f"{figures.spoken(party)} can give {CLUSTERS} groups of its rows all {2**CLUSTERS} combinations of labels, and "
        f"keep the one that fits its first sums{f', with noise of {noise:.3g} on each residual' if noise else ''}. It "
        "tells groups, not people; how much that is depends on its columns."
    )


RULE = AttackRule(
    name="label-enumeration",
    by="features",
    target="labels",
    reference="Jiang et al., arXiv 2603.03777",
    story=(
        "A feature party groups its rows by likeness, tries every way to give the groups labels, and keeps the one "
        "whose sums are the ones that it saw. It tells what groups have, not what single people have."
    ),
    unless=without_sums,
    judge=judge,
)
