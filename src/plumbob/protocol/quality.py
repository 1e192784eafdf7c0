"""The quality of a run between organisations: held-out rows are scored at the end, for the label party alone.

Their scores count like any prediction. The label party puts them beside what it could have done alone, with a model of
its own columns that it fits at home.
"""

from dataclasses import asdict

import numpy as np
from numpy.typing import ArrayLike

from plumbob.arrays import Matrix, Vector
from plumbob.data import all_steps
from plumbob.model import metrics
from plumbob.model.links import log_odds
from plumbob.model.logistic import fit_logistic
from plumbob.protocol import schedules
from plumbob.protocol.account import LAST
from plumbob.protocol.openings import shows_quality
from plumbob.protocol.party import AnyParty, TrainingParty
from plumbob.protocol.prediction import scoring_of
from plumbob.protocol.transcript import ArbiterTranscript, Transcript

HELD_OUT = "held-out rows"
Metrics = dict[str, float | None]


def run_to_its_quality(party: AnyParty) -> tuple[Transcript | ArbiterTranscript, Vector | None]:
    """The whole training, then the scores of held-out rows, which only the label party gets."""
    transcript = party.run()
    scores = _held_out_scores(party) if isinstance(party, TrainingParty) else None
    # The last signatures: a run without them is not settled, and has no result.
    party.participant.meet(LAST)
    return transcript, scores


def _held_out_scores(party: TrainingParty) -> Vector | None:
    plan, held_out = party.plan, party.shard.held_out
    if not shows_quality(plan, len(party.table)):
        return None
    scoring = scoring_of(party.participant, party.session, party.table, party.model_part())
    last, at_once = all_steps(len(party.shard), plan), schedules.ROWS_AT_ONCE
    pieces = [held_out[start : start + at_once].tolist() for start in range(0, len(held_out), at_once)]
    if party.participant.name != plan.label_party.name:
        for step, piece in enumerate(pieces, last + 1):
            scoring.answer(step, piece)
        return None
    return np.concatenate([scoring.collect(step, piece) for step, piece in enumerate(pieces, last + 1)])


# At the label party.


def judged_at_home(
    party: TrainingParty, scores: Vector, alone: Vector
) -> tuple[dict[str, Metrics], dict[str, list[list[float]]]]:
    """(metrics, calibration curve) of the joint model and of own columns alone, on the held-out rows."""
    labels = np.asarray(party.shard.y_test, dtype=np.int8)
    models = {"joint": log_odds(party.plan, scores), "local-only": party.shard.X_test @ alone}
    curves = {name: metrics.calibration_curve(labels, values) for name, values in models.items()}
    return {name: measured(labels, values) for name, values in models.items()}, curves


def threshold_at_home(party: TrainingParty, scores: Vector) -> float | None:
    """The threshold with the largest balanced accuracy on the held-out rows, whose scores are here already."""
    return metrics.balanced_threshold(np.asarray(party.shard.y_test, dtype=np.int8), log_odds(party.plan, scores))


def measured(y: ArrayLike, scores: Vector) -> Metrics:
    """All metrics by name; None for those not defined on these rows, because JSON has no NaN."""
    values = asdict(metrics.quality(y, scores))
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def weights_alone(party: TrainingParty) -> Vector | None:
    """Weights of own columns, as scikit-learn fits them with the plan's penalty (else C = 1); None without labels.

    They are what `predict --local-if-away` falls back to.
    """
    shard = party.shard
    if shard.y is None:
        return None
    if not shard.X.shape[1]:
        return np.zeros(0)
    penalties = shard.penalties(party.plan.l2 or 1.0 / len(shard))
    penalty: Matrix = np.diag(penalties) if penalties.ndim == 1 else penalties
    return fit_logistic(shard.X, shard.y, penalty, shard.weights)
