"""Section 4 and the appendices: for how long, from which start and among whom -sign(f) is the label (Criterion 4.2).

And labels where the criterion does not reach: a label party without columns, and batches larger than the columns.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob.lab import bounds, datasets
from plumbob.lab.attacks.interface import Attack, Claim, View
from plumbob.lab.attacks.label_only import recover_labels as recover_labels_alone
from plumbob.lab.attacks.label_sign import LABEL_SIGN, recover_labels_by_criterion
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.lab.audit.truth import Truth
from plumbob.lab.paper.frames import ExperimentOutcome, Frame, PaperClaim, claim_of_bound, judge
from plumbob.lab.paper.joint import JointRun
from plumbob.lab.paper.quality import Released, success
from plumbob.lab.paper.runs import Effort, even_split, label_rates, labels_of, trained
from plumbob.lab.simulate import Run
from plumbob.model.logistic import signs_of

CRITERION = Attack("label-sign by the criterion", "features", recover_labels_by_criterion, "Criterion 4.2")
SPLIT = (11, 12)
UNIT_ROWS: dict[str, Any] = {"row_norm": 1.0}
GROWTH_RATE = 0.1
CREDIT_UNIT = "credit, rows clipped to norm 1"
CREDIT_LONG = "credit, standardised rows as they are"
ENDS = "Runs end after three times the printed steps: a curve at three times its bound never failed."


def criterion(effort: Effort) -> ExperimentOutcome:
    """Corollary 4.5 and Theorem 4.6: the promised steps beside those in which every sign was right."""
    short, kept = _short_rows(effort, "taylor", "Corollary 4.5, Theorem 4.6", "criterion")
    long, printed = _long_rows(effort)
    growth, grows = _growth(effort)
    return ExperimentOutcome([short, long, growth], [kept, printed, grows])


def minimax(effort: Effort) -> ExperimentOutcome:
    """Theorem E.3: the same under the minimax approximation."""
    frame, claim = _short_rows(effort, "minimax", "Theorem E.3", "minimax-criterion")
    return ExperimentOutcome([frame], [claim])


def _rates(effort: Effort) -> tuple[float, ...]:
    return (0.1, 1.0) if effort.is_quick else (0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Steps:
    """One run's first steps without a wrong sign, and what bounds them: its start is its own, and so is its bound."""

    promised: int
    printed: int
    """The same bound as the paper prints it, for rows of norm 1."""
    measured: int
    row_norm: float


def _tried(rate: float, start: str, effort: Effort, keys: dict[str, Any], sigmoid: str = "taylor") -> list[Steps]:
    """One learning rate and start, for each seed."""
    X, y = effort.credit(1000)
    bound = bounds.minimax_safe_steps if sigmoid == "minimax" else bounds.safe_steps
    found = []
    # From zero nothing is drawn: every seed would do the same.
    for seed in effort.all_seeds if start != "zero" else (1,):
        common = {"start": start, "batches": "full", "seed": seed, "sigmoid": sigmoid, **keys}
        first = JointRun.of(Truth.of(trained(SPLIT, X, y, epochs=1, **common)))
        largest = first.largest_scores[0]
        printed = bound(rate, largest)
        joint = JointRun.of(Truth.of(trained(SPLIT, X, y, epochs=max(1, 3 * printed), learning_rate=rate, **common)))
        promised = bound(rate, largest, first.row_norm)
        found.append(Steps(promised, printed, joint.steps_without_failure(), first.row_norm))
    return found


def _short_rows(effort: Effort, sigmoid: str, reference: str, name: str) -> tuple[Frame, PaperClaim]:
    """The experiment with rows of norm 1, as the theorems assume."""
    title = f"Steps in which every sign is the label, rows of norm 1, {sigmoid}"
    frame, holds = Frame(f"{name}-steps", title, "learning rate", "steps", ENDS, logarithmic="x"), list[bool]()
    for start in ("zero", "xavier"):
        for rate in _rates(effort):
            found = _tried(rate, start, effort, UNIT_ROWS, sigmoid)
            frame.add(f"T_eps, {start}", rate, [one.promised for one in found], is_reference=True)
            frame.add(f"measured, {start}", rate, [one.measured for one in found])
            holds.append(all(one.measured >= one.promised for one in found))
    says = f"The criterion is valid for the first T_eps steps, from zero and from a small random start ({sigmoid})."
    needed = "no wrong sign within T_eps steps, at every learning rate and seed"
    return frame, claim_of_bound(name, reference, says, CREDIT_UNIT, needed, holds)


def _long_rows(effort: Effort) -> tuple[Frame, PaperClaim]:
    """The same on rows as they are."""
    frame = Frame(
        "criterion-long-rows",
        "The same on rows as they are: the printed bound breaks, the one with their norm R holds",
        "learning rate",
        "steps",
        logarithmic="x",
    )
    # From zero there is one run for each learning rate.
    found = {rate: _tried(rate, "zero", effort, {})[0] for rate in _rates(effort)}
    for rate, steps in found.items():
        frame.add("printed bound (norm 1)", rate, steps.printed, is_reference=True)
        frame.add("bound with R", rate, steps.promised, is_reference=True)
        frame.add("measured", rate, steps.measured)
    printed = sum(steps.measured >= steps.printed for steps in found.values())
    corrected = sum(steps.measured >= steps.promised for steps in found.values())
    row_norm = max(steps.row_norm for steps in found.values())
    claim = PaperClaim(
        "printed-bound",
        "Corollary 4.5 on the paper's own data",
        "T_eps, printed for rows of norm 1, holds on the data of section 7 too.",
        CREDIT_LONG,
        "no wrong sign within the printed T_eps steps",
        f"kept at {printed} of {len(found)} learning rates; with R = {row_norm:.0f} in it at {corrected}",
        judge(printed == len(found)),
        {"printed": printed, "with_row_norm": corrected, "of": len(found)},
    )
    return frame, claim


def _growth(effort: Effort) -> tuple[Frame, PaperClaim]:
    """Lemma 4.4: how fast the largest score grows."""
    frame = Frame("criterion-growth", "How the largest score grows (h_t), learning rate 0.1", "step", "h_t")
    X, y = effort.credit(1000)
    steps, growths = (10 if effort.is_quick else 30), []
    for start in ("zero", "xavier"):
        keys: dict[str, Any] = {"epochs": steps, "batches": "full", "learning_rate": GROWTH_RATE, "start": start}
        joint = JointRun.of(Truth.of(trained(SPLIT, X, y, **keys, **UNIT_ROWS)))
        heights = np.array(joint.largest_scores) + 2.0
        for step, height in enumerate(heights):
            bound = heights[0] * bounds.growth(GROWTH_RATE) ** step
            frame.add(f"bound, {start}", step + 1, bound, is_reference=True)
            frame.add(f"measured, {start}", step + 1, height)
        growths.append(float((heights[1:] / heights[:-1]).max()))
    claim = PaperClaim(
        "growth",
        "Lemma 4.4",
        "h_t = max abs(score) + 2 grows by at most 1 + eta / 4 per step.",
        CREDIT_UNIT,
        f"never by more than {bounds.growth(GROWTH_RATE):g}",
        f"by {max(growths):.4f} at most",
        judge(max(growths) <= bounds.growth(GROWTH_RATE)),
        {"largest": max(growths)},
    )
    return frame, claim


def starts(effort: Effort) -> ExperimentOutcome:
    """Lemma 4.7, Theorem 4.8 and "large random initialization": what the start does to the criterion."""
    unit = _starts_frame(effort, "starts-unit-rows", CREDIT_UNIT, UNIT_ROWS)
    long = _starts_frame(effort, "starts-long-rows", CREDIT_LONG, {})
    small = min(unit[start].means[0] for start in ("small", "xavier", "kaiming"))
    claim = PaperClaim(
        "small-start",
        "Theorem 4.8",
        "After a small random start the criterion is valid, as after zero.",
        CREDIT_UNIT,
        "every label in the first epoch, for small, Xavier and Kaiming",
        f"at least {small:.4f}",
        judge(small == 1.0),
        {"lowest": small},
    )
    return ExperimentOutcome([unit, long], [claim, _large_start(unit, CREDIT_UNIT), _large_start(long, CREDIT_LONG)])


def _starts_frame(effort: Effort, name: str, words: str, keys: dict[str, Any]) -> Frame:
    frame = Frame(name, f"Criterion 4.2 by start: {words}", "epoch", "labels right", is_share=True)
    epochs = 3 if effort.is_quick else 10
    common: dict[str, Any] = {"epochs": epochs, "batch_size": 8, **keys}
    for start in ("zero", "small", "xavier", "kaiming", "normal"):
        runs = []
        for seed in effort.all_seeds:
            released = Released.of(trained(SPLIT, *effort.credit(2000), start=start, seed=seed, **common))
            runs.append(success(released.y, released.residuals))
        for epoch, rates in enumerate(zip(*runs, strict=True), start=1):
            frame.add(start, epoch, rates)
    return frame


def _large_start(frame: Frame, words: str) -> PaperClaim:
    first = frame["normal"].means[0]
    return PaperClaim(
        "large-start",
        "section 4, large random initialisation",
        "A start from N(0, 1) makes the criterion invalid and so protects labels.",
        words,
        "less than 90 % of labels in the first epoch",
        f"{first:.4f} of the labels",
        judge(first < 0.9),
        {"first_epoch": first},
    )


def parties(effort: Effort) -> ExperimentOutcome:
    """Theorem 4.10: the same among several parties, each feature party by itself."""
    # Columns without repeated values: people who are the same in all of a party's columns cannot be told apart by it.
    X, y = datasets.load("breast-cancer")
    counts = (2, 3) if effort.is_quick else (2, 3, 4, 5)
    frame = Frame(
        "parties",
        "Labels that the least successful feature party reads in one epoch",
        "parties",
        "labels right",
        "Batches as large as the fewest columns of a feature party; every step lies within T_0.",
        is_share=True,
    )
    for attack, words in ((CRITERION, "criterion"), (LABEL_SIGN, "own scores subtracted")):
        for count in counts:
            split = even_split(X.shape[1], count)
            # All batches of an epoch are as large as the fewest columns, the last one too: rows beyond are left out.
            batch = min(split[1:])
            whole = len(y) - len(y) % batch
            found = []
            for seed in effort.all_seeds:
                run = trained(split, X[:whole], y[:whole], batch_size=batch, epochs=1, seed=seed, **UNIT_ROWS)
                found.append(min(_seen_rate(run, attack, party.name) for party in run.model.plan.feature_parties))
            frame.add(words, count, found)
    lowest = min(frame["criterion"].means)
    claim = PaperClaim(
        "parties",
        "Theorem 4.10",
        "The label attack does not depend on the number of parties.",
        "breast cancer, rows clipped to norm 1",
        f"every label that the epoch's batches hold, with {counts[0]} to {counts[-1]} parties",
        f"at least {lowest:.4f}",
        judge(lowest > 0.9999),
        {"lowest": lowest},
    )
    return ExperimentOutcome([frame], [claim])


def _seen_rate(run: Run, attack: Attack, party: str) -> float:
    """The share of labels read among the rows that came into a batch."""
    view = View.of(run.transcripts[party])
    claim = attack(view)
    if not isinstance(claim, Claim):
        return 0.0
    rows = np.concatenate([batch.rows for batch in view.batches])
    return float(np.mean(np.sign(claim.beliefs[rows]) == signs_of(labels_of(run))[rows]))


def piecewise(effort: Effort) -> ExperimentOutcome:
    """Theorem F.2: a piecewise residual shows the right label or, as 0, none."""
    keys: dict[str, Any] = {"epochs": 3 if effort.is_quick else 10, "batch_size": 8, "learning_rate": 0.1}
    answered, right = [], []
    for seed in effort.all_seeds:
        released = Released.of(trained(SPLIT, *effort.credit(2000), sigmoid="piecewise", seed=seed, **keys))
        is_seen = ~np.isclose(released.residuals, 0.0, atol=1e-12)
        is_right = np.sign(-released.residuals) == signs_of(released.y)
        answered.append(is_seen.mean(axis=1))
        right.append([float(labels[seen].mean()) for labels, seen in zip(is_right, is_seen, strict=True)])
    frame = Frame("piecewise", "What a piecewise residual shows", "epoch", "share", is_share=True)
    for epoch in range(keys["epochs"]):
        frame.add("residual other than 0", epoch + 1, [shares[epoch] for shares in answered])
        frame.add("labels right among them", epoch + 1, [shares[epoch] for shares in right])
    seen, lowest = frame["residual other than 0"], min(frame["labels right among them"].means)
    claim = PaperClaim(
        "piecewise-criterion",
        "Theorem F.2",
        "Under the piecewise approximation -sign(f) is the label wherever f is not 0, at all times.",
        CREDIT_LONG,
        "no wrong sign in any epoch",
        f"{lowest:.4f} right among {seen.last:.3f} to {seen.means[0]:.3f} of the rows",
        judge(lowest == 1.0),
        {"right": lowest, "answered_last": seen.last},
    )
    return ExperimentOutcome([frame], [claim])


def no_features(effort: Effort) -> ExperimentOutcome:
    """Theorem 4.1: a label party without columns; labels are unique, and found, far beyond s <= d."""
    X, y = effort.credit()
    sizes = (16, 48) if effort.is_quick else (8, 16, 24, 32, 48, 64, 80)
    frame = Frame(
        "no-features",
        "Batches decoded without a mistake, 23 columns, no column at the label party",
        "rows in a batch",
        "share of batches",
        is_share=True,
    )
    for size in sizes:
        decoded, solved = [], []
        for seed in effort.all_seeds:
            rows = _drawn_rows(y, size, seed)
            run = trained((0, 23), X[rows], y[rows], start="xavier", batch_size=size, epochs=1, seed=seed)
            answer = recover_labels_alone(View.of(run.transcripts["features"]), seconds=20.0)
            beliefs = answer.beliefs if isinstance(answer, Claim) else np.zeros(size)
            decoded.append(float(np.array_equal(np.sign(beliefs), signs_of(labels_of(run)))))
            solved.append(float(label_rates(run, LABEL_SIGN).determined == 1.0))
        frame.add("decoded as -1 and +1", size, decoded)
        frame.add("solved as numbers", size, solved)
    lowest = min(frame["decoded as -1 and +1"].means)
    claim = PaperClaim(
        "no-features",
        "Theorem 4.1",
        "Without columns at the label party the labels of every batch are unique, whatever its size.",
        f"credit, 23 columns, batches of {sizes[0]} to {sizes[-1]} rows",
        "every batch decoded exactly",
        f"at least {lowest:.0%} of the batches of each size",
        judge(lowest == 1.0),
        {"lowest": lowest},
    )
    return ExperimentOutcome([frame], [claim])


def _drawn_rows(y: NDArray[np.int64], size: int, seed: int) -> NDArray[np.intp]:
    """Random rows, with both classes among them."""
    order = np.random.default_rng(seed).permutation(len(y))
    first = [int(order[np.argmax(y[order] == label)]) for label in (0, 1)]
    others = order[~np.isin(order, first)][: size - 2]
    return np.concatenate([np.array(first, dtype=np.intp), others])


def stacked(effort: Effort) -> ExperimentOutcome:
    """Beyond the paper: all steps' equations together, where no batch alone is solvable."""
    X, y = effort.credit(2048 if effort.is_quick else 5120)
    ratios = (0.5, 1.5) if effort.is_quick else (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
    frame = Frame(
        "stacked",
        "Equations of all epochs stacked: AUC of the labels",
        "epochs * columns / batch size",
        "AUC",
        "The paper's condition is batch size <= 12 columns. The equations of a few epochs together do the same.",
    )
    for size, kind in ((64, "reshuffled"), (128, "reshuffled"), (64, "fixed")):
        for ratio in ratios:
            epochs = max(1, round(ratio * size / SPLIT[1]))
            run = trained(SPLIT, X, y, batch_size=size, epochs=epochs, batches=kind)
            frame.add(f"batch {size}, {kind}", ratio, label_rates(run, LABEL_STACKED).auc)
    reshuffled, fixed = (frame[f"batch 64, {kind}"].last for kind in ("reshuffled", "fixed"))
    claim = PaperClaim(
        "stacked",
        "section 5.2, first sentence",
        "The passive attacks are easily invalidated by increasing the batch size.",
        f"credit, {len(X)} rows, 12 columns, batches of 64 and 128",
        "AUC below 0.75 with as many equations as unknowns and more",
        f"AUC {reshuffled:.3f} at batch 64 with {ratios[-1]:g} equations a label; {fixed:.3f} if batches are fixed",
        judge(reshuffled < 0.75),
        {"reshuffled": reshuffled, "fixed": fixed},
    )
    return ExperimentOutcome([frame], [claim])
