"""`prediction-equations`: what the scores of rows give away to whoever sees them, for a number of scored rows.

A score is affine in a row's columns. The label party knows its own, so each score is an equation about the peers'
weights where it knows their columns of that row, and about the peers' columns where it knows the weights: equation
solving (Luo et al., Feature inference attack on model predictions in vertical federated learning, ICDE 2021).
"""

from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, finding
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.protocol.releases import scored_bits
from plumbob.record import Finding

RULE = AttackRule(
    name="prediction-equations",
    by="label",
    target="features",
    reference="Luo et al., ICDE 2021: equation solving",
    story=(
        "A score is a sum of columns times weights. Whoever knows a few rows solves for the weights, and each further "
        "score is then an equation about columns that nobody showed."
    ),
    stage="prediction",
)


def further(figures: Figures) -> Iterator[Finding]:
    """Findings of the label party, which sees scores, and of each feature party, which sees none."""
    if figures.scored < 1:
        return
    for party in figures.plan.feature_parties:
        if party.features:
            yield _weights(figures, party.name)
            yield _columns(figures, party.name)
        by = figures.spoken(party.name)
        why = f"{by} learns which of its rows are scored, when and how often, but no score and no label."
        yield finding(RULE, party.name, figures.plan.label_party.name, BLOCKED, why, target="labels")


def unknown_weights(plan: Plan) -> int:
    """How many numbers known rows must fix before a score says something about unknown ones, the offset included."""
    theirs = sum(party.features for party in plan.feature_parties)
    return (plan.columns if plan.is_closed else theirs) + 1


def _weights(figures: Figures, against: str) -> Finding:
    plan, scored = figures.plan, figures.scored
    needed = unknown_weights(plan)
    if scored < needed:
        why = f"{counted(scored, 'score')}: fewer equations than the {needed} unknown weights."
        return _by_label_party(plan, against, "weights", BLOCKED, why)
    why = (
        f"{counted(scored, 'score')}: if {figures.spoken(plan.label_party.name)} knows the columns of {needed} of "
        f"these rows from elsewhere, they give it the weights exactly. Fewer than {needed} rows never do."
    )
    return _by_label_party(plan, against, "weights", DEGRADES, why)


def _columns(figures: Figures, against: str) -> Finding:
    plan, scored = figures.plan, figures.scored
    theirs = sum(party.features for party in plan.feature_parties)
    if theirs == 1 and not plan.is_closed:
        why = (
            f"{figures.spoken(against)} has one column, and each score minus the asker's own part is that column times "
            "one number."
        )
        return _by_label_party(plan, against, "features", LEAKS, why)
    if scored < unknown_weights(plan):
        why = f"{counted(scored, 'score')} cannot fix the weights, and without these no score tells a column."
        return _by_label_party(plan, against, "features", BLOCKED, why)
    why = f"With the weights known, each score is one equation about {theirs} unknown columns of its row."
    if plan.is_closed:
        one, in_all = scored_bits(plan, 1), scored_bits(plan, scored)
        why += f" A score carries at most {one} bits, whatever anybody sends: {in_all:,} for {counted(scored, 'row')}."
    return _by_label_party(plan, against, "features", DEGRADES, why)


def _by_label_party(plan: Plan, against: str, target: str, verdict: str, why: str) -> Finding:
    # The most rows to answer so that not even known rows fix the weights.
    changes = {"most_rows": unknown_weights(plan) - 1} if verdict == DEGRADES else {}
    return finding(RULE, plan.label_party.name, against, verdict, why, changes, target)
