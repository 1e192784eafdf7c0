"""What the two ends of each channel hashed, and what protected it."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from plumbob.plan import Plan
from plumbob.protocol.defences import label_cost, noise_std
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
    """Scheme and length."""
    if record.protocol == "clear":
        return "none: clear uses no cryptography and protects nothing"
    if record.is_calculated:
        return "none: calculated in the clear"
    plan = Plan.from_toml(record.plan)
    return f"{plan.scheme}, {plan.key_bits} bits, profile {record.key_profile}"


def noise_in_words(plan: Plan) -> str:
    """Its kind, each party's deviation and, where that is a promise, what a label costs."""
    if plan.noise == "none":
        return "none"
    stds = ", ".join(f"{party.name} std {noise_std(plan, party.role):.4g}" for party in plan.learners)
    cost = label_cost(plan)
    if cost is None:
        return f"{plan.noise}: {stds}"
    proved, analytic = cost.zcdp_epsilon(plan.delta), cost.analytic_epsilon(plan.delta)
    return f"{plan.noise}: {stds}; a label costs epsilon {proved:.3g} (zCDP, proved) or {analytic:.3g} (analytic)"
