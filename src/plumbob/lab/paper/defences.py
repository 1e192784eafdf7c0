"""Sections 5 and 6: what packing reads, what noise hides, and what averaging takes back."""

import math
from collections.abc import Callable
from typing import Any

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
from plumbob.lab.paper.frames import ExperimentOutcome, Frame, PaperClaim, claim_of_bound, judge
from plumbob.lab.paper.joint import JointRun, promises
from plumbob.lab.paper.runs import SMALL_STEPS, Effort, Samples, column_errors, exact_readings, label_rates, trained
from plumbob.lab.simulate import Run, train
from plumbob.plan import Plan

SPLIT = (11, 12)
FEW = (4, 2)
RESIDUAL_BITS = 36
WHOLE, CUT = "Algorithm 2, whole replies", "cut replies"
KINDS: dict[str, tuple[Callable[[], Hook], str]] = {
    WHOLE: (AuxiliaryPacking, "paper"),
    "one-hot slots, whole replies": (OneHotPacking, "paper"),
    CUT: (TruncatedPacking, "packed"),
}
"""The packing attacks, each with the replies that it is tried against."""


def packing(effort: Effort, key_bits: int = 2048) -> ExperimentOutcome:
    """Section 5.2: residuals that a feature party with two columns reads in a step, by batch size; really encrypted."""
    slots = bounds.slots(key_bits, 64)
    solvable, reach = (bounds.largest_solvable_batch(FEW[1], count) for count in (1, slots))
    frame = Frame(
        "packing",
        "Residuals of a batch that two columns give away",
        "rows in a batch",
        "share",
        f"{key_bits}-bit keys. Solving needs batches of at most {solvable}; the paper has {slots} slots a plaintext.",
        is_share=True,
    )
    for size in (8, 32, 64) if effort.is_quick else (2, 4, 8, 32, 64, 112, 160):
        alone = trained(FEW, *_data(effort, size), batch_size=size, epochs=1)
        frame.add("solving alone", size, label_rates(alone, LABEL_SIGN).determined)
        for words, (attack, replies) in KINDS.items():
            frame.add(words, size, _share_read(effort, size, attack(), replies, key_bits))
    lowest = min(point.mean for point in frame[WHOLE].points if point.x <= reach)
    most = max(point.x * point.mean for point in frame[CUT].points)
    whole = PaperClaim(
        "packing",
        "section 5.2, Algorithm 2",
        "Hidden sums in the replies let a party solve batches of up to u d rows, u = 31 for 2048-bit keys.",
        f"credit, exchange with {key_bits}-bit keys, two columns",
        f"every residual read, to the last bit, in batches of up to {reach} rows",
        f"at least {lowest:.2f} of the residuals",
        judge(lowest == 1.0),
        {"lowest": lowest, "reach": reach},
    )
    cut = PaperClaim(
        "cut-replies",
        "not in the paper",
        "Replies cut to the width of an honest one stop the packing attack.",
        'the same, replies = "packed"',
        "fewer than 10 residuals per step, however large the batch",
        f"at most {most:.0f} residuals per step",
        judge(most < 10),
        {"most": most},
    )
    return ExperimentOutcome([frame], [whole, cut, _packed_values(effort, key_bits)])


def _packed_values(effort: Effort, key_bits: int) -> PaperClaim:
    columns, batch = 5, 32
    X, y = effort.credit(8 * batch, 0)
    hook, split = OneHotPacking(), (columns, 1)
    # What the encoding rounds is rounded in the values: scores of small steps are small.
    small = {"residual_bits": RESIDUAL_BITS, "learning_rate": 0.1}
    keys = {"batch_size": batch, "epochs": 3, "replies": "paper", "key_bits": key_bits, **small}
    run = _hooked(split, (X[:, -columns - 1 :], y), hook, "label", keys)
    view, truth = View.of(run.transcripts["label"]), run.transcripts["features"].X[:, 0]
    found = column_errors(lambda seen: recover_column(seen, hook.readings), view, truth)
    error = found.largest if found.determined == 1.0 else 1.0
    return PaperClaim(
        "packed-values",
        "section 5.2",
        "From the scores that packing reads, a label party learns every value of the feature party's only column.",
        f"credit, exchange with {key_bits}-bit keys, column 0, batches of {batch} against {columns} own columns, "
        f"residuals rounded to {RESIDUAL_BITS} bits",
        "every value, with an error below 1e-9 standard deviations",
        f"largest error {error:.1e}",
        judge(error < 1e-9),
        {"largest_error": error},
    )


def _data(effort: Effort, size: int) -> Samples:
    """Data with at least two batches, and enough rows for both classes."""
    X, y = effort.credit(max(2 * size, 16))
    return X[:, : sum(FEW)], y


def _share_read(effort: Effort, size: int, hook: Hook, replies: str, key_bits: int) -> float:
    """The share of a batch's residuals that the attacker read in its best step, right to the last bit."""
    keys = {"batch_size": size, "epochs": 1, "replies": replies, "key_bits": key_bits}
    run = _hooked(FEW, _data(effort, size), hook, "features", keys)
    return max((int(right.sum()) for right in exact_readings(run, "features", hook)), default=0) / size


def _hooked(split: tuple[int, int], data: Samples, hook: Hook, by: str, keys: dict[str, Any]) -> Run:
    """A run under real encryption in which one party packs."""
    is_test = keys["key_bits"] < 2048
    plan = Plan.for_columns(split, **{**SMALL_STEPS, "protocol": "exchange", **keys}, test_only_keys=is_test)
    tables = dict(zip(("label", "features"), split_array(*data, split), strict=True))
    return train(plan, tables, instead={by: hooked(ExchangeParty, hook)})


THEOREMS = {
    "Lemma 6.3": ("Norm of the noise in a gradient", "norm", "The noise in every gradient stays below u."),
    "Theorem 6.4": ("Loss of the mean weights", "loss", "The loss of the mean weights stays below its bound."),
    "Theorem 6.6": (
        "Steps in which every score stays below 2",
        "steps",
        "Scores stay below 2 for the promised steps (it limits drift, not what noise hides).",
    ),
}
"""For each theorem about noise: its figure's title and axis, and what it says."""


def noise(effort: Effort) -> ExperimentOutcome:
    """Lemma 6.3, Theorems 6.4 and 6.6: what they promise under noise, beside runs."""
    keys: dict[str, Any] = {"noise": "std", "row_norm": 1.0, "learning_rate": 0.02, "batch_size": 50, "epochs": 8}
    found = {}
    for std in (0.1, 3.0) if effort.is_quick else (0.1, 0.3, 1.0, 3.0, 10.0):
        runs = [trained(SPLIT, *effort.credit(1000), seed=seed, noise_std=std, **keys) for seed in effort.all_seeds]
        found[std] = [promises(JointRun.of(Truth.of(run))) for run in runs]
    frames, claims = [], []
    for theorem, (title, metric, says) in THEOREMS.items():
        name = theorem.lower().replace(" ", "-").replace(".", "-")
        frame = Frame(
            name,
            f"{theorem}: {title}",
            "deviation of the noise",
            metric,
            logarithmic="xy" if theorem == "Lemma 6.3" else "x",
        )
        for std, runs_promises in found.items():
            frame.add("promised", std, [one[theorem].promised for one in runs_promises], is_reference=True)
            frame.add("measured", std, [one[theorem].measured for one in runs_promises])
        frames.append(frame)
        holds = [one[theorem].is_kept for runs_promises in found.values() for one in runs_promises]
        reading = "credit, rows clipped to norm 1, 160 steps of 50 rows"
        claims.append(claim_of_bound(name, theorem, says, reading, "kept in every run", holds))
    return ExperimentOutcome(frames, claims)


ONCE, ALWAYS = "epsilon 0.5, one epoch", "epsilon 0.5, all epochs"
HEURISTIC: dict[str, Any] = {"noise": "heuristic", "epsilon": 0.5, "delta": 0.1}
NOISES: dict[str, dict[str, Any]] = {
    "deviation 10": {"noise": "std", "noise_std": 10.0},
    ONCE: {**HEURISTIC, "heuristic": {"e": 1}},
    ALWAYS: HEURISTIC,
}


def averaging(effort: Effort) -> ExperimentOutcome:
    """Beyond the paper: the mean over visits against noise that was, or was not, set for the epochs really run."""
    epochs = (1, 9) if effort.is_quick else (1, 4, 9, 16, 25)
    X, y = effort.credit(3000)
    frame = Frame(
        "averaging",
        "Labels read from the mean over all visits",
        "epochs",
        "labels right",
        "Noise of a given deviation, or the paper's, set for one epoch or for all of them.",
        is_share=True,
    )
    common: dict[str, Any] = {"row_norm": 1.0, "batch_size": 8, "learning_rate": 1e-4}
    apart = []
    for words, keys in NOISES.items():
        for count in epochs:
            runs = [trained(SPLIT, X, y, epochs=count, seed=seed, **common, **keys) for seed in effort.all_seeds[:3]]
            formula = float(ndtr(2 * math.sqrt(count) / noise_std(runs[0].model.plan, "label")))
            frame.add(words, count, [label_rates(run, LABEL_AVERAGE).rate for run in runs])
            frame.add(f"formula, {words}", count, formula, is_reference=True)
            apart.append(abs(frame[words].last - formula))
    calibrated, once = frame[ALWAYS].last, frame[ONCE].last
    holds = PaperClaim(
        "averaging",
        "not in the paper; section 7 leaves e open",
        "The paper's noise holds against averaging over the epochs.",
        "credit, e = the epochs really run",
        "at most 0.55 of the labels",
        f"{calibrated:.3f} of the labels after {epochs[-1]} epochs; {once:.3f} if sigma was set for one epoch",
        judge(calibrated <= 0.55),
        {"set_for_all_epochs": calibrated, "set_for_one_epoch": once},
    )
    formula_claim = PaperClaim(
        "averaging-formula",
        "not in the paper",
        "The mean over E visits gives Phi(2 sqrt(E) / sigma) of the labels.",
        "credit, small scores",
        "within 0.03",
        f"largest difference {max(apart):.3f}",
        judge(max(apart) <= 0.03),
        {"largest_difference": max(apart)},
    )
    return ExperimentOutcome([frame], [holds, formula_claim])
