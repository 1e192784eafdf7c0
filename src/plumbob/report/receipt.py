"""What the two ends of each channel hashed, and what protected the run."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence

from plumbob.plan import Plan
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
    """What keys withstand between two parties, and how often masks fail among more."""
    if shape.parties == 2:
        return f"keys withstand the {most_opened_bits(shape.plan, shape.rows):,} bits that can depend on one"
    return f"masks reveal something in at most one of 2**{math.floor(-shape.shown_bits)} runs"
