"""The rule for `altered-shares`: a label party shifts the share that it supplies when training ends."""

from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, finding
from plumbob.checking.words import LEAKS
from plumbob.protocol.releases import scored_bits
from plumbob.record import Finding

RULE = AttackRule(
    name="altered-shares",
    by="label",
    target="features",
    reference="beyond the paper: a share is bound, but not proved right",
    story=(
        "When training ends, the label party supplies its share of the others' weights. If it shifts one of them, "
        "every score that it is shown later holds one chosen column of that person: as many bits as a score has, "
        "whatever it sends."
    ),
    assumes="cheating",
    stage="prediction",
)


def further(figures: Figures) -> Iterator[Finding]:
    """Findings of a label party that reads one column per party, nearly exactly in every score opened from shares."""
    plan, scored = figures.plan, figures.scored
    label, spoken = plan.label_party.name, figures.spoken
    if not plan.is_closed or not scored:
        return
    for party in plan.feature_parties:
        if party.features:
            column = "the only column" if party.features == 1 else f"one of the {party.features} columns"
            why = (
                f"If {spoken(label)} breaks the protocol when training ends and shifts its share of one weight, each "
                f"score (here {scored:,}) shows it {column} of {spoken(party.name)} instead: at most "
                f"{scored_bits(plan, 1)} bits per score."
            )
            yield finding(RULE, label, party.name, LEAKS, why)
