"""Readings that scores allow, with honest messages: equations about weights and columns, and what is predicted at all.

A score is affine in a row's columns. The label party knows its own, so each score is an equation about the peers'
weights where it knows their columns of that row, and about the peers' columns where it knows the weights: equation
solving (Luo et al., Feature inference attack on model predictions in vertical federated learning, ICDE 2021). Even
without weights it can regress scores on its own columns: what is left is the peers' part, and of a peer's only column
that is the column itself.

The label party also chooses what is predicted. With label 1 for one person and 0 for everybody else, the peers' weights
point at that person's row: columns are centred, and everybody else's residuals cancel. Weights of rows do the same
without a false label. Or it takes a peer's column as its label, and scores rank everybody by it. Every message is then
an honest one: no cryptography stops it and no replay names it. Noise for whole rows hides the row of one person,
whatever labels a party brings, but no column: that is a property of the population.
"""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.remedies import hidden_rows, without_gradients
from plumbob.checking.rules.rule import Judged, Rule
from plumbob.checking.words import BLOCKED, DEGRADES, LEAKS
from plumbob.counting import counted, percent
from plumbob.protocol.openings import scored_bits

EQUATIONS = {"prediction-equations": "Luo et al., ICDE 2021: equation solving"}
SCORES_A_COLUMN = 2
"""Scores for each of the asker's own columns, from which on a regression leaves most of a peer's only column."""
MOST_EPSILON = 4.0
"""Noise for rows left only chance of a chosen row up to this epsilon (study: benchmarks/attacks of commit ae113e8c)."""


def weights(figures: Figures, by: str) -> Judged | None:
    """Judge scores as equations about weights: as many as there are unknowns fix them, fewer show their share."""
    plan, scored, needed = figures.plan, figures.scored, figures.unknown_weights
    if not scored or not figures.peers(by):
        return None
    who = figures.spoken(plan.label_party.name)
    if scored >= needed:
        why = (
            f"{counted(scored, 'score')}: if {who} knows the columns of {needed} of these rows from elsewhere, they "
            "give it the weights exactly."
        )
        return Judged(DEGRADES, f"work out {_weights_of(figures)}, {_if_known(figures)}", why)
    can = f"work out a part of {_weights_of(figures)}, if it knows every column of the people who are scored"
    why = f"{counted(scored, 'score')}: {percent(scored / needed)} of the equations that {needed} unknown weights need"
    if scored / needed <= plan.tolerance_features:
        return Judged(BLOCKED, can, f"{why}, which is within the tolerance.")
    why += f", if {who} knows the columns of all these rows from elsewhere."
    return Judged(DEGRADES, can, why)


def columns(figures: Figures, by: str) -> Judged | None:
    """Judge what scores say of columns: their part of each score, which one column alone is, up to a factor."""
    plan, scored, theirs = figures.plan, figures.scored, figures.peer_columns(by)
    if not scored or not theirs:
        return None
    if theirs == 1:
        return _only_column(figures, by)
    can = f"work out one number that mixes {{whose}} columns for {figures.scored_people}"
    why = (
        f"What its own columns do not explain of a score comes from {theirs} unknown columns of that row. With the "
        "weights known, the score is one equation about these."
    )
    if plan.is_closed:
        each, in_all = scored_bits(plan, 1), scored_bits(plan, scored)
        why += f" A score carries at most {each} bits, whatever anybody sends: {in_all:,} for {counted(scored, 'row')}."
    if scored / figures.unknown_weights <= plan.tolerance_features:
        return Judged(BLOCKED, can, f"{why} {counted(scored, 'score')} cannot tell the weights.")
    return Judged(DEGRADES, can, why)


def _only_column(figures: Figures, by: str) -> Judged:
    """Judge scores less the asker's own part, which is the column times one number.

    Where weights stay shared it does not know its own part, but its own columns explain it: what is left of the scores
    is what they do not explain of the column. That takes scores enough for a regression on its own columns.
    """
    plan, own = figures.plan, figures.columns(by)
    can = f"work out {{whose}} only column, up to one factor, for {figures.scored_people}"
    enough = SCORES_A_COLUMN * own
    fix = without_gradients(plan) | {"most_rows": enough - 1}
    if not plan.is_closed:
        why = "Its peers have one column, and each score minus the asker's own part is that column times one number."
        return Judged(LEAKS, can, why, fix)
    why = (
        f"Its peers have one column. What its own {counted(own, 'column')} do not explain of "
        f"{counted(figures.scored, 'score')} is what they do not explain of that column, times one number."
    )
    can += ", as far as its own columns do not explain it"
    return Judged(LEAKS if figures.scored >= enough else DEGRADES, can, why, fix)


def requests(figures: Figures, by: str) -> Judged | None:
    """Judge what a party learns that answers for its rows and sees no score."""
    if not figures.scored or figures.coalition is not None or not figures.columns(by):
        return None
    if not figures.plan.party(by).features:
        return None
    why = f"{figures.spoken(by)} learns which of its rows are scored, when and how often, but no score and no label."
    return Judged(BLOCKED, "learn something about {whose} labels from the rows that are scored", why)


def chosen_labels(figures: Figures, by: str) -> Judged | None:
    """Judge labels of the label party's choice by how many rows are scored, held-out ones included."""
    plan, theirs, scored = figures.plan, figures.peer_columns(by), figures.scored
    if not theirs or not plan.kind.is_encrypted or not scored:
        return None
    can = one_persons_row(figures, by, "by labels of its choice")
    numbers = (
        f"{figures.spoken(by)} can give one person of {figures.rows:,} label 1 and everybody else 0: the shared "
        "weights then point at that person's row"
    )
    if plan.row_weights:
        numbers += ", and still more if it lets that row count 1 and all others 0 (row_weights)"
    if plan.noise == "rows":
        why = (
            f"{numbers}, but noise hides it: whatever labels {figures.spoken(by)} brings, its guess about one "
            f"person's row is {figures.than_a_coin}."
        )
        return Judged(BLOCKED if plan.epsilon <= MOST_EPSILON else DEGRADES, can, why, hidden_rows(plan))
    scores = f"{counted(scored, 'scored row')}, held-out ones included"
    if scored <= theirs:
        return Judged(DEGRADES, can, f"{numbers}, of which {scores} show a part ({theirs} columns).", hidden_rows(plan))
    known = f"if it knows the columns of {figures.unknown_weights} of them from elsewhere"
    why = f"{numbers}, and {scores}, show it {known}. The person need not be scored."
    return Judged(LEAKS, can, why, hidden_rows(plan))


def chosen_column(figures: Figures, by: str) -> Judged | None:
    """Judge by whether anybody is scored: nothing else that a plan says prevents a column taken as the label."""
    if not figures.peers(by) or not figures.plan.kind.is_encrypted or not figures.scored:
        return None
    scored = counted(figures.scored, "scored person", "scored people")
    return Judged(
        DEGRADES,
        f"rank up to {scored} by one of {{whose}} columns, if it already knows the values of that column for a few "
        "hundred people",
        f"{figures.spoken(by)} chooses the label. With a column of a peer as its label for a few hundred people of "
        f"whom it knows that column, the scores rank up to {scored} by it. No plan prevents it, noise for rows "
        "included; most_rows, who may be scored, and the purpose in the contract limit it.",
    )


def one_persons_row(figures: Figures, by: str, means: str) -> str:
    """The words for reading a row of one's choice through scores of known people, and by what means."""
    number = figures.peer_columns(by)
    if 0 < figures.scored <= number:
        # Fewer people are scored than it would have to know: a part of the row is all that their scores show.
        return f"read a part of {{whose}} {counted(number, 'column')} for any one person, scored or not, {means}"
    columns = "{whose} only column" if number == 1 else f"all {number} of {{whose}} columns"
    return f"read {columns} for any one person, scored or not, {means}, {_if_known(figures)}"


def _if_known(figures: Figures) -> str:
    """The condition that the label party knows rows from elsewhere."""
    return f"if it knows every column of {figures.unknown_weights} scored people"


def _weights_of(figures: Figures) -> str:
    return "the joint weights" if figures.plan.is_closed else "{whose} weights"


RULES = (
    Rule(EQUATIONS, "label", "features", columns, stage="prediction"),
    Rule(EQUATIONS, "label", "weights", weights, stage="prediction"),
    Rule(EQUATIONS, "features", "labels", requests, stage="prediction"),
    Rule(
        {"chosen-labels": "beyond the paper: labels are an input"},
        "label",
        "features",
        chosen_labels,
        assumes="cheating",
        leaves_trace=False,
        is_floor=True,
    ),
    Rule(
        {"chosen-column": "beyond the paper: the label party chooses what is predicted"},
        "label",
        "features",
        chosen_column,
        assumes="cheating",
        leaves_trace=False,
        is_preventable=False,
        is_floor=True,
    ),
)
