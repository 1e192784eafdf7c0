"""What the two ends of each channel hashed, and what protected it."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from plumbob.plan import Plan
from plumbob.protocol.defences import label_cost, noise_std
from plumbob.record import PartyRecord, RunRecord


def compared_streams(parties: Sequence[PartyRecord]) -> Iterator[dict[str, str]]:
    """What one end sent against what the other end received, where both ends are recorded."""
    by_name = {party.name: party for party in parties}
    for sender in parties:
        for peer, sent in sender.streams.items():
            received = by_name[peer].received_streams.get(sender.name) if peer in by_name else None
            verdict = "one end only" if received is None else "same at both ends" if received == sent else "DIFFERS"
            yield {"from": sender.name, "to": peer, "verdict": verdict, "hash": sent}


def transcript_hash(parties: Sequence[PartyRecord]) -> str:
    """One hash over all streams, whatever the order in which the parties are listed."""
    streams = {party.name: [party.streams, party.received_streams] for party in parties}
    return hashlib.sha256(json.dumps(streams, sort_keys=True).encode()).hexdigest()


def keys_in_words(record: RunRecord) -> str:
    """Scheme and length."""
    if record.protocol == "clear":
        return "none: clear uses no cryptography and protects nothing"
    if record.is_calculated:
        return "none: calculated in the clear"
    plan = record.parsed_plan
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
