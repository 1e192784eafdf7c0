"""The record of a run, from what each party here knows of it, and its quality.

A simulation has all parties, an organisation on a network its own.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plumbob.arrays import Matrix, Vector
from plumbob.crypto.draws import Draws
from plumbob.data import all_steps
from plumbob.model import metrics
from plumbob.model.logistic import fit_logistic
from plumbob.plan import Plan
from plumbob.protocol import signing
from plumbob.protocol.account import LAST
from plumbob.protocol.limits import shows_quality
from plumbob.protocol.part import ModelPart
from plumbob.protocol.participant import Participant
from plumbob.protocol.party import TrainingParty
from plumbob.protocol.scoring import ROWS_AT_ONCE, scoring_of
from plumbob.record import FINISHED, PartyRecord, RunRecord
from plumbob.version import __version__

HELD_OUT = "held-out rows"
Metrics = dict[str, float | None]


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
    )


def account_record(participant: Participant) -> dict[str, Any]:
    """The commitments and signatures of this session's parties."""
    account = participant.account
    return {
        "session": account.session.hex(),
        "commitments": {name: commitment.hex() for name, commitment in account.commitments.items()},
        "seals": {name: seal.to_bytes().hex() for name, seal in account.seals.items()},
    }


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
    return PartyRecord(
        name=name,
        role=plan.party(name).role,
        columns=list(part.encoder.names) if part is not None else [],
        coefficients=None if coefficients is None else coefficients.tolist(),
        offset=offset,
        messages_sent=sum(channel.traffic.messages_sent for channel in channels.values()),
        bytes_sent=sum(channel.traffic.bytes_sent for channel in channels.values()),
        noise_draws=noise_draws,
        streams={peer: channel.sent_hash.hex() for peer, channel in channels.items()},
        received_streams={peer: channel.received_hash.hex() for peer, channel in channels.items()},
    )


# The quality of a run between organisations: held-out rows are scored at the end, for the label party alone. Their
# scores count like any prediction. The label party puts them beside what it could have done alone, with a model of its
# own columns that it fits at home.


def run_to_its_quality(party: TrainingParty) -> Vector | None:
    """The whole training, then the scores of held-out rows, which only the label party gets."""
    party.run()
    scores = _held_out_scores(party)
    # The last signatures: a run without them is not settled, and has no result.
    signing.meet(party.participant, LAST)
    return scores


def _held_out_scores(party: TrainingParty) -> Vector | None:
    plan, held_out = party.plan, party.shard.held_out
    if not shows_quality(plan, len(party.table)):
        return None
    scoring = scoring_of(party.participant, party.session, party.table, party.model_part())
    last, at_once = all_steps(len(party.shard), plan), ROWS_AT_ONCE
    pieces = [held_out[start : start + at_once].tolist() for start in range(0, len(held_out), at_once)]
    if party.participant.name != plan.label_party.name:
        for step, piece in enumerate(pieces, last + 1):
            scoring.answer(step, piece)
        return None
    return np.concatenate([scoring.collect(step, piece) for step, piece in enumerate(pieces, last + 1)])


# At the label party.


def judge_at_home(
    party: TrainingParty, scores: Vector, alone: Vector
) -> tuple[dict[str, Metrics], dict[str, list[list[float]]]]:
    """(metrics, calibration curve) of the joint model and of own columns alone, on the held-out rows."""
    labels = np.asarray(party.shard.y_test, dtype=np.int8)
    models = {"joint": scores, "local-only": party.shard.X_test @ alone}
    curves = {name: metrics.calibration_curve(labels, values) for name, values in models.items()}
    return {name: measure_quality(labels, values) for name, values in models.items()}, curves


def measure_quality(y: ArrayLike, scores: Vector) -> Metrics:
    """All metrics by name; None for those not defined on these rows, because JSON has no NaN."""
    values = asdict(metrics.quality(y, scores))
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def weights_alone(party: TrainingParty) -> Vector | None:
    """Weights of own columns, as scikit-learn fits them with the plan's penalty (else C = 1); None without labels."""
    shard = party.shard
    if shard.y is None:
        return None
    if not shard.X.shape[1]:
        return np.zeros(0)
    penalties = shard.penalties(party.plan.l2 or 1.0 / len(shard))
    penalty: Matrix = np.diag(penalties) if penalties.ndim == 1 else penalties
    return fit_logistic(shard.X, shard.y, penalty, shard.weights)
