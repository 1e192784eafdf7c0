"""What to type so that a finding goes away."""

from plumbob.plan import Plan
from plumbob.plan.protocols import MOST_SHARING
from plumbob.plan.rules import fitting_delta

LABEL_NOISE = "--noise sound --epsilon 1 --row-norm 1"
FEATURE_NOISE = "--noise std --noise-std {std:g} --row-norm 1"
# With opened weights these still get one equation for each own column, a run (docs/auditing.md).
ON_OPENED_WEIGHTS = ("label-counts", "label-chosen-rows")


def fix_for(plan: Plan, attack: str, target: str) -> str:
    """Flags that stop it; empty where no flag does."""
    if attack in ("packing", "claimed-width") and plan.replies == "paper":
        return "--replies packed"
    if not plan.kind.shows_gradients:
        return "--open never" if plan.opens_weights else ""
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
