"""Section 7 as a whole: runs every setting under each reading, judges its statements, and lays out its figures.

Its curves are drawn in the clear. An encrypted run stands beside them, on a small piece of the data: the widest columns
of the data set, 16 for each party where there are as many, and batches of no more rows than the feature party has
columns. It can solve them, from the real messages of the encrypted run as from the clear one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from plumbob.arrays import Matrix, Vector
from plumbob.counting import counted
from plumbob.data import Table, split_array
from plumbob.lab import datasets
from plumbob.lab.attacks.equations import solved_steps
from plumbob.lab.attacks.interface import View
from plumbob.lab.audit.truth import Truth
from plumbob.lab.paper.frames import Curve, ExperimentOutcome, Frame, PaperClaim, Point, judge
from plumbob.lab.paper.joint import JointRun
from plumbob.lab.paper.page import Book, Chapter, Group
from plumbob.lab.paper.quality import METRICS, curves_of, majority
from plumbob.lab.paper.runs import Effort, ResultStore
from plumbob.lab.paper.statements import Evidence, claims_of
from plumbob.lab.paper.study import PRESETS, RATE, PaperStudy, Setting, noise_of, settings_of
from plumbob.lab.simulate import Run, train
from plumbob.model import metrics
from plumbob.plan import PAPER, Plan

COLUMNS = 32
SAME_WEIGHTS, SAME_CURVES = 1e-4, 0.01
TITLES = {"mnist": "MNIST", "credit": "credit data"}
STEPS = {
    "figures": "one update over all rows for each plotted epoch",
    "text": "batches of 256, reshuffled, and real epochs",
}


@dataclass(frozen=True)
class EncryptedSample:
    """The part of the data set that is used, and how it is encrypted."""

    rows: int = 256
    key_bits: int = 2048


def book_of(
    study: PaperStudy, presets: Sequence[str], results: ResultStore, effort: Effort, piece: EncryptedSample
) -> Book:
    """Run what is not in the store yet, and judge it."""
    rows = len(study.tables("train")["label"])
    found = [
        Evidence(study, preset, curves_of(study, settings_of(preset, effort.is_quick), results, effort), rows)
        for preset in presets
    ]
    effort.tell(f"{study.name}: a small piece, encrypted")
    key = {"study": study.identity, "piece": asdict(piece)}
    encrypted = results.get_or_run(key, ExperimentOutcome, lambda: beside_clear(study, piece))
    left_out = [f"the reading {name} ({STEPS[name]})" for name in PRESETS if name not in presets]
    about = (
        f"Section 7 of Hu et al., Is Vertical Logistic Regression Privacy-Preserving?, trained again; "
        f"{counted(len(effort.all_seeds), 'seed')}."
    )
    return Book(
        study.name,
        f"The paper's figures on {TITLES.get(study.name, study.name)}",
        f"{about} Left out: {left_out[0]}; --preset both runs it too." if left_out else about,
        [*map(chapter_of, found), _encrypted_chapter(encrypted)],
        [claim for evidence in found for claim in claims_of(evidence)],
        [*(frame for evidence in found for frame in _tables_of(evidence)), *encrypted.frames],
    )


def _tables_of(evidence: Evidence) -> Iterator[Frame]:
    """Every metric of every setting, for the table of curves."""
    for metric, words in METRICS.items():
        frame = Frame(f"{evidence.study.name}-{evidence.preset}", words, "epoch", metric)
        frame.curves = {setting.name: curves[metric] for setting, curves in evidence.curves.items()}
        yield frame


# The figures of one reading.

FOUR = ("train_accuracy", "test_accuracy", "attack", "weight_norm")
LEFT_OUT = ("test_accuracy", "test_auc", "test_balanced_accuracy", "attack_balanced")


def chapter_of(evidence: Evidence) -> Chapter:
    """The paper's figures, the other starts, and what the paper leaves out."""
    plotted = [setting for setting in evidence.curves if setting.is_plotted]
    by_start = {start: [one for one in plotted if one.start == start] for start in ("xavier", "zero", "kaiming")}
    undefended = [setting for setting in plotted if setting.epsilon is None]
    intercept = [one for one in evidence.curves if one.start == "zero" and _is_for_intercept(one)]
    rates = [one for one in evidence.curves if one == Setting(evidence.preset, "xavier", rate=one.rate)]
    unit_rows = [one for one in evidence.curves if one.has_unit_rows]
    groups = (
        ("As the paper plots it: Xavier start", "xavier", by_start["xavier"], FOUR),
        ("The three starts, no defence", "starts", undefended, FOUR[:3]),
        ("Zero start", "zero", by_start["zero"], FOUR),
        ("Kaiming start", "kaiming", by_start["kaiming"], FOUR),
        ("What the paper leaves out: an intercept, AUC, balanced accuracy", "intercept", intercept, LEFT_OUT),
        ("The learning rates that the paper tried, no defence", "rates", rates, ("test_accuracy", "attack")),
        ("Rows clipped to norm 1, as the theorems assume", "unit-rows", unit_rows, ("attack", "test_accuracy")),
    )
    shown = [
        Group(heading, [_frame(evidence, name, settings, metric) for metric in shown_metrics])
        for heading, name, settings, shown_metrics in groups
        # One line alone compares nothing; the paper's own figure is shown whatever was run.
        if len(settings) > 1 or name == "xavier"
    ]
    stronger = Group("A stronger attacker subtracts its own scores", [_own_scores(evidence, undefended)])
    return Chapter(f"Curves, reading: {evidence.preset}", _in_words(evidence), [*shown, stronger])


def _is_for_intercept(setting: Setting) -> bool:
    return not setting.has_unit_rows and setting.epsilon in (None, 0.5)


def _frame(evidence: Evidence, name: str, settings: Sequence[Setting], metric: str) -> Frame:
    """One metric of several settings."""
    words = METRICS[metric]
    file = f"{evidence.study.name}-{evidence.preset}-{name}-{metric}".replace("_", "-")
    is_share = metric not in ("weight_norm", "test_auc")
    frame = Frame(file, words[0].upper() + words[1:], "epoch", words, is_share=is_share)
    has_one_start = len({setting.start for setting in settings}) == 1
    for setting in settings:
        frame.curves[setting.short_name if has_one_start else setting.start] = evidence.curves[setting][metric]
    if metric == "test_accuracy":
        for epoch in (1, evidence.study.epochs):
            frame.add("larger class", epoch, majority(evidence.study), is_reference=True)
    return frame


def _own_scores(evidence: Evidence, settings: Sequence[Setting]) -> Frame:
    """Both attackers, from every start but Kaiming, which is like Xavier."""
    name = f"{evidence.study.name}-{evidence.preset}-own-scores"
    frame = Frame(name, "Labels read, no defence", "epoch", METRICS["attack"], is_share=True)
    for setting in settings:
        if setting.start != "kaiming":
            curves = evidence.curves[setting]
            frame.curves[f"{setting.start}, criterion"] = curves["attack"]
            frame.curves[f"{setting.start}, own subtracted"] = curves["attack_without_own_scores"]
    return frame


def _in_words(evidence: Evidence) -> list[str]:
    study = evidence.study
    rows = "Standardised columns" if study.scale == "standard" else "Pixels divided by 255"
    sigma = noise_of(study, evidence.preset, evidence.rows, 0.5)
    return [
        f"{rows}, rows as long as they are, {study.split[0]} + {study.split[1]} columns, {STEPS[evidence.preset]}; "
        f"{study.epochs} epochs, learning rate {RATE:g}, no intercept. Noise by Theorem D.5 with delta = 0.1, G = 1, "
        f"T = 30 and e = {study.epochs}: at epsilon 0.5 the deviations are {sigma[0]:.1f} and {sigma[1]:.1f}.",
        "Lines are means over the seeds, bands their standard errors. The attack reads each residual as it was "
        "released, noise included, whatever the batch size: that is the paper's criterion.",
    ]


# A small piece, encrypted.

COURSES = {"accuracy": "training accuracy", "attack": "labels read so far", "norm": "norm of the weights"}


def beside_clear(study: PaperStudy, piece: EncryptedSample) -> ExperimentOutcome:
    """One epoch, step by step, encrypted and in the clear."""
    columns = min(COLUMNS, sum(study.split))
    split = (columns // 2, columns - columns // 2)
    tables = _tables(study, piece, split)
    clear, encrypted = (_run(study, piece, split, tables, protocol) for protocol in ("clear", "exchange"))
    size = f"{piece.rows} rows, {split[0]} + {split[1]} columns"
    courses = {"encrypted": _course(encrypted), "clear": _course(clear)}
    frames = []
    for name, words in COURSES.items():
        title = f"Encrypted and in the clear: {words}"
        caption = f"{size}, one epoch, {piece.key_bits}-bit keys."
        frame = Frame(f"{study.name}-encrypted-{name}", title, "step", words, caption, is_share=name != "norm")
        for series, course in courses.items():
            frame.curves[series] = Curve([Point(step, (float(value),)) for step, value in enumerate(course[name], 1)])
        frames.append(frame)
    apart = float(np.abs(_ends(encrypted) - _ends(clear)).max())
    gap = max(float(np.abs(courses["encrypted"][name] - courses["clear"][name]).max()) for name in COURSES)
    claim = PaperClaim(
        "encrypted",
        "Protocol 1",
        "The encrypted protocol gives the same curves as the clear one.",
        f"{study.name}, {size}, exchange with {piece.key_bits}-bit keys",
        f"weights within {SAME_WEIGHTS:g}, curves within {SAME_CURVES:g}",
        f"weights at most {apart:.1e} apart, curves {gap:.1e}",
        judge(apart < SAME_WEIGHTS and gap <= SAME_CURVES),
        {"weights": apart, "curves": gap},
    )
    return ExperimentOutcome(frames, [claim])


def _tables(study: PaperStudy, piece: EncryptedSample, split: tuple[int, int]) -> dict[str, Table]:
    X, y = datasets.load(study.dataset, data_dir=study.data_dir)
    X, y = X[: piece.rows], y[: piece.rows]
    widest = np.sort(np.argsort(-X.std(axis=0), kind="stable")[: sum(split)])
    return dict(zip(("label", "features"), split_array(X[:, widest], y, split), strict=True))


def _run(
    study: PaperStudy, piece: EncryptedSample, split: tuple[int, int], tables: dict[str, Table], protocol: str
) -> Run:
    keys = {
        **PAPER,
        "scale": study.scale,
        "learning_rate": RATE,
        "protocol": protocol,
        "start": "xavier",
        "epochs": 1,
        "batch_size": split[1],
        "intercept": False,
        "seed": 1,
        "key_bits": piece.key_bits,
        "test_only_keys": piece.key_bits < 2048,
    }
    return train(Plan.for_columns(split, **keys), tables)


def _ends(run: Run) -> Vector:
    """All parties' weights at the end."""
    return np.concatenate([transcript.weights for transcript in run.transcripts.values()])


def _course(run: Run) -> dict[str, Vector]:
    """The course of a run: after each step, accuracy on all rows, the share of labels read, and the norm."""
    joint = JointRun.of(Truth.of(run))
    weights: Matrix = np.vstack([joint.weights[1:], _ends(run)])
    view = View.of(run.transcripts["features"])
    right = [np.sum(-np.sign(found.values) == joint.signs[batch.rows]) for batch, _, found in solved_steps(view)]
    return {
        "accuracy": np.array([metrics.accuracy(joint.signs > 0, joint.X @ one) for one in weights]),
        "attack": np.cumsum(right) / len(joint.signs),
        "norm": np.linalg.norm(weights, axis=1),
    }


def _encrypted_chapter(outcome: ExperimentOutcome) -> Chapter:
    sentence = "The curves above are calculated in the clear, which gives what the encrypted protocol gives."
    groups = [Group("One epoch, step by step", outcome.frames)]
    return Chapter("The same curves, encrypted", [sentence], groups, outcome.claims)
