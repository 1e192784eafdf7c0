"""What scores that are asked for after training give away: judged for a given number of predicted rows.

A score is affine in a row's columns. The label party knows its own, so each score is an equation about the peers'
weights where it knows their columns of that row, and about the peers' columns where it knows the weights: equation
solving (Luo et al., Feature inference attack on model predictions in vertical federated learning, ICDE 2021).
"""

from collections.abc import Iterator

from plumbob.checking.verdict_words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted
from plumbob.plan import Plan
from plumbob.protocol.openings import most_scored_rows
from plumbob.protocol.releases import scored_bits
from plumbob.record import Finding

ATTACK = "prediction-equations"
STORY = (
    "A score is a sum of columns times weights. Whoever knows a few rows solves for the weights, and each further "
    "score is then an equation about columns that nobody showed."
)
REFERENCE = "Luo et al., ICDE 2021: equation solving"
PREDICTION = "prediction"
ALTERED = "altered-shares"
ALTERED_STORY = (
    "When training ends, the label party supplies its share of the others' weights. If it shifts one of them, every "
    "score that it is shown later holds one chosen column of that person: as many bits as a score has, whatever it "
    "sends."
)
ALTERED_REFERENCE = "beyond the paper: a share is bound, but not proved right"


def prediction_findings(plan: Plan, predicted: int) -> Iterator[Finding]:
    """By the label party, which sees scores, and by each feature party, which sees none."""
    if predicted < 1:
        return
    for party in plan.feature_parties:
        if party.features:
            yield _weights(plan, party.name, predicted)
            yield _columns(plan, party.name, predicted)
        if party.features and _is_shared(plan):
            yield _altered_shares_finding(plan, party.name, predicted)
        yield _by_feature_party(plan, party.name, predicted)


def unknown_weights(plan: Plan) -> int:
    """Numbers that known rows must fix before a score says something about unknown ones; an offset is among them."""
    theirs = sum(party.features for party in plan.feature_parties)
    return (plan.columns if _is_shared(plan) else theirs) + 1


def recommended_rows(plan: Plan) -> int:
    """The most rows to answer with which not even known rows fix the weights."""
    return unknown_weights(plan) - 1


def answered_rows(plan: Plan, asked: int, trained: int = 0) -> int:
    """What the plan's limit leaves of the rows that somebody asks for."""
    limit = most_scored_rows(plan, trained)
    return min(asked, limit) if limit else asked


def _is_shared(plan: Plan) -> bool:
    return plan.is_closed


def _weights(plan: Plan, against: str, predicted: int) -> Finding:
    needed = unknown_weights(plan)
    if predicted < needed:
        why = f"{counted(predicted, 'score')}: fewer equations than the {needed} unknown weights."
        return _finding(plan, against, "weights", BLOCKED, why)
    why = (
        f"{counted(predicted, 'score')}: if {plan.label_party.name} knows the columns of {needed} of these rows from "
        f"elsewhere, they give it the weights exactly. Fewer than {needed} rows never do."
    )
    return _finding(plan, against, "weights", DEGRADES, why)


def _columns(plan: Plan, against: str, predicted: int) -> Finding:
    theirs = sum(party.features for party in plan.feature_parties)
    if theirs == 1 and not _is_shared(plan):
        why = f"{against} has one column, and each score less the asker's own part is that column times one number."
        return _finding(plan, against, "features", LEAKS, why)
    if predicted < unknown_weights(plan):
        why = f"{counted(predicted, 'score')} cannot fix the weights, and without these no score tells a column."
        return _finding(plan, against, "features", BLOCKED, why)
    why = f"With the weights known, each score is one equation about {theirs} unknown columns of its row."
    if _is_shared(plan):
        one, in_all = scored_bits(plan, 1), scored_bits(plan, predicted)
        why += (
            f" A score carries at most {one} bits, whatever anybody sends: {in_all:,} for {counted(predicted, 'row')}."
        )
    return _finding(plan, against, "features", DEGRADES, why)


def _altered_shares_finding(plan: Plan, against: str, predicted: int) -> Finding:
    """One column of those that the party has, nearly exactly in every score."""
    label, columns = plan.label_party.name, plan.party(against).features
    why = (
        f"If {label} breaks the protocol when training ends and shifts its share of one weight, each score "
        f"(here {predicted:,}) shows it {_one_of(columns)} of {against} instead: at most {scored_bits(plan, 1)} bits "
        "per score."
    )
    about = ("features", LEAKS, why, ALTERED_REFERENCE, "")
    return Finding(ALTERED, label, against, *about, stage=PREDICTION, assumes="cheating")


def _one_of(columns: int) -> str:
    return "the only column" if columns == 1 else f"one of the {columns} columns"


def _by_feature_party(plan: Plan, by: str, predicted: int) -> Finding:
    why = f"{by} learns which of its rows are scored, when and how often, but no score and no label."
    return Finding(ATTACK, by, plan.label_party.name, "labels", BLOCKED, why, REFERENCE, "", stage=PREDICTION)


def _finding(plan: Plan, against: str, target: str, verdict: str, why: str) -> Finding:
    fix = f"--most-rows {recommended_rows(plan)}" if verdict == DEGRADES else ""
    return Finding(ATTACK, plan.label_party.name, against, target, verdict, why, REFERENCE, fix, stage=PREDICTION)
