"""An encrypted run beside section 7's curves, which are drawn in the clear, on a small piece of the data.

The widest columns of the data set, 16 for each party where there are as many, and batches of no more rows than the
feature party has columns: it can solve them, from the real messages of the encrypted run as from the clear one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plumbob import datasets
from plumbob.arrays import Matrix, Vector
from plumbob.data import Table, split_array
from plumbob.lab.attacks.equations import solved_steps
from plumbob.lab.attacks.interface import View
from plumbob.lab.audit.theorems import JointRun
from plumbob.lab.audit.truth import Truth
from plumbob.lab.paper.findings import Curve, ExperimentOutcome, Figure, MeanPoint, PaperClaim, judged
from plumbob.lab.paper.readings import Study
from plumbob.lab.simulate import Run, train
from plumbob.model import metrics
from plumbob.plan import PAPER, Plan

COLUMNS = 32
SAME_WEIGHTS, SAME_CURVES = 1e-4, 0.01
WORDS = {
    "accuracy": "training accuracy",
    "attack": "labels read so far",
    "norm": "norm of the weights",
}


@dataclass(frozen=True)
class EncryptedSample:
    """The part of the data set that is used, and how it is encrypted."""

    rows: int = 256
    key_bits: int = 2048


def beside_clear(study: Study, piece: EncryptedSample) -> ExperimentOutcome:
    """One epoch, step by step, encrypted and in the clear."""
    split = _split(study)
    tables = _tables(study, piece, split)
    clear, encrypted = (_run(study, piece, split, tables, protocol) for protocol in ("clear", "exchange"))
    ends = [np.concatenate([one.weights for one in run.transcripts.values()]) for run in (clear, encrypted)]
    size = f"{piece.rows} rows, {split[0]} + {split[1]} columns"
    apart = float(np.abs(ends[0] - ends[1]).max())
    curves = {"encrypted": _course(encrypted), "clear": _course(clear)}
    figures = tuple(
        Figure(
            f"{study.name}-encrypted-{name}",
            f"Encrypted and in the clear: {words}",
            "step",
            words,
            tuple(
                Curve(series, tuple(MeanPoint(step, value) for step, value in enumerate(found[name], start=1)))
                for series, found in curves.items()
            ),
            f"{size}, one epoch, {piece.key_bits}-bit keys.",
            is_share=name != "norm",
        )
        for name, words in WORDS.items()
    )
    gap = max(float(np.abs(curves["encrypted"][name] - curves["clear"][name]).max()) for name in WORDS)
    claim = PaperClaim(
        "encrypted",
        "Protocol 1",
        "The encrypted protocol gives the same curves as the clear one.",
        f"{study.name}, {size}, exchange with {piece.key_bits}-bit keys",
        f"weights within {SAME_WEIGHTS:g}, curves within {SAME_CURVES:g}",
        f"weights at most {apart:.1e} apart, curves {gap:.1e}",
        judged(apart < SAME_WEIGHTS and gap <= SAME_CURVES),
        {"weights": apart, "curves": gap},
    )
    return ExperimentOutcome(figures, (claim,))


def _split(study: Study) -> tuple[int, int]:
    columns = min(COLUMNS, sum(study.split))
    return columns // 2, columns - columns // 2


def _tables(study: Study, piece: EncryptedSample, split: tuple[int, int]) -> dict[str, Table]:
    X, y = datasets.load(study.dataset, data_dir=study.data_dir)
    X, y = X[: piece.rows], y[: piece.rows]
    widest = np.sort(np.argsort(-X.std(axis=0), kind="stable")[: sum(split)])
    return dict(zip(("label", "features"), split_array(X[:, widest], y, split), strict=True))


def _run(study: Study, piece: EncryptedSample, split: tuple[int, int], tables: dict[str, Table], protocol: str) -> Run:
    keys: dict[str, Any] = {**PAPER, "scale": study.scale, "learning_rate": 0.01}
    plan = Plan.for_columns(
        split,
        protocol=protocol,
        start="xavier",
        epochs=1,
        batch_size=split[1],
        intercept=False,
        seed=1,
        key_bits=piece.key_bits,
        test_only_keys=piece.key_bits < 2048,
        **keys,
    )
    return train(plan, tables)


def _course(run: Run) -> dict[str, Vector]:
    """The course of a run: after each step, accuracy on all rows, the share of labels read, and the norm."""
    joint = JointRun.of(Truth.of(run))
    ends = np.concatenate([one.weights for one in run.transcripts.values()])
    weights: Matrix = np.vstack([joint.weights[1:], ends])
    y = joint.signs > 0
    return {
        "accuracy": np.array([metrics.accuracy(y, joint.X @ one) for one in weights]),
        "attack": _labels_read(run, joint.signs),
        "norm": np.linalg.norm(weights, axis=1),
    }


def _labels_read(run: Run, signs: Vector) -> Vector:
    view = View.of(run.transcripts["features"])
    right = [float(np.sum(-np.sign(solution.values) == signs[batch.rows])) for batch, _, solution in solved_steps(view)]
    return np.cumsum(right) / len(signs)
