"""`model-difference`: two models whose training rows differ by a few people, and what the difference tells of these.

Both runs are honest. A person who joins moves the weights along that person's row, by the person's residual. Whoever
sees its own weights of both runs reads labels of those who joined; whoever has known rows scored by both models reads
their rows. Noise for whole rows covers it, and the budget counts both runs. benchmarks/attacks of commit
ae113e8c measures it.
"""

from collections.abc import Iterator

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, finding
from plumbob.checking.words import BLOCKED, DEGRADES
from plumbob.record import Finding

RULE = AttackRule(
    name="model-difference",
    by="label",
    target="features",
    reference="beyond the paper: two runs that differ by a few people",
    story=(
        "Two runs on nearly the same people give two models. Where somebody joined or left in between, the difference "
        "points at that person's row, or shows that person's label."
    ),
)
MEASURED_LABELS = "for one person who joined 1,000 or 10,000 others, its sign was the label in 36 of 36 trials"
MEASURED_ROWS = "for one person who joined 1,000 or 10,000 others, its mean correlation with the row was 0.93 to 0.96"


def further(figures: Figures) -> Iterator[Finding]:
    """Findings of several runs: about rows by the label party, about labels by a party whose weights are opened."""
    plan = figures.plan
    if figures.runs < 2 or not plan.kind.is_encrypted:
        return
    label = plan.label_party.name
    for party in plan.feature_parties:
        if party.features and figures.scored > figures.peer_columns(label):
            yield _judged(figures, label, party.name, "features", "row", MEASURED_ROWS)
        if party.features and not plan.is_closed:
            yield _judged(figures, party.name, label, "labels", "label", MEASURED_LABELS)


def _judged(figures: Figures, by: str, against: str, target: str, what: str, measured: str) -> Finding:
    runs = "the two runs" if figures.runs == 2 else f"two of the {figures.runs} runs"
    between = f"If somebody joins or leaves between {runs}, the difference of the models points at"
    if figures.plan.noise == "rows":
        why = f"{between} that person's {what}, but the noise of each run hides one row, and the budget counts both."
        return finding(RULE, by, against, BLOCKED, why, target=target)
    return finding(RULE, by, against, DEGRADES, f"{between} that person's {what}: {measured}.", target=target)
