"""Section 7 as a whole: runs every setting under each reading, judges its statements, and lays out its figures.

Its curves are drawn in the clear. An encrypted run stands beside them, on a small piece of the data: the widest columns
of the data set, 16 for each party where there are as many, and batches of no more rows than the feature party has
columns. It can solve them, from the real messages of the encrypted run as from the clear one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from plumbob import datasets
from plumbob.arrays import Matrix, Vector
from plumbob.counting import counted
from plumbob.data import Table, split_array
from plumbob.lab.attacks.equations import solved_steps
from plumbob.lab.attacks.interface import View
from plumbob.lab.audit.truth import Truth
from plumbob.lab.paper.findings import (
    Book,
    Chapter,
    Curve,
    ExperimentOutcome,
    Figure,
    Group,
    Headline,
    MeanPoint,
    PaperClaim,
    judged,
)
from plumbob.lab.paper.promises import JointRun
from plumbob.lab.paper.quality import METRICS, curves_of, majority
from plumbob.lab.paper.readings import PRESETS, RATE, STARTS, Effort, ResultStore, Setting, Study, noise_of, settings_of
from plumbob.lab.paper.statements import ALMOST_ALL, Evidence, claims_of, first_epochs
from plumbob.lab.simulate import Run, train
from plumbob.model import metrics
from plumbob.plan import PAPER, Plan

COLUMNS = 32
SAME_WEIGHTS, SAME_CURVES = 1e-4, 0.01
STEPS = {
    "figures": "one update over all rows for each plotted epoch",
    "text": "batches of 256, reshuffled, and real epochs",
}
WORDS = {
    "accuracy": "training accuracy",
    "attack": "labels read so far",
    "norm": "norm of the weights",
}


def chapter_of(evidence: Evidence) -> Chapter:
    """A chapter with the paper's figures, the other starts, and what it leaves out."""
    curves = evidence.curves
    paper = [setting for setting in curves if setting.is_plotted]
    by_start = {start: [one for one in paper if one.start == start] for start in STARTS}
    four = ("train_accuracy", "test_accuracy", "attack", "weight_norm")
    undefended = [setting for setting in paper if setting.epsilon is None]
    with_intercept = [
        one for one in curves if one.start == "zero" and not one.has_unit_rows and one.epsilon in (None, 0.5)
    ]
    groups = [
        _group(evidence, "As the paper plots it: Xavier start", "xavier", by_start["xavier"], four),
        _group(evidence, "The three starts, no defence", "starts", undefended, four[:3]),
        _group(evidence, "Zero start", "zero", by_start["zero"], four, is_folded=True),
        _group(evidence, "Kaiming start", "kaiming", by_start["kaiming"], four, is_folded=True),
        _group(
            evidence,
            "What the paper leaves out: an intercept, AUC, balanced accuracy",
            "intercept",
            with_intercept,
            ("test_accuracy", "test_auc", "test_balanced_accuracy", "attack_balanced"),
        ),
        _group(
            evidence,
            "The learning rates that the paper tried, no defence",
            "rates",
            [setting for setting in curves if (setting.start, setting.epsilon) == ("xavier", None)],
            ("test_accuracy", "attack"),
        ),
        Group("A stronger attacker subtracts its own scores", (_own_scores_figure(evidence, undefended),)),
        _group(
            evidence,
            "Rows clipped to norm 1, as the theorems assume",
            "unit-rows",
            [setting for setting in curves if setting.has_unit_rows],
            ("attack", "test_accuracy"),
        ),
    ]
    shown = tuple(group for group in groups if group.figures)
    return Chapter(f"Curves, reading: {evidence.preset}", _in_words(evidence), shown)


def _group(
    evidence: Evidence,
    heading: str,
    name: str,
    settings: Sequence[Setting],
    metrics: Sequence[str],
    is_folded: bool = False,
) -> Group:
    """One figure for each metric with the same settings; none where nothing was run."""
    starts = {setting.start for setting in settings}
    figures = []
    for metric in metrics if len(settings) > 1 or name == "xavier" else ():
        curves = []
        for setting in settings:
            series = setting.short_name if len(starts) == 1 else setting.start
            curves.append(replace(evidence.curves[setting][metric], series=series))
        if metric == "test_accuracy":
            curves.append(_majority_curve(evidence))
        file = f"{evidence.study.name}-{evidence.preset}-{name}-{metric}".replace("_", "-")
        title = METRICS[metric][0].upper() + METRICS[metric][1:]
        is_share = metric not in ("weight_norm", "test_auc")
        figures.append(Figure(file, title, "epoch", METRICS[metric], tuple(curves), is_share=is_share))
    return Group(heading, tuple(figures), is_folded)


def _own_scores_figure(evidence: Evidence, settings: Sequence[Setting]) -> Figure:
    """A figure of both attackers, from every start but Kaiming, which is like Xavier."""
    curves = [
        replace(evidence.curves[setting][metric], series=f"{setting.start}, {words}")
        for setting in settings
        if setting.start != "kaiming"
        for metric, words in (("attack", "criterion"), ("attack_without_own_scores", "own subtracted"))
    ]
    name = f"{evidence.study.name}-{evidence.preset}-own-scores"
    return Figure(name, "Labels read, no defence", "epoch", METRICS["attack"], tuple(curves), is_share=True)


def _majority_curve(evidence: Evidence) -> Curve:
    baseline = majority(evidence.study)
    ends = (1, evidence.study.epochs)
    return Curve("larger class", tuple(MeanPoint(epoch, baseline) for epoch in ends), is_reference=True)


def _in_words(evidence: Evidence) -> tuple[str, ...]:
    study = evidence.study
    rows = "standardised columns" if study.scale == "standard" else "pixels divided by 255"
    steps = STEPS[evidence.preset]
    sigma = noise_of(study, evidence.preset, evidence.rows, 0.5)
    return (
        f"{rows[0].upper()}{rows[1:]}, rows as long as they are, {study.split[0]} + {study.split[1]} columns, {steps}; "
        f"{study.epochs} epochs, learning rate {RATE:g}, no intercept. Noise by Theorem D.5 with delta = 0.1, G = 1, "
        f"T = 30 and e = {study.epochs}: at epsilon 0.5 the deviations are {sigma[0]:.1f} and {sigma[1]:.1f}.",
        "Lines are means over the seeds, bands their standard errors. The attack reads each residual as it was "
        "released, noise included, whatever the batch size: that is the paper's criterion.",
    )


def tables_of(evidence: Evidence) -> Iterator[Figure]:
    """Figures with every metric of every setting, for the table of curves."""
    for metric, words in METRICS.items():
        curves = tuple(curves[metric] for curves in evidence.curves.values())
        yield Figure(f"{evidence.study.name}-{evidence.preset}", words, "epoch", metric, curves)


# A small piece, encrypted


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
    keys: dict[str, Any] = {**PAPER, "scale": study.scale, "learning_rate": RATE}
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


# The whole


def book_of(study: Study, presets: Sequence[str], results: ResultStore, effort: Effort, piece: EncryptedSample) -> Book:
    """Run what is not in the store yet, and judge it."""
    rows = len(study.tables("train")["label"])
    evidence = [
        Evidence(study, preset, curves_of(study, settings_of(preset, effort.is_quick), results, effort), rows)
        for preset in presets
    ]
    effort.tell(f"{study.name}: a small piece, encrypted")
    key = {"study": study.identity, "piece": asdict(piece)}
    stored = results.get_or_run(f"{study.name} encrypted", key, lambda: beside_clear(study, piece).to_dict())
    encrypted = ExperimentOutcome.from_dict(stored)
    claims = [claim for one in evidence for claim in claims_of(one)]
    tables = [table for one in evidence for table in tables_of(one)]
    chapters = [*(chapter_of(one) for one in evidence), _encrypted_chapter(encrypted)]
    return Book(
        study.name,
        f"The paper's figures on {TITLES.get(study.name, study.name)}",
        f"Section 7 of Hu et al., Is Vertical Logistic Regression Privacy-Preserving?, trained again; "
        f"{counted(len(effort.all_seeds), 'seed')}. {_left_out(presets)}".strip(),
        (*claims, *encrypted.claims),
        tuple(chapters),
        (*tables, *encrypted.figures),
        tuple(_headlines(evidence[0])),
    )


def _left_out(presets: Sequence[str]) -> str:
    """The reading of section 7 that was not run, by its name."""
    missing = [f"the reading {name} ({STEPS[name]})" for name in PRESETS if name not in presets]
    return f"Left out: {missing[0]}; --preset both runs it too." if missing else ""


def _headlines(evidence: Evidence) -> Iterator[Headline]:
    """Headlines about the attack and the model, from the first reading."""
    remark = f"{evidence.preset}, Xavier start"
    plain = evidence.curve("attack", "xavier")
    reached = f"{first_epochs(plain)} of {len(plain.points)} epochs" if plain.means[0] >= ALMOST_ALL else "never"
    yield Headline("label attack at 100 %, no defence", reached, remark)
    noisy = [sum(curve.means) / len(curve.means) for curve in evidence.defended("attack")]
    yield Headline(
        "label attack under noise", f"{100 * sum(noisy) / len(noisy):.1f} %", f"{evidence.preset}, all settings"
    )
    yield Headline("test accuracy, no defence", f"{100 * evidence.curve('test_accuracy', 'xavier').last:.1f} %", remark)
    yield Headline("at epsilon 0.5", f"{100 * evidence.curve('test_accuracy', 'xavier', 0.5).last:.1f} %", remark)


TITLES = {"mnist": "MNIST", "credit": "credit data"}


def _encrypted_chapter(outcome: ExperimentOutcome) -> Chapter:
    said = outcome.claims[0]
    sentences = (
        "The curves above are calculated in the clear, which gives what the encrypted protocol gives: "
        f"{said.reading}: {said.measured}.",
    )
    return Chapter("The same curves, encrypted", sentences, (Group("One epoch, step by step", outcome.figures),))
