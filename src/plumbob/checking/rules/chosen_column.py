"""`chosen-column`: a label party that takes a peer's column as its label ranks people by that column. Beyond the paper.

The label party chooses what is predicted. It takes a peer's column, upper half against lower, as its label for people
of whom it knows it; or it brings only people whose true label agrees with that column, and then no label is false.
Every later score ranks people by the column, people of whom it knew nothing included. Every message is an honest one,
so no cryptography stops it and no replay names it. Noise for whole rows does not either: a column is a property of the
population. So the verdict is the same for every plan that scores anybody. What limits it: how many rows may be scored
(`most_rows`), who may be scored, and the purpose that the contract names.
"""

from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, Judgement, degrades, not_applicable
from plumbob.counting import counted


def judge(figures: Figures, party: str) -> Judgement:
    """Judge by whether anybody is scored: nothing else that a plan says prevents it."""
    if not figures.peers(party):
        return not_applicable("No peer has columns.")
    if not figures.plan.kind.is_encrypted or not figures.scored:
        return not_applicable("No row is scored for the label party.")
    scored = counted(figures.scored, "scored person", "scored people")
    return degrades(
        f"{figures.spoken(party)} chooses the label. With a column of a peer as its label for a few hundred people of "
        f"whom it knows that column, the scores rank up to {scored} by it. No plan prevents it, noise for rows "
        "included; most_rows, who may be scored, and the purpose in the contract limit it."
    )


RULE = AttackRule(
    name="chosen-column",
    by="label",
    target="features",
    reference="beyond the paper: the label party chooses what is predicted",
    story=(
        "A label party takes a peer's column as its label, for a few hundred people of whom it knows it. The scores "
        "then rank everybody by that column. Every message is an honest one, and no plan prevents it."
    ),
    judge=judge,
    assumes="cheating",
    is_named_by_replay=False,
    is_preventable=False,
    is_floor=True,
)
