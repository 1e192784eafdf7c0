"""What to type so that a finding goes away, and what the finished model shows whatever one types."""

from collections.abc import Iterator

from plumbob.plan import Plan
from plumbob.plan.rules import MOST_SHARING, fitting_delta

LABEL_NOISE = "--noise sound --epsilon 1 --row-norm 1"
FEATURE_NOISE = "--noise std --noise-std {std:g} --row-norm 1"
# With opened weights these still get one equation for each own column, a run (docs/auditing.md).
ON_OPENED_WEIGHTS = ("label-counts", "label-chosen-rows")
HONEST_BUT_CURIOUS = (
    "shares between three or more parties is for parties that keep to the protocol: all but one together learn nothing "
    "but what is opened. A party that breaks it can read more than the bits counted here: masked-shares counts what "
    "masked numbers can tell."
)


def fix_for(plan: Plan, attack: str, target: str) -> str:
    """Flags that stop it; empty where no flag does."""
    if attack in ("packing", "claimed-width") and plan.replies == "paper":
        return "--replies packed"
    if plan.protocol == "shares":
        return "--open never" if plan.open == "own" else ""
    noise = _noise(plan, target)
    if len(plan.learners) > MOST_SHARING:
        return noise
    if attack == "steering":
        return _shares(plan, attack)
    return f"{_shares(plan, attack)}, or {noise}"


def _shares(plan: Plan, attack: str) -> str:
    """`shares` and what must be given up for it."""
    flags = ["--protocol shares" if plan.arbiter is None else "--protocol shares without an arbiter among the parties"]
    if attack in ON_OPENED_WEIGHTS:
        flags.append("--open never")
    if plan.sigmoid != "taylor":
        flags.append("--sigmoid taylor")
    if plan.noise != "none":
        flags.append("--noise none --noise-std 0")
    if plan.replies == "paper":
        flags.append("--replies packed")
    if plan.class_weight != "none":
        flags.append("--class-weight none")
    return " ".join(flags)


def _noise(plan: Plan, target: str) -> str:
    if target == "labels":
        return _label_noise(plan) if plan.noise != "sound" else f"--epsilon {plan.epsilon / 4:g}"
    return FEATURE_NOISE.format(std=4 * plan.noise_std or 10.0)


def _label_noise(plan: Plan) -> str:
    delta = fitting_delta(plan.delta, plan.rows)
    return LABEL_NOISE if delta == plan.delta else f"{LABEL_NOISE} --delta {delta:g}"


def notes_for(plan: Plan) -> Iterator[str]:
    """What the audit does not judge, one sentence each."""
    if plan.protocol != "shares" or plan.open != "never":
        yield "The finished model is not judged: a party's final weights depend on everybody's data."
    if plan.protocol == "shares" and len(plan.learners) > 2:
        yield HONEST_BUT_CURIOUS
    yield from prediction_notes(plan)
    if plan.held_out_by:
        yield (
            f"{plan.held_out_by} chooses which common rows are held out, for example the newest by a date: the others "
            "learn one bit per row, on which side of that date it lies, and nothing else about the column."
        )
    if plan.intercept:
        yield (
            "The intercept tells the label party nothing new; anyone who sees joint scores learns the base rate of "
            "class 1."
        )
    if plan.arbiter is not None:
        yield f"{plan.arbiter.name} together with any one party can read every residual: it must side with nobody."
    if plan.unmasked_gradients_for_the_arbiter and plan.arbiter is not None:
        yield f"{plan.arbiter.name} reads all parties' gradients, because the plan leaves the masks out."
    if plan.noise == "heuristic":
        yield "The paper's epsilon and delta for this noise are heuristic, as the paper itself says."
    if plan.noise == "sound":
        yield (
            "This noise protects labels only, not features or whole rows, and can destroy the model: on credit, one "
            'of three seeds ended at an AUC of .43. Over shares, noise = "rows" promises more and costs less.'
        )


def prediction_notes(plan: Plan) -> Iterator[str]:
    """What scores that are asked for later tell, one sentence each.

    A score is affine in a row's columns: known rows, one more than there are weights, fix these and the offset.
    """
    asker, others = plan.label_party.name, [party.name for party in plan.feature_parties]
    theirs = sum(party.features for party in plan.feature_parties)
    if plan.protocol == "shares" and plan.open == "never":
        weights, whose = plan.columns, "the joint weights"
        yield f"The weights are never opened: each prediction shows {asker} one joint score and nobody's part of it."
    elif len(others) == 1:
        weights, whose = theirs, f"the weights of {others[0]}"
        yield (
            f"Each joint score that {asker} sees also shows it the part of {others[0]}, because it knows its own part; "
            "nothing can hide that between two parties."
        )
    else:
        weights, whose = theirs, "all feature parties' weights"
        yield (
            f"Each joint score that {asker} sees also shows it the sum of {len(others)} feature parties' parts, but no "
            f"single part, unless all the others tell {asker} theirs."
        )
    equation = f"one equation about {theirs} unknown columns" if theirs > 1 else "the value of the unknown column"
    yield (
        f"Scores of {weights + 1} rows whose columns {asker} knows from elsewhere give it {whose}; each further score "
        f"is then {equation} of its row. A feature party can limit the rows that it answers."
    )
    yield "A party that answers learns which rows are requested, when and how often, but no scores."
