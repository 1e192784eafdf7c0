"""What each attack is, in one place: its name, who makes it, what it is after, where it comes from, what it does in two
sentences for people who decide, how a plan is judged on it, and what the attacker has before it.

Its code is in the lab, under the same name: nobody who checks a plan needs it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from plumbob.checking import attack_drawings, feature_rules, label_rules, lattice_rules
from plumbob.checking.figures import Figures
from plumbob.checking.rules import Judgement
from plumbob.errors import PlanError
from plumbob.plan import suggestion

Assumes = Literal["honest", "cheating"]


@dataclass(frozen=True)
class AttackEntry:
    """One attack by one kind of party on one target."""

    name: str
    by: Literal["label", "features"]
    """The role of the party that makes it."""
    target: Literal["labels", "scores", "features"]
    reference: str
    """The theorem or section of the paper, or where it goes beyond."""
    story: str
    judge: Callable[[Figures, str], Judgement]
    """From a plan's figures and the attacker's name to a verdict with the numbers behind it."""
    draw: Callable[[Figures, str, str], attack_drawings.AttackDrawing]
    """From a plan's figures, the attacker's name and the target to what the lab draws."""
    assumes: Assumes = "honest"
    """cheating: it takes data of the attacker's choice, or other software."""


_OFF_THE_CIRCLE = AttackEntry(
    name="off-the-circle",
    by="features",
    target="scores",
    reference="beyond the paper: nothing binds a party's sines and cosines to an angle",
    story=(
        "On shares, each party turns its share of a score into sines and cosines. One that falsifies them for a few "
        "people, and puts zeros into its columns for everybody else, finds their joint scores in the weights that are "
        "opened to it."
    ),
    judge=lattice_rules.off_the_circle,
    draw=attack_drawings.off_the_circle,
    assumes="cheating",
)
_GARBAGE_REPLIES = AttackEntry(
    name="garbage-replies",
    by="features",
    target="labels",
    reference="beyond the paper: a reply need not be a product",
    story=(
        "A party that answers with garbage instead of a product makes its peer open a piece of the peer's own key. "
        "With a whole key it would read every residual of one pass; between two parties the parameters are chosen so "
        "that what is opened never holds enough of it."
    ),
    judge=lattice_rules.garbage_replies,
    draw=attack_drawings.garbage_replies,
    assumes="cheating",
)

CATALOGUE: tuple[AttackEntry, ...] = (
    AttackEntry(
        name="label-sign",
        by="features",
        target="labels",
        reference="Criterion 4.2, Corollary 4.5, Theorems 4.6 and 4.10",
        story=(
            "Where a batch has no more people than this party has independent columns, its gradient can be solved "
            "for each person's residual. While scores are small, the sign of the residual is the label."
        ),
        judge=label_rules.label_sign,
        draw=attack_drawings.label_sign,
    ),
    AttackEntry(
        name="label-only",
        by="features",
        target="labels",
        reference="Theorem 4.1; beyond it: first step from zero weights",
        story=(
            "Where the label party brings nothing but labels, or all weights are still zero, a sum is a riddle of yes "
            "and no. Integer and lattice methods solve it for several times more people than this party has columns."
        ),
        judge=label_rules.label_only,
        draw=attack_drawings.label_only,
    ),
    AttackEntry(
        name="label-stacked",
        by="features",
        target="labels",
        reference="beyond the paper: all steps' equations stacked",
        story=(
            "Every step is a few equations about the same people's labels. Over the epochs they add up until the "
            "labels are fixed, also where no single batch gives anything away."
        ),
        judge=label_rules.label_stacked,
        draw=attack_drawings.label_stacked,
    ),
    AttackEntry(
        name="label-average",
        by="features",
        target="labels",
        reference="beyond the paper: against Algorithm 3",
        story=(
            "Noise hides a residual once, but each epoch shows it again with fresh noise. The average over the "
            "epochs has less of it, and its sign is the label."
        ),
        judge=label_rules.label_average,
        draw=attack_drawings.label_average,
    ),
    AttackEntry(
        name="label-counts",
        by="features",
        target="labels",
        reference="beyond the paper: group counts",
        story=(
            "From zero weights, the first sum of a yes/no column is the number of positive labels among those "
            "with a yes, exactly and for any batch size. Small groups give single labels away."
        ),
        judge=label_rules.label_counts,
        draw=attack_drawings.label_counts,
    ),
    AttackEntry(
        name="label-chosen-rows",
        by="features",
        target="labels",
        reference="beyond the paper: chosen inputs",
        story=(
            "A feature party sets all its rows to zero but those of a few people, and its sums are then about "
            "them alone. No check of a message can see it, and a larger batch does not help."
        ),
        judge=label_rules.label_chosen_rows,
        draw=attack_drawings.label_chosen_rows,
        assumes="cheating",
    ),
    AttackEntry(
        name="packing",
        by="features",
        target="labels",
        reference="Section 5.2, Algorithm 2",
        story=(
            "Each reply that a helper decrypts has room for dozens of numbers beside the one that was agreed. The "
            "attacker fills it with the peer's own ciphertexts and reads everybody's labels one by one, in large "
            "batches too."
        ),
        judge=label_rules.packing_for_labels,
        draw=attack_drawings.packing,
        assumes="cheating",
    ),
    AttackEntry(
        name="claimed-width",
        by="features",
        target="labels",
        reference="Section 5.2",
        story=(
            "A party that claims more columns than it has gets more equations from every step. With as many as a "
            "batch has rows it solves for everybody's labels, unless widths are agreed beforehand."
        ),
        judge=label_rules.claimed_width,
        draw=attack_drawings.claimed_width,
        assumes="cheating",
    ),
    AttackEntry(
        name="feature-single",
        by="label",
        target="features",
        reference="Theorem 3.5",
        story=(
            "Within a batch the peer's scores are its only column times one number, so they give ratios between "
            "people, and batches that share people join the ratios. How the scores move from one epoch to the "
            "next gives the scale."
        ),
        judge=feature_rules.single,
        draw=attack_drawings.feature_single,
    ),
    AttackEntry(
        name="feature-single",
        by="features",
        target="features",
        reference="Remark 4.9",
        story=(
            "Once a feature party has read the labels, the label party's only column is open to the same attack. "
            "Within a batch the peer's scores are its only column times one number, so they give ratios between "
            "people, and batches that share people join the ratios. How the scores move from one epoch to the "
            "next gives the scale."
        ),
        judge=feature_rules.single,
        draw=attack_drawings.feature_single,
    ),
    AttackEntry(
        name="feature-chain",
        by="label",
        target="features",
        reference="beyond the paper: batches without ratios",
        story=(
            "Each step moves the peer's only weight by an amount that its own scores give away, so one guessed "
            "number unrolls the whole training. Only the right guess gives a person the same value in two epochs."
        ),
        judge=feature_rules.chain,
        draw=attack_drawings.feature_chain,
    ),
    AttackEntry(
        name="feature-geometry",
        by="label",
        target="scores",
        reference="Corollary 3.2",
        story=(
            "A batch no larger than the rank of the label party's columns shows the peer's part of every row's "
            "score. These are the numbers from which the features are then worked out."
        ),
        judge=feature_rules.peer_scores,
        draw=attack_drawings.peer_scores,
    ),
    AttackEntry(
        name="feature-geometry",
        by="label",
        target="features",
        reference="beyond Theorem 3.6: up to a rotation",
        story=(
            "The peer's scores over many steps fix every inner product between two people's rows: all features up "
            "to one rotation. Whoever knows a few people's features turns it the right way and has everybody's."
        ),
        judge=feature_rules.geometry,
        draw=attack_drawings.feature_geometry,
    ),
    AttackEntry(
        name="packing",
        by="label",
        target="scores",
        reference="Section 5.2, Algorithm 2",
        story=(
            "Each reply that a helper decrypts has room for dozens of numbers beside the one that was agreed. The "
            "attacker fills it with the peer's own ciphertexts and reads everybody's partial scores one by one, "
            "in large batches too."
        ),
        judge=feature_rules.packing_for_scores,
        draw=attack_drawings.packing,
        assumes="cheating",
    ),
    AttackEntry(
        name="claimed-width",
        by="label",
        target="scores",
        reference="Section 5.2",
        story=(
            "A party that claims more columns than it has gets more equations from every step. With as many as a "
            "batch has rows it solves for everybody's partial scores, unless widths are agreed beforehand."
        ),
        judge=label_rules.claimed_width,
        draw=attack_drawings.claimed_width,
        assumes="cheating",
    ),
    AttackEntry(
        name="steering",
        by="label",
        target="features",
        reference="beyond the paper: nothing binds what a party adds to its peers' sums",
        story=(
            "The label party adds a little to what its peers get, and so moves one of their weights. In the next "
            "scores it reads what that weight makes of single people: their values in that column. "
            "A limit on each step stops large moves; small ones look like training."
        ),
        judge=feature_rules.steering,
        draw=attack_drawings.steering,
        assumes="cheating",
    ),
    AttackEntry(
        name="steering",
        by="features",
        target="features",
        reference="beyond the paper: nothing binds what a party adds to its peers' sums",
        story=(
            "A feature party adds a little to what its peers get, and so moves one of their weights. In the next "
            "residuals it reads what that weight makes of single people: their values in that column. "
            "A limit on each step stops large moves; small ones look like training."
        ),
        judge=feature_rules.steering,
        draw=attack_drawings.steering,
        assumes="cheating",
    ),
    _OFF_THE_CIRCLE,
    replace(_OFF_THE_CIRCLE, by="label"),
    _GARBAGE_REPLIES,
    replace(_GARBAGE_REPLIES, by="label", target="scores"),
)


def names() -> list[str]:
    """Of all attacks, each once."""
    return list(dict.fromkeys(entry.name for entry in CATALOGUE))


def entries_of(name: str) -> list[AttackEntry]:
    """Everything under one name; PlanError where no attack has it."""
    found = [entry for entry in CATALOGUE if entry.name == name]
    if not found:
        raise PlanError(f"there is no attack {name}; choose from {', '.join(names())}{suggestion(name, names())}")
    return found


def assumes(name: str) -> Assumes:
    """Whether an attack needs a party that cheats; one that only `check` or the auditor knows needs none."""
    return next((entry.assumes for entry in CATALOGUE if entry.name == name), "honest")


def entry_for(name: str, by: str, target: str) -> AttackEntry:
    """The one for this role and target, or the first under this name."""
    found = entries_of(name)
    return next((entry for entry in found if (entry.by, entry.target) == (by, target)), found[0])
