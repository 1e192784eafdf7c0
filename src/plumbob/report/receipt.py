"""The receipt of a run: what the two ends of each channel hashed, what encrypted it, and what its parties accepted."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence

from plumbob.counting import size
from plumbob.plan import Plan
from plumbob.protocol.shares.shape import RunShape, most_opened_bits
from plumbob.record import PartyRecord, RunRecord
from plumbob.report.tables import PageTable


def receipt_table(record: RunRecord, noise: str) -> PageTable:
    """What protected the run; `noise` is its kind in words, its deviations and what they cost."""
    lines = [["plan hash", record.plan_hash], ["keys", keys_in_words(record)], ["noise", noise]]
    lines += [["randomness", record.randomness], *(list(item) for item in consents(record).items())]
    lines.append(["Plumbob", record.plumbob])
    if record.is_encrypted:
        lines += [
            [f"{stream['from']} to {stream['to']}", f"{stream['verdict']}: {stream['hash']}"]
            for stream in compared_streams(record.parties)
        ]
        lines.append(["all streams", transcript_hash(record.parties)])
    return PageTable(["what", "value"], lines)


def consents(record: RunRecord) -> dict[str, str]:
    """What this party accepted when it signed, each separately."""
    accepted = {
        "leaks accepted": record.accepted_leaks,
        "cheating accepted": record.accepted_cheating,
        "evidence accepted": record.accepted_evidence,
    }
    return {name: "yes" if is_accepted else "no" for name, is_accepted in accepted.items()}


def work_table(record: RunRecord) -> PageTable:
    """A table of what each party did and sent."""
    rows = [
        [party.name, f"{party.noise_draws:,}", f"{party.messages_sent:,}", size(party.bytes_sent)]
        for party in record.parties
    ]
    return PageTable(["party", "noise draws", "messages", "sent"], rows)


def compared_streams(parties: Sequence[PartyRecord]) -> Iterator[dict[str, str]]:
    """Each direction of each channel: what one end sent against what the other end received, as far as recorded.

    Both ends list the same directions in the same order, so that two people can compare them by eye.
    """
    sent = {(party.name, peer): stream for party in parties for peer, stream in party.streams.items()}
    received = {(peer, party.name): stream for party in parties for peer, stream in party.received_streams.items()}
    for sender, receiver in sorted(sent.keys() | received.keys()):
        ends = [end[sender, receiver] for end in (sent, received) if (sender, receiver) in end]
        verdict = "one end only" if len(ends) == 1 else "same at both ends" if len(set(ends)) == 1 else "DIFFERS"
        yield {"from": sender, "to": receiver, "verdict": verdict, "hash": ends[0]}


def transcript_hash(parties: Sequence[PartyRecord]) -> str:
    """One hash over all streams, the same at both ends of a run of two."""
    streams = [[stream["from"], stream["to"], stream["hash"]] for stream in compared_streams(parties)]
    return hashlib.sha256(json.dumps(streams).encode()).hexdigest()


def keys_in_words(record: RunRecord) -> str:
    """What encrypted this run, and how strong it is rated."""
    plan = record.parsed_plan
    if not plan.kind.is_encrypted:
        return "none: clear uses no cryptography and protects nothing"
    if record.is_calculated:
        return "none: calculated in the clear"
    if plan.kind.has_lattices:
        return _lattice_in_words(plan, record.rows)
    return f"{plan.kind.keys}, {plan.key_bits} bits, profile {record.key_profile}"


def _lattice_in_words(plan: Plan, rows: int) -> str:
    """Parameter sets, keys, the series, what keys and masks withstand, and how often shares are rounded wrongly."""
    shape = RunShape(plan, max(rows, 1))
    numbers = ", ".join(str(parameters.number) for parameters in shape.profile)
    return (
        f"lattice profile {shape.number} (parameter sets {numbers}, 128 bits); rests on RLWE with ternary secrets, by "
        f"the table of Bossuat et al. (2024); {shape.keys_in_all} keys, each tested before use; Fourier series of "
        f"period 64 with 8 harmonics; {_limits_in_words(shape)}; rounding shares goes wrong in at most one of "
        f"2**{math.floor(-shape.failure_bits)} runs"
    )


def _limits_in_words(shape: RunShape) -> str:
    """What keys withstand between two parties, and how often masks fail among more."""
    if shape.parties == 2:
        return f"keys withstand the {most_opened_bits(shape.plan, shape.rows):,} bits that can depend on one"
    return f"masks reveal something in at most one of 2**{math.floor(-shape.shown_bits)} runs"
