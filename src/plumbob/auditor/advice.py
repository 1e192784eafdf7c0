"""What to type so that a finding goes away, and what the finished model shows whatever one types."""

from collections.abc import Iterator

from plumbob.plan import Plan

LABEL_NOISE = "--noise sound --epsilon 1 --row-norm 1"
FEATURE_NOISE = "--noise std --noise-std {std:g} --row-norm 1"
# With opened weights these still get one equation for each own column, a run (docs/auditing.md).
ON_OPENED_WEIGHTS = ("label-counts", "label-chosen-rows")


def fix_for(plan: Plan, attack: str, target: str) -> str:
    """Flags that stop it; empty where no flag does."""
    if attack in ("packing", "claimed-width") and plan.replies == "paper":
        return "--replies packed"
    if plan.protocol == "shares":
        return "--open never" if plan.open == "own" else ""
    noise = _noise(plan, target)
    if len(plan.learners) > 2:
        return noise
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
        return LABEL_NOISE if plan.noise != "sound" else f"--epsilon {plan.epsilon / 4:g}"
    return FEATURE_NOISE.format(std=4 * plan.noise_std or 10.0)


def notes_for(plan: Plan) -> Iterator[str]:
    """What the audit does not judge, one sentence each."""
    if plan.protocol == "shares" and plan.open == "never":
        yield "The weights were never opened: each prediction shows one joint score to the label party."
    else:
        yield (
            "The finished model is not judged: a party's final weights depend on everybody's data, and with two "
            "parties each joint score that is shown gives the other's part away."
        )
    if plan.intercept:
        yield "The intercept tells the label party nothing new; whoever sees joint scores learns how frequent 1 is."
    if plan.arbiter is not None:
        yield f"{plan.arbiter.name} together with any one party can read every residual; this was not attacked."
    if plan.unmasked_gradients_for_the_arbiter and plan.arbiter is not None:
        yield f"{plan.arbiter.name} read all parties' gradients, because the plan leaves the masks out."
    if plan.noise == "heuristic":
        yield "The paper's epsilon and delta for its noise are heuristic, by its own words."
