"""What the two ends of each channel hashed, and what protected it."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence

from plumbob.checking.row_notes import BOUND
from plumbob.counting import percent
from plumbob.plan import Plan
from plumbob.privacy.rows import RowCost
from plumbob.protocol.defences import label_cost, noise_std
from plumbob.protocol.row_noise import norms
from plumbob.protocol.row_promise import kept_cost
from plumbob.protocol.shares.shape import LatticeShape, most_opened_bits
from plumbob.record import PartyRecord, RunRecord


def compared_streams(parties: Sequence[PartyRecord]) -> Iterator[dict[str, str]]:
    """Each direction of each channel: what one end sent against what the other end received, as far as recorded.

    Both ends list the same directions in the same order, so that two people can compare them by eye.
    """
    sent = {(party.name, peer): one for party in parties for peer, one in party.streams.items()}
    received = {(peer, party.name): one for party in parties for peer, one in party.received_streams.items()}
    for sender, receiver in sorted(sent.keys() | received.keys()):
        ends = [end[sender, receiver] for end in (sent, received) if (sender, receiver) in end]
        verdict = "one end only" if len(ends) == 1 else "same at both ends" if len(set(ends)) == 1 else "DIFFERS"
        yield {"from": sender, "to": receiver, "verdict": verdict, "hash": ends[0]}


def transcript_hash(parties: Sequence[PartyRecord]) -> str:
    """One hash over all streams, the same at both ends of a run of two."""
    streams = [[one["from"], one["to"], one["hash"]] for one in compared_streams(parties)]
    return hashlib.sha256(json.dumps(streams).encode()).hexdigest()


def keys_in_words(record: RunRecord) -> str:
    """What encrypted this run, and how strong it is rated."""
    if not record.parsed_plan.kind.is_encrypted:
        return "none: clear uses no cryptography and protects nothing"
    if record.is_calculated:
        return "none: calculated in the clear"
    plan = record.parsed_plan
    if plan.kind.has_lattices:
        return _lattice_in_words(plan, record.rows)
    return f"{plan.kind.keys}, {plan.key_bits} bits, profile {record.key_profile}"


def _lattice_in_words(plan: Plan, rows: int) -> str:
    """Parameter sets, keys, the series, what keys and masks withstand, and how often shares are rounded wrongly."""
    shape = LatticeShape(plan, max(rows, 1))
    numbers = ", ".join(str(one.number) for one in shape.profile)
    return (
        f"lattice profile {shape.number} (parameter sets {numbers}, 128 bits); rests on RLWE with ternary secrets, by "
        f"the table of Bossuat et al. (2024); {shape.keys_in_all} keys, each tested before use; Fourier series of "
        f"period 64 with 8 harmonics; {_limits_in_words(shape)}; rounding shares goes wrong in at most one of "
        f"2**{math.floor(-shape.failure_bits)} runs"
    )


def _limits_in_words(shape: LatticeShape) -> str:
    """What keys withstand between two; how often masks fail among more."""
    if shape.parties == 2:
        return f"keys withstand the {most_opened_bits(shape.plan, shape.rows):,} bits that can depend on one"
    return f"masks reveal something in at most one of 2**{math.floor(-shape.shown_bits)} runs"


def noise_in_words(plan: Plan, rows: int = 0) -> str:
    """Its kind, each party's deviation and, where that is a promise, what a row or a label costs.

    `rows` are training rows, 0 before they are known.
    """
    if plan.noise == "none":
        return "none"
    if (of_rows := kept_cost(plan, rows)) is not None:
        return _row_noise_in_words(plan, of_rows)
    if plan.noise == "rows":
        return "rows: the arithmetic of this run fails too often for its delta to pay for, so that nothing is promised"
    stds = ", ".join(f"{party.name} std {noise_std(plan, party.role):.4g}" for party in plan.learners)
    cost = label_cost(plan)
    if cost is None:
        return f"{plan.noise}: {stds}"
    proved, analytic = cost.zcdp_epsilon(plan.delta), cost.analytic_epsilon(plan.delta)
    return (
        f"{plan.noise}: {stds}; a label costs epsilon {proved:.3g} (differential privacy by zCDP, proved) or"
        f" {analytic:.3g} (analytic)"
    )


def _row_noise_in_words(plan: Plan, cost: RowCost) -> str:
    """Norms, deviation, sensitivity, passes, what was spent at home, the accountant and its figure."""
    limits = ", ".join(f"{norm:.4g}" for norm in norms(plan))
    at_home = (
        f", {percent(sum(cost.at_home) / cost.rho)} of the budget spent on scaling at home" if cost.at_home else ""
    )
    return (
        f"rows: rows clipped to {limits}; every party adds noise of {cost.std / cost.sensitivity:.4g} sensitivities"
        f" (sigma {cost.std}, Delta {cost.sensitivity} units) in each of {cost.passes} passes{at_home}; a row costs"
        f" epsilon {cost.epsilon(plan.delta):.3g} at delta {plan.delta:g} (differential privacy by zCDP, proved); a"
        f" privacy loss distribution says {cost.unproved_epsilon(plan.delta):.3g}, which is not proved for what is"
        f" drawn; the promise holds against all other parties together, {BOUND}"
    )
