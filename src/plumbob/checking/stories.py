"""What each attack does, in two sentences for people who decide; its code is in the workshop, under the same name."""

STORIES: dict[tuple[str, str, str], str] = {
    ("label-sign", "features", "labels"): (
        "Where a batch has no more people than this party has independent columns, its gradient can be solved "
        "for each person's residual. While scores are small, the sign of the residual is the label."
    ),
    ("label-only", "features", "labels"): (
        "Where the label party brings nothing but labels, or all weights are still zero, a sum is a riddle of "
        "yes and no. Integer and lattice methods solve it for several times more people than this party has "
        "columns."
    ),
    ("label-stacked", "features", "labels"): (
        "Every step is a few equations about the same people's labels. Over the epochs they add up until the "
        "labels are fixed, also where no single batch gives anything away."
    ),
    ("label-average", "features", "labels"): (
        "Noise hides a residual once, but each epoch shows it again with fresh noise. The average over the "
        "epochs has less of it, and its sign is the label."
    ),
    ("label-counts", "features", "labels"): (
        "From zero weights, the first sum of a yes/no column is the number of positive labels among those "
        "with a yes, exactly and for any batch size. Small groups give single labels away."
    ),
    ("feature-single", "label", "features"): (
        "Within a batch the peer's scores are its only column times one number, so they give ratios between "
        "people, and batches that share people join the ratios. How the scores move from one epoch to the "
        "next gives the scale."
    ),
    ("feature-single", "features", "features"): (
        "Once a feature party has read the labels, the label party's only column is open to the same attack. "
        "Within a batch the peer's scores are its only column times one number, so they give ratios between "
        "people, and batches that share people join the ratios. How the scores move from one epoch to the "
        "next gives the scale."
    ),
    ("feature-chain", "label", "features"): (
        "Each step moves the peer's only weight by an amount that its own scores give away, so one guessed "
        "number unrolls the whole training. Only the right guess gives a person the same value in two epochs."
    ),
    ("feature-geometry", "label", "features"): (
        "The peer's scores over many steps fix every inner product between two people's rows: all features up "
        "to one rotation. Whoever knows a few people's features turns it the right way and has everybody's."
    ),
    ("feature-geometry", "label", "scores"): (
        "A batch no larger than the rank of the label party's columns shows the peer's part of every row's "
        "score. These are the numbers from which the features are then worked out."
    ),
    ("packing", "features", "labels"): (
        "Each reply that a helper decrypts has room for dozens of numbers beside the one that was agreed. The "
        "attacker fills it with the peer's own ciphertexts and reads everybody's labels one by one, in large "
        "batches too."
    ),
    ("packing", "label", "scores"): (
        "Each reply that a helper decrypts has room for dozens of numbers beside the one that was agreed. The "
        "attacker fills it with the peer's own ciphertexts and reads everybody's partial scores one by one, "
        "in large batches too."
    ),
    ("claimed-width", "features", "labels"): (
        "A party that claims more columns than it has gets more equations from every step. With as many as a "
        "batch has rows it solves for everybody's labels, unless widths are agreed beforehand."
    ),
    ("claimed-width", "label", "scores"): (
        "A party that claims more columns than it has gets more equations from every step. With as many as a "
        "batch has rows it solves for everybody's partial scores, unless widths are agreed beforehand."
    ),
    ("arbiter-key", "features", "labels"): (
        "Every residual travels under the arbiter's key. A party that joins the arbiter keeps what it receives, and "
        "the key opens it: each person's residual, and its sign is the label."
    ),
    ("prediction-equations", "label", "features"): (
        "A score is a sum of columns times weights. Whoever knows a few rows solves for the weights, and each further "
        "score is then an equation about columns that nobody showed."
    ),
    ("keys", "features", "labels"): (
        "Every residual travels encrypted under somebody's key. Whoever finds the key's factors, or made a key with a "
        "hidden flaw, decrypts them all."
    ),
    ("label-chosen-rows", "features", "labels"): (
        "A feature party sets all its rows to zero but those of a few people, and its sums are then about "
        "them alone. No check of a message can see it, and a larger batch does not help."
    ),
}
"""By the attack's name, the role of the party that makes it, and what it is after."""


def story_of(attack: str, by: str = "", target: str = "") -> str:
    """The story for this role and target, or the attack's first one."""
    told = {key: story for key, story in STORIES.items() if key[0] == attack}
    return told.get((attack, by, target)) or next(iter(told.values()))
