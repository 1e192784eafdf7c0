"""`masked-shares`: what a label party of three or more reads of `shares` that does not keep to the protocol.

Between two parties nothing is opened in training. Among more, products are lifted behind masks (docs/lattice.md): the
label party sees c = x + masks, modulo m. An honest x is far smaller than the masks. Nothing binds how large x is: a
label party that scales its own factor up, so that x fills the modulus, sees its leading bits. The masks have M bits
each, so c tells at most log2(m) - M bits about x, whatever anybody sends, because that is all the room there is beside
the masks' own entropy. In every pass these are the sums for all columns and, for each row, one number (from five
parties on sixteen more for each party beyond four), about scores of weights whose shares it may move first. A residual
share that is made large shows that person's columns in the sums.
"""

from collections.abc import Iterator

from plumbob.checking.coalitions import coalitions
from plumbob.checking.figures import Figures
from plumbob.checking.rules.rule import AttackRule, finding
from plumbob.checking.words import LEAKS
from plumbob.plan import Plan, in_words
from plumbob.protocol.shares.shape import LatticeShape
from plumbob.record import Finding

RULE = AttackRule(
    name="masked-shares",
    by="label",
    target="features",
    reference="docs/lattice.md, three and more parties: claims 1 and 3",
    story=(
        "Among three or more parties the label party adds up numbers behind masks. If it keeps to the protocol, the "
        "masks hide them. If it does not, it can scale its own factor until they stick out of the masks, and the model "
        "is spoilt."
    ),
    assumes="cheating",
)


def further(figures: Figures) -> Iterator[Finding]:
    """Findings of the label party, alone and in a coalition, about every other party's columns."""
    plan = figures.plan
    if not is_masked(plan):
        return
    label = plan.label_party.name
    shape = LatticeShape(plan, figures.rows)
    bits, numbers = shape.most_bits_behind_a_mask, shape.masked_numbers
    why = (
        f"{{by}} sees {numbers:,} masked numbers in a pass over all {figures.rows:,} rows "
        f"({in_words(figures.levels)}). If it moves shared weights or scales what the masks hide, it reads up to "
        f"{bits} bits of each number: about one column, or one person's columns, per pass, and spoils the model. "
        "Calculated, not tried out."
    )
    for party in plan.feature_parties:
        if party.features:
            yield finding(RULE, label, party.name, LEAKS, why.format(by=figures.spoken(label)))
    for coalition in coalitions(plan):
        if label in coalition.members and plan.party(coalition.victim).features:
            yield finding(RULE, coalition.name, coalition.victim, LEAKS, why.format(by=coalition.members_in_words))


def is_masked(plan: Plan) -> bool:
    """Whether a run has numbers behind masks."""
    return plan.kind.has_lattices and not plan.is_between_two
