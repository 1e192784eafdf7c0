"""The record of a run, from what each party here knows of it.

A simulation has all parties, an organisation on a network its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from plumbob import __version__
from plumbob.crypto.draws import Draws
from plumbob.data import all_steps
from plumbob.plan import Plan
from plumbob.protocol.handshake import Participant, PolynomialCounts
from plumbob.protocol.part import ModelPart
from plumbob.record import FINISHED, PartyRecord, RunRecord

NOT_PRIVATE = "Noise, or flipped labels, came from a seed: an experiment, not private."


def run_record(
    plan: Plan, engine: str, draws: Draws, parties: Sequence[PartyRecord], rows: int, seed: bytes
) -> RunRecord:
    """The record of a finished run on this many training rows."""
    return replace(
        unfinished_record(plan, rows, FINISHED, all_steps(rows, plan)),
        engine=engine,
        randomness="kernel" if draws.is_kernel else "test source",
        seed=seed.hex(),
        parties=list(parties),
        notes=[NOT_PRIVATE] if _is_seeded_defence(plan, draws) else [],
    )


def account_record(participant: Participant) -> dict[str, Any]:
    """The commitments and signatures of this session's parties."""
    account = participant.account
    return {
        "session": account.session.hex(),
        "commitments": {name: commitment.hex() for name, commitment in account.commitments.items()},
        "seals": {name: seal.to_bytes().hex() for name, seal in account.seals.items()},
    }


def _is_seeded_defence(plan: Plan, draws: Draws) -> bool:
    """Whether noise or flipped labels came from a seed, so that anybody can draw them again."""
    has_draws = plan.noise != "none" or plan.label_flip_epsilon > 0
    return has_draws and (not plan.kind.is_encrypted or not draws.is_kernel)


def unfinished_record(plan: Plan, rows: int, status: str, steps: int = 0, seconds: float = 0.0) -> RunRecord:
    """The record in the folder of a run that is under way, or that never finished."""
    return RunRecord(
        plumbob=__version__,
        plan=plan.to_toml(),
        parsed_plan=plan,
        plan_hash=plan.hash(),
        protocol=plan.protocol,
        engine="",
        key_profile="test-only" if plan.test_only_keys and plan.kind.has_key_bits else str(plan.key_bits),
        randomness="kernel",
        seed="",
        rows=rows,
        test_rows=0,
        steps=steps,
        seconds=seconds,
        status=status,
        parties=[],
    )


def party_record(
    plan: Plan, name: str, part: ModelPart | None = None, participant: Participant | None = None, noise_draws: int = 0
) -> PartyRecord:
    """One party's side of a record; an arbiter has no part, and `clear` no participant."""
    is_open = part is not None and part.weights is not None
    coefficients, offset = part.in_input_units() if part is not None and is_open else (None, 0.0)
    channels = {} if participant is None else participant.channels
    keys = [] if participant is None else participant.keys
    counted = [key.counted() for key in keys]
    polynomials = PolynomialCounts() if participant is None else participant.polynomials
    return PartyRecord(
        name=name,
        role=plan.party(name).role,
        columns=list(part.encoder.names) if part is not None else [],
        coefficients=None if coefficients is None else coefficients.tolist(),
        offset=offset,
        messages_sent=sum(channel.traffic.messages_sent for channel in channels.values()),
        bytes_sent=sum(channel.traffic.bytes_sent for channel in channels.values()),
        encryptions=sum(counts[0] for counts in counted) + polynomials.encryptions,
        decryptions=sum(counts[1] for counts in counted) + polynomials.decryptions,
        randomisations=sum(counts[2] for counts in counted) + polynomials.randomisations,
        noise_draws=noise_draws,
        streams={peer: channel.stream_hashes[0] for peer, channel in channels.items()},
        received_streams={peer: channel.stream_hashes[1] for peer, channel in channels.items()},
    )
