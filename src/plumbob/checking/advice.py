"""Remedies: the plan's keys that make each finding go away, the words for them, and what they cost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plumbob.checking.figures import Figures
from plumbob.checking.row_notes import loss_in_words
from plumbob.checking.rules import is_preventable, leaves_a_trace
from plumbob.plan import Plan
from plumbob.plan.protocols import MOST_SHARING
from plumbob.plan.rules import fitting_delta
from plumbob.privacy.price import NoisePrice

Changes = dict[str, Any]
"""Keys of a plan by flat names, as `Plan.replace` takes them, with their new values."""

ROW_EPSILON = 4.0
"""The epsilon of the noise for whole rows that is offered and drafted."""
ONE_PERSON_IN = 10
"""A drafted delta is below one in this many times the rows."""
# With opened weights these still get one equation for each own column, a run (docs/auditing.md).
ON_OPENED_WEIGHTS = ("label-counts", "label-chosen-rows")
HONEST_MESSAGES = ("chosen-labels", "model-difference")
"""Attacks that no protocol stops, because every message is an honest one; noise for whole rows does."""
WITHOUT_ARBITER = " without an arbiter among the parties"


def changes_for(plan: Plan, attack: str) -> Changes:
    """The keys that stop an attack, or make it leave a trace; empty where no key does."""
    if attack == "score-control" or not is_preventable(attack):
        return {}
    if attack in ("packing", "claimed-width") and plan.replies == "paper":
        return {"replies": "packed"}
    if not plan.kind.shows_gradients:
        return _changes_in_shares(plan, attack)
    if len(plan.learners) <= MOST_SHARING:
        # Labels are an input: shares alone would train on invented ones, too.
        return _shares(plan, row_noise(plan) if attack in HONEST_MESSAGES else {"noise": "none"})
    return {}


def _changes_in_shares(plan: Plan, attack: str) -> Changes:
    if plan.opens_weights and attack not in (*HONEST_MESSAGES, "masked-shares"):
        return {"open": "never"}
    if attack in HONEST_MESSAGES and plan.kind.has_lattices:
        return row_noise(plan)
    # What other software reaches in `shares`, no setting stops.
    is_left = plan.kind.has_lattices and leaves_a_trace(attack) and not plan.keeps_evidence
    return {"evidence": "keep"} if is_left else {}


def _shares(plan: Plan, noise: Changes) -> Changes:
    """`shares`, and what must be given up for it; `noise` are the keys of its noise."""
    changes: Changes = {"protocol": "shares"}
    if plan.sigmoid not in ("taylor", "fourier"):
        changes["sigmoid"] = "fourier"
    if plan.noise_std:
        changes["noise_std"] = 0.0
    if noise["noise"] != "none" or plan.noise not in ("none", "rows"):
        changes |= noise
    if plan.replies == "paper":
        changes["replies"] = "packed"
    if plan.unmasked_gradients_for_the_arbiter:
        changes["unmasked_gradients_for_the_arbiter"] = False
    return changes


def row_noise(plan: Plan) -> Changes:
    """The keys of noise for whole rows, as it is offered."""
    delta = small_delta(plan.delta, plan.rows)
    return {"noise": "rows", "epsilon": ROW_EPSILON} | ({} if delta == plan.delta else {"delta": delta})


def small_delta(delta: float, rows: int) -> float:
    """This delta, or a smaller one that is below one in ten times the rows."""
    return fitting_delta(delta, ONE_PERSON_IN * rows)


def offered_price(rows: int, columns: Sequence[int], delta: float) -> NoisePrice:
    """The price of the offered noise; `columns` are each party's."""
    return NoisePrice.of(rows, columns, ROW_EPSILON, small_delta(delta, rows))


# One remedy for several findings, and the words for it.


def merged(remedies: Sequence[Changes]) -> Changes:
    """The keys that several findings need, each once: one plan has them all."""
    keys: Changes = {}
    # Noise for whole rows last: it is in the place of what another finding would take away.
    for one in sorted(remedies, key=lambda one: one.get("noise") == "rows"):
        keys |= one
    return keys


def remedy(plan: Plan | None, remedies: Sequence[Changes], is_cheating: bool) -> Changes:
    """All that a headline says to change. What other software still reaches in `shares`, only evidence shows."""
    keys = merged(remedies)
    is_closed = keys.get("protocol") == "shares" or keys.get("open") == "never"
    if is_cheating and is_closed and plan is not None and not plan.keeps_evidence:
        keys["evidence"] = "keep"
    return keys


def as_flags(changes: Mapping[str, Any], plan: Plan | None) -> str:
    """The keys as flags to type, beside the plan that they change."""
    flags = " ".join(_flag(name.replace("_", "-"), value) for name, value in changes.items())
    is_left_out = "protocol" in changes and plan is not None and plan.arbiter is not None
    return flags + (WITHOUT_ARBITER if is_left_out else "")


def _flag(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}"


def as_parameters(changes: Mapping[str, Any]) -> str:
    """The keys as Python's parameters: `protocol="shares", epsilon=4.0`."""
    literals = ((name, f'"{value}"' if isinstance(value, str) else repr(value)) for name, value in changes.items())
    return ", ".join(f"{name}={literal}" for name, literal in literals)


def price_of(figures: Figures, changes: Mapping[str, Any]) -> str:
    """What a remedy costs, as far as it was measured or can be forecast."""
    return "; ".join(_prices(figures, changes))


def _prices(figures: Figures, changes: Mapping[str, Any]) -> Iterator[str]:
    plan = figures.plan
    if changes.get("protocol") == "shares":
        yield "no measurable loss of quality"
    if changes.get("open") == "never" or changes.get("protocol") == "shares":
        yield "every prediction needs all parties"
    if changes.get("noise") == "rows":
        price = offered_price(figures.rows, [party.features for party in plan.learners], plan.delta)
        lost = loss_in_words(price.expected)
        yield f"noise, expected to cost {lost} of AUC with {figures.rows:,} training rows, and its encoding"
    if changes.get("evidence") == "keep":
        yield "kept evidence shows false messages, but prevents none"
    if "most_rows" in changes:
        yield f"no more than {changes['most_rows']} people are ever scored"
    if "replies" in changes and "protocol" not in changes:
        yield "none"
