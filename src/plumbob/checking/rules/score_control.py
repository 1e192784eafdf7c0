"""`score-control`: how many decisions a feature party can turn round with values of its choice, inside the clip.

It reads nothing; it moves scores. Values are an input, so nothing in a message shows it, and noise on a model does not
stop it. benchmarks/attacks/score_control.py of commit ae113e8c measures it.
"""

from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, finding
from plumbob.checking.words import DEGRADES
from plumbob.counting import counted
from plumbob.record import Finding

SCORE_CONTROL = "score-control"
"""It reads nothing, so that headlines give it a line without a verdict (`checking/facts.py`)."""
RULE = AttackRule(
    name=SCORE_CONTROL,
    by="features",
    target="scores",
    reference="beyond the paper: values are an input",
    story=(
        "A feature party gives a scored person the highest or lowest values that are not clipped. It reads nothing, "
        "but the score follows it, and no message looks different."
    ),
    assumes="cheating",
    stage="prediction",
    is_named_by_replay=False,
)


def further(figures: Figures) -> Iterator[Finding]:
    """Findings of each feature party, about the label party's decisions."""
    plan = figures.plan
    if figures.scored < 1:
        return
    for party in plan.feature_parties:
        if party.features:
            why = (
                f"{figures.spoken(party.name)} can choose its {counted(party.features, 'value')} of any of "
                f"{counted(figures.scored, 'scored person', 'scored people')}, within the clip, and so move the score. "
                "It learns nothing by that. On credit, 12 of 23 columns reversed every decision, and 3 of 23 "
                "reversed 39 % of the refusals and 93 % of the approvals; noise does not help."
            )
            yield finding(RULE, party.name, plan.label_party.name, DEGRADES, why)
