"""The plan's keys that prevent a reading, or make it leave a trace: what rules return as their `fix`."""

from typing import Any

from plumbob.plan import Plan
from plumbob.plan.mistakes import fitting_delta
from plumbob.plan.protocols import MOST_SHARING

Changes = dict[str, Any]
"""Keys of a plan by flat names, as `Plan.replace` takes them, with their new values."""
ROW_EPSILON = 4.0
"""The epsilon of the noise for whole rows that is offered and drafted."""
ONE_PERSON_IN = 10
"""A drafted delta is below one in this many times the rows."""


def without_gradients(plan: Plan, noise: Changes | None = None) -> Changes:
    """The keys for `shares` that open no gradient and no weight; `noise` are the keys of its noise."""
    if plan.kind.shows_gradients:
        return _shares(plan, noise or {"noise": "none"}) if len(plan.learners) <= MOST_SHARING else {}
    return {"open": "never"} if plan.opens_weights else {}


def _shares(plan: Plan, noise: Changes) -> Changes:
    """`shares`, and what must be given up for it."""
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


def hidden_rows(plan: Plan) -> Changes:
    """Noise for whole rows, over shares: against labels of somebody's choice, whose messages are honest ones."""
    if plan.kind.shows_gradients:
        return without_gradients(plan, row_noise(plan))
    return row_noise(plan) if plan.kind.has_lattices else {}


def true_messages(plan: Plan) -> Changes:
    """Against other software: no score before a replay between two parties, or else evidence that names it."""
    if plan.kind.shows_gradients or plan.opens_weights:
        return without_gradients(plan)
    if not plan.kind.has_lattices:
        return {}
    return {"evidence": "keep"} | ({"release": "replayed"} if plan.is_between_two else {})


def allowed(plan: Plan, changes: Changes) -> Changes:
    """The same keys, less what the whole plan cannot have: a coalition is judged as one of two parties."""
    if "protocol" in changes and len(plan.learners) > MOST_SHARING:
        return {}
    return {name: value for name, value in changes.items() if name != "release" or plan.is_between_two}


def row_noise(plan: Plan) -> Changes:
    """The keys of noise for whole rows, as it is offered."""
    delta = small_delta(plan.delta, plan.rows)
    return {"noise": "rows", "epsilon": ROW_EPSILON} | ({} if delta == plan.delta else {"delta": delta})


def small_delta(delta: float, rows: int) -> float:
    """This delta, or a smaller one that is below one in ten times the rows."""
    return fitting_delta(delta, ONE_PERSON_IN * rows)
