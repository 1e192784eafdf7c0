"""Remedies: the flags that make each finding go away, and what they cost."""

import re
from collections.abc import Iterator, Mapping, Sequence

from plumbob.checking.figures import Figures
from plumbob.checking.row_notes import loss_in_words
from plumbob.checking.rules import is_preventable, leaves_a_trace
from plumbob.plan import Plan
from plumbob.plan.protocols import MOST_SHARING
from plumbob.plan.rules import fitting_delta
from plumbob.privacy.row_forecast import expected_auc_loss
from plumbob.privacy.rows import row_rule

FLAG = re.compile(r"--([a-z0-9-]+)(?: (?!--)([^\s,]+))?")
FEATURE_NOISE = "--noise std --noise-std {std:g} --row-norm 1"
ROW_EPSILON = 4.0
"""The epsilon of the noise for whole rows that is offered and drafted."""
ONE_PERSON_IN = 10
"""A drafted delta is below one in this many times the rows."""
# With opened weights these still get one equation for each own column, a run (docs/auditing.md).
ON_OPENED_WEIGHTS = ("label-counts", "label-chosen-rows")
HONEST_MESSAGES = ("chosen-labels", "model-difference")
"""Attacks that no protocol stops, because every message is an honest one; noise for whole rows does."""
WITHOUT_ARBITER = " without an arbiter among the parties"


def fix_for(plan: Plan, attack: str, target: str) -> str:
    """The flags that stop an attack, or make it leave a trace; empty where no flag does."""
    if attack == "score-control" or not is_preventable(attack):
        return ""
    if attack in ("packing", "claimed-width") and plan.replies == "paper":
        return "--replies packed"
    if not plan.kind.shows_gradients:
        return _fix_in_shares(plan, attack)
    if len(plan.learners) <= MOST_SHARING:
        # Labels are an input: shares alone would train on invented ones, too.
        return _shares(plan, row_noise(plan) if attack in HONEST_MESSAGES else "")
    return "" if attack == "steering" else _noise(plan, target)


def _fix_in_shares(plan: Plan, attack: str) -> str:
    if plan.opens_weights and attack not in (*HONEST_MESSAGES, "masked-shares"):
        return "--open never"
    if attack in HONEST_MESSAGES and plan.kind.has_lattices:
        return row_noise(plan)
    # What other software reaches in `shares`, no setting stops.
    is_left = plan.kind.has_lattices and leaves_a_trace(attack) and not plan.keeps_evidence
    return "--evidence keep" if is_left else ""


def _shares(plan: Plan, noise: str) -> str:
    """The flags for `shares`, and for what must be given up for it; `noise` are the flags of its noise."""
    flags = [f"--protocol shares{'' if plan.arbiter is None else WITHOUT_ARBITER}"]
    if plan.sigmoid not in ("taylor", "fourier"):
        flags.append("--sigmoid fourier")
    if plan.noise_std:
        flags.append("--noise-std 0")
    if noise or plan.noise not in ("none", "rows"):
        flags.append(noise or "--noise none")
    if plan.replies == "paper":
        flags.append("--replies packed")
    return " ".join(flags)


def _noise(plan: Plan, target: str) -> str:
    if target != "labels":
        return FEATURE_NOISE.format(std=4 * plan.noise_std or 10.0)
    if plan.noise == "sound":
        return f"--epsilon {plan.epsilon / 4:g}"
    return f"--noise sound --epsilon 1 --row-norm 1{_delta_flag(plan.delta, fitting_delta(plan.delta, plan.rows))}"


def row_noise(plan: Plan) -> str:
    """The flags for noise for whole rows, as it is offered."""
    return f"--noise rows --epsilon {ROW_EPSILON:g}{_delta_flag(plan.delta, small_delta(plan.delta, plan.rows))}"


def small_delta(delta: float, rows: int) -> float:
    """This delta, or a smaller one that is below one in ten times the rows."""
    return fitting_delta(delta, ONE_PERSON_IN * rows)


def offered_noise_loss(rows: int, columns: Sequence[int], delta: float) -> float:
    """What the offered noise is expected to cost in AUC; `columns` are each party's."""
    delta = small_delta(delta, rows)
    rule = row_rule(rows, columns, ROW_EPSILON, delta)
    return expected_auc_loss(rows, columns, ROW_EPSILON, delta, rule.passes, rule.row_norm)


def _delta_flag(before: float, after: float) -> str:
    return "" if before == after else f" --delta {after:g}"


# One remedy for several findings.


def flags_of(fix: str) -> dict[str, str]:
    """The flags of a fix by name, with their values."""
    return dict(FLAG.findall(fix))


def flags_to_type(fixes: Sequence[str]) -> str:
    """The flags that several findings need, each once."""
    flags: dict[str, str] = {}
    # Noise for whole rows last: it is in the place of what another finding would take away.
    for fix in sorted(fixes, key=lambda one: "--noise rows" in one):
        flags |= flags_of(fix)
    text = " ".join(f"--{name} {value}".strip() for name, value in flags.items())
    return text + (WITHOUT_ARBITER if any(WITHOUT_ARBITER in fix for fix in fixes) else "")


def remedy(plan: Plan | None, fixes: Sequence[str], is_cheating: bool) -> str:
    """All that a headline says to type. What other software still reaches in `shares`, only evidence shows."""
    flags = flags_of(flags_to_type(fixes))
    is_closed = flags.get("protocol") == "shares" or flags.get("open") == "never"
    if is_cheating and is_closed and plan is not None and not plan.keeps_evidence:
        return flags_to_type([*fixes, "--evidence keep"])
    return flags_to_type(fixes)


def price_of(figures: Figures, flags: Mapping[str, str]) -> str:
    """What a remedy's flags cost, as far as it was measured or can be forecast."""
    return "; ".join(_prices(figures, flags))


def _prices(figures: Figures, flags: Mapping[str, str]) -> Iterator[str]:
    plan = figures.plan
    if flags.get("protocol") == "shares":
        yield "no measurable loss of quality"
    if flags.get("open") == "never" or flags.get("protocol") == "shares":
        yield "every prediction needs all parties"
    if flags.get("noise") == "rows":
        loss = loss_in_words(offered_noise_loss(figures.rows, [party.features for party in plan.learners], plan.delta))
        yield f"noise, expected to cost {loss} of AUC with {figures.rows:,} training rows"
    elif flags.get("noise", "none") != "none" or ("epsilon" in flags and plan.noise == "sound"):
        yield "much of the model: this noise is for single labels or columns, and row noise needs shares"
    if flags.get("evidence") == "keep":
        yield "kept evidence shows false messages, but prevents none"
    if "most-rows" in flags:
        yield f"no more than {flags['most-rows']} people are ever scored"
    if "replies" in flags and "protocol" not in flags:
        yield "none"
