"""The theorems as experiments, in the paper's order, then what goes beyond it.

Here are those of sections 5 and 6: what packing reads, what noise hides, and what averaging takes back.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from plumbob.checking.study import noise_std
from plumbob.data import split_array
from plumbob.lab import bounds
from plumbob.lab.attacks.hooks import Hook, hooked
from plumbob.lab.attacks.interface import View
from plumbob.lab.attacks.label_average import LABEL_AVERAGE
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.attacks.packing import AuxiliaryPacking, OneHotPacking, TruncatedPacking, recover_column
from plumbob.lab.audit.truth import Truth
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.lab.paper import features, labels
from plumbob.lab.paper.findings import (
    Book,
    Chapter,
    Curve,
    ExperimentOutcome,
    Figure,
    Group,
    Headline,
    PaperClaim,
    judged,
    kept_claim,
)
from plumbob.lab.paper.promises import Promise, measured
from plumbob.lab.paper.readings import Effort, ResultStore
from plumbob.lab.paper.runs import SMALL_STEPS, Samples, column_errors, exact_readings, label_rates, trained
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan

SPLIT = (11, 12)
FEW = (4, 2)
RESIDUAL_BITS = 36


def packing(effort: Effort, key_bits: int = 2048) -> ExperimentOutcome:
    """Section 5.2: residuals that a feature party with two columns reads in a step, by batch size; really encrypted."""
    sizes = (8, 32, 64) if effort.is_quick else (2, 4, 8, 32, 64, 112, 160)
    alone = [_determined_share(effort, size) for size in sizes]
    kinds: dict[str, tuple[type[Hook], str]] = {
        "Algorithm 2, whole replies": (AuxiliaryPacking, "paper"),
        "one-hot slots, whole replies": (OneHotPacking, "paper"),
        "cut replies": (TruncatedPacking, "packed"),
    }
    read = {
        words: [_share_read(effort, size, attack(), replies, key_bits) for size in sizes]
        for words, (attack, replies) in kinds.items()
    }
    slots = bounds.slots(key_bits, 64)
    solvable, reach = (bounds.largest_solvable_batch(FEW[1], count) for count in (1, slots))
    figure = Figure(
        "packing",
        "Residuals of a batch that two columns give away",
        "rows in a batch",
        "share",
        (
            Curve.of("solving alone", sizes, alone),
            *(Curve.of(words, sizes, shares) for words, shares in read.items()),
        ),
        f"{key_bits}-bit keys. Solving needs batches of at most {solvable}; the paper has {slots} slots a plaintext.",
        is_share=True,
    )
    claims = (
        _reach_claim(figure.curves[1], reach, key_bits),
        _cut_claim(figure.curves[3]),
        _packed_values_claim(effort, key_bits),
    )
    return ExperimentOutcome((figure,), claims)


def _reach_claim(curve: Curve, reach: int, key_bits: int) -> PaperClaim:
    lowest = min(point.mean for point in curve.points if point.x <= reach)
    return PaperClaim(
        "packing",
        "section 5.2, Algorithm 2",
        "Hidden sums in the replies let a party solve batches of up to u d rows, u = 31 for 2048-bit keys.",
        f"credit, exchange with {key_bits}-bit keys, two columns",
        f"every residual read, to the last bit, in batches of up to {reach} rows",
        f"at least {lowest:.2f} of the residuals",
        judged(lowest == 1.0),
        {"lowest": lowest, "reach": reach},
    )


def _cut_claim(curve: Curve) -> PaperClaim:
    most = max(point.x * point.mean for point in curve.points)
    return PaperClaim(
        "cut-replies",
        "not in the paper",
        "Replies cut to the width of an honest one stop the packing attack.",
        'the same, replies = "packed"',
        "fewer than 10 residuals per step, however large the batch",
        f"at most {most:.0f} residuals per step",
        judged(most < 10),
        {"most": most},
    )


def _packed_values_claim(effort: Effort, key_bits: int) -> PaperClaim:
    columns, batch = 5, 32
    X, y = effort.credit(8 * batch, 0)
    hook, split = OneHotPacking(), (columns, 1)
    # What the encoding rounds is rounded in the values: scores of small steps are small.
    small = {"residual_bits": RESIDUAL_BITS, "learning_rate": 0.1}
    keys = {"protocol": "exchange", "batch_size": batch, "epochs": 3, "replies": "paper", "key_bits": key_bits, **small}
    run = _hooked(split, (X[:, -columns - 1 :], y), hook, "label", keys)
    view, truth = View.of(run.transcripts["label"]), run.transcripts["features"].X[:, 0]
    found = column_errors(lambda seen: recover_column(seen, hook.readings), view, truth)
    error = found.get("largest error of a determined row, in standard deviations")
    error = 1.0 if error is None or found["determined"] < 1.0 else error
    return PaperClaim(
        "packed-values",
        "section 5.2",
        "From the scores that packing reads, a label party learns every value of the feature party's only column.",
        f"credit, exchange with {key_bits}-bit keys, column 0, batches of {batch} against {columns} own columns, "
        f"residuals rounded to {RESIDUAL_BITS} bits",
        "every value, with an error below 1e-9 standard deviations",
        f"largest error {error:.1e}",
        judged(error < 1e-9),
        {"largest_error": error},
    )


def _data(effort: Effort, size: int) -> Samples:
    """Data with at least two batches, and enough rows for both classes."""
    X, y = effort.credit(max(2 * size, 16))
    return X[:, : sum(FEW)], y


def _determined_share(effort: Effort, size: int) -> float:
    """The share of residuals that own sums fix without cheating."""
    return float(label_rates(trained(FEW, *_data(effort, size), batch_size=size, epochs=1), LABEL_SIGN)["determined"])


def _share_read(effort: Effort, size: int, hook: Hook, replies: str, key_bits: int) -> float:
    """The share of a batch's residuals that the attacker read in its best step, right to the last bit."""
    keys = {"protocol": "exchange", "batch_size": size, "epochs": 1, "replies": replies, "key_bits": key_bits}
    run = _hooked(FEW, _data(effort, size), hook, "features", keys)
    right = exact_readings(run, "features", hook)
    return max((int(flags.sum()) for flags in right), default=0) / size


def _hooked(split: tuple[int, int], data: Samples, hook: Hook, by: str, keys: dict[str, Any]) -> Run:
    """A run under real encryption in which one party packs."""
    plan = Plan.for_columns(split, **(SMALL_STEPS | keys), test_only_keys=keys["key_bits"] < 2048)
    tables = dict(zip(("label", "features"), split_array(*data, split), strict=True))
    return train(plan, tables, instead={by: hooked(ExchangeParty, hook)})


WORDS = {
    "Lemma 6.3": ("Norm of the noise in a gradient", "norm", "The noise in every gradient stays below u."),
    "Theorem 6.4": ("Loss of the mean weights", "loss", "The loss of the mean weights stays below its bound."),
    "Theorem 6.6": (
        "Steps in which every score stays below 2",
        "steps",
        "Scores stay below 2 for the promised steps (it limits drift, not what noise hides).",
    ),
}


def noise(effort: Effort) -> ExperimentOutcome:
    """Lemma 6.3, Theorems 6.4 and 6.6: what they promise under noise, beside runs."""
    stds = (0.1, 3.0) if effort.is_quick else (0.1, 0.3, 1.0, 3.0, 10.0)
    found = [[_promises(effort, std, seed) for seed in effort.all_seeds] for std in stds]
    parts = [_theorem(theorem, stds, found) for theorem in WORDS]
    return ExperimentOutcome(tuple(figure for figure, _ in parts), tuple(claim for _, claim in parts))


def _promises(effort: Effort, std: float, seed: int) -> dict[str, Promise]:
    keys: dict[str, Any] = {"noise": "std", "noise_std": std, "row_norm": 1.0, "learning_rate": 0.02}
    run = trained(SPLIT, *effort.credit(1000), batch_size=50, epochs=8, seed=seed, **keys)
    return {one.theorem: one for one in measured(Truth.of(run))}


def _theorem(
    theorem: str, stds: Sequence[float], found: Sequence[Sequence[dict[str, Promise]]]
) -> tuple[Figure, PaperClaim]:
    title, metric, says = WORDS[theorem]
    name = theorem.lower().replace(" ", "-").replace(".", "-")
    ones = [[promises[theorem] for promises in runs] for runs in found]
    figure = Figure(
        name,
        f"{theorem}: {title}",
        "deviation of the noise",
        metric,
        (
            Curve.of("promised", stds, [[one.promised for one in runs] for runs in ones], True),
            Curve.of("measured", stds, [[one.measured for one in runs] for runs in ones]),
        ),
        is_logarithmic=theorem == "Lemma 6.3",
        has_logarithmic_x=True,
    )
    kept = [one.is_kept for runs in ones for one in runs]
    reading = "credit, rows clipped to norm 1, 160 steps of 50 rows"
    return figure, kept_claim(name, theorem, says, reading, "kept in every run", kept)


def averaging(effort: Effort) -> ExperimentOutcome:
    """Beyond the paper: the mean over visits against noise that was, or was not, set for the epochs really run."""
    epochs = (1, 9) if effort.is_quick else (1, 4, 9, 16, 25)
    X, y = effort.credit(3000)
    kinds: dict[str, dict[str, Any]] = {
        "deviation 10": {"noise": "std", "noise_std": 10.0},
        "epsilon 0.5, one epoch": {"noise": "heuristic", "epsilon": 0.5, "delta": 0.1, "heuristic": {"e": 1}},
        "epsilon 0.5, all epochs": {"noise": "heuristic", "epsilon": 0.5, "delta": 0.1},
    }
    curves, gaps = [], []
    for words, keys in kinds.items():
        points, expected = [], []
        for count in epochs:
            found = [
                trained(SPLIT, X, y, row_norm=1.0, batch_size=8, epochs=count, seed=seed, learning_rate=1e-4, **keys)
                for seed in list(effort.all_seeds)[:3]
            ]
            points.append([label_rates(run, LABEL_AVERAGE)["rate"] for run in found])
            std = noise_std(found[0].model.plan, "label")
            expected.append(float(ndtr(2 * math.sqrt(count) / std)))
        curves += [Curve.of(words, epochs, points), Curve.of(f"formula, {words}", epochs, expected, True)]
        gaps += [abs(one - other) for one, other in zip(curves[-2].means, expected, strict=True)]
    figure = Figure(
        "averaging",
        "Labels read from the mean over all visits",
        "epochs",
        "labels right",
        tuple(curves),
        "Noise of a given deviation, or the paper's, set for one epoch or for all of them.",
        is_share=True,
    )
    calibrated, once = curves[4].last, curves[2].last
    claims = (
        PaperClaim(
            "averaging",
            "not in the paper; section 7 leaves e open",
            "The paper's noise holds against averaging over the epochs.",
            "credit, e = the epochs really run",
            "at most 0.55 of the labels",
            f"{calibrated:.3f} of the labels after {epochs[-1]} epochs; {once:.3f} if sigma was set for one epoch",
            judged(calibrated <= 0.55),
            {"set_for_all_epochs": calibrated, "set_for_one_epoch": once},
        ),
        PaperClaim(
            "averaging-formula",
            "not in the paper",
            "The mean over E visits gives Phi(2 sqrt(E) / sigma) of the labels.",
            "credit, small scores",
            "within 0.03",
            f"largest difference {max(gaps):.3f}",
            judged(max(gaps) <= 0.03),
            {"largest_difference": float(np.max(gaps))},
        ),
    )
    return ExperimentOutcome((figure,), claims)


# All of them


@dataclass(frozen=True)
class Experiment:
    """One experiment, under the name of its file."""

    name: str
    heading: str
    run: Callable[[Effort], ExperimentOutcome]


EXPERIMENTS = (
    Experiment("merging", "One column, value by value (Lemma 3.4, Theorem 3.5, Remark 4.9)", features.merging),
    Experiment("hardness", "Several columns: a rotation stays open (Theorem 3.6)", features.hardness),
    Experiment("no-features", "A label party without columns (Theorem 4.1)", labels.no_features),
    Experiment("criterion", "The criterion, and how long it holds (Lemma 4.4 to Theorem 4.6)", labels.criterion),
    Experiment("starts", "Starting weights (Theorem 4.8, large random starts)", labels.starts),
    Experiment("parties", "Many parties (Theorem 4.10)", labels.parties),
    Experiment("packing", "Hidden sums in replies (Algorithm 2, section 5.2)", packing),
    Experiment("noise", "Utility and drift under noise (Lemma 6.3, Theorems 6.4 and 6.6)", noise),
    Experiment("minimax", "Minimax (Theorem E.3)", labels.minimax),
    Experiment("piecewise", "Piecewise (Theorem F.2)", labels.piecewise),
    Experiment("other-curves", "One column under minimax and piecewise (E.2, F.1)", features.other_curves),
    Experiment("stacked", "Beyond: all steps' equations together", labels.stacked),
    Experiment("geometry", "Beyond: everything but the rotation", features.geometry),
    Experiment("averaging", "Beyond: averaging against noise", averaging),
    Experiment("batch-of-one", "Beyond: batches of one row", features.batch_of_one),
)


def book_of(results: ResultStore, effort: Effort, experiments: tuple[Experiment, ...] = EXPERIMENTS) -> Book:
    """Run what is not in the store yet, and judge it."""
    found = {}
    for place, experiment in enumerate(experiments, start=1):
        effort.tell(f"{experiment.name} ({place} of {len(experiments)})")
        settings = {"experiment": experiment.name, "seeds": len(effort.all_seeds), "quick": effort.is_quick}
        found[experiment] = ExperimentOutcome.from_dict(
            results.get_or_run(f"attacks {experiment.name}", settings, partial(_stored, experiment, effort))
        )
    return Book(
        "attacks",
        "The paper's theorems, tried",
        "Each theorem of Hu et al., Is Vertical Logistic Regression Privacy-Preserving?, as a small experiment, and "
        "what goes beyond it.",
        tuple(claim for outcome in found.values() for claim in outcome.claims),
        tuple(_chapter(experiment, outcome) for experiment, outcome in found.items()),
        tuple(figure for outcome in found.values() for figure in outcome.figures),
        tuple(_headlines(found.values())),
    )


def _headlines(outcomes: Iterable[ExperimentOutcome]) -> Iterator[Headline]:
    """Headlines on what goes furthest beyond the paper, if it was tried."""
    values = {claim.name: claim.values for outcome in outcomes for claim in outcome.claims}
    if "stacked" in values:
        auc = values["stacked"]["reshuffled"]
        yield Headline(
            "AUC of labels in large batches", f"{auc:.3f}", "batches of 64, 12 columns, all epochs' equations"
        )
    if "geometry" in values:
        error = values["geometry"]["values"]
        yield Headline("error of several columns", f"{error:.0e}", "once a few rows are known")
    if "batch-of-one" in values:
        error = values["batch-of-one"]["largest_error"]
        yield Headline("error with batches of one", f"{error:.0e}", "which the paper calls safe")


def _stored(experiment: Experiment, effort: Effort) -> dict[str, Any]:
    return experiment.run(effort).to_dict()


def _chapter(experiment: Experiment, outcome: ExperimentOutcome) -> Chapter:
    sentences = tuple(
        f"{claim.says} Measured ({claim.reading}): {claim.measured}; {claim.verdict}." for claim in outcome.claims
    )
    return Chapter(experiment.heading, sentences, (Group("", outcome.figures),))
