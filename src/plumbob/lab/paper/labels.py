"""Section 4 and the appendices: for how long, from which start and among whom -sign(f) is the label (Criterion 4.2).

And labels where the criterion does not reach: a label party without columns, and batches larger than the columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plumbob import datasets
from plumbob.lab import bounds
from plumbob.lab.attacks.interface import Attack, Claim, View
from plumbob.lab.attacks.label_only import recover_labels as recover_labels_alone
from plumbob.lab.attacks.label_sign import LABEL_SIGN, recover_labels_by_criterion
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.lab.audit.truth import Truth
from plumbob.lab.paper.findings import Curve, ExperimentOutcome, Figure, PaperClaim, judged, kept_claim
from plumbob.lab.paper.promises import JointRun
from plumbob.lab.paper.quality import Released, success
from plumbob.lab.paper.readings import Effort
from plumbob.lab.paper.runs import even_split, label_rates, labels_of, trained
from plumbob.lab.simulate import Run
from plumbob.model.logistic import signs_of

CRITERION = Attack("label-sign by the criterion", "features", recover_labels_by_criterion, "Criterion 4.2")
SPLIT = (11, 12)
UNIT_ROWS: dict[str, Any] = {"row_norm": 1.0}
STARTS = ("zero", "small", "xavier", "kaiming", "normal")
GROWTH_RATE = 0.1
CREDIT_UNIT = "credit, rows clipped to norm 1"
CREDIT_LONG = "credit, standardised rows as they are"
ENDS = "Runs end after three times the printed steps: a curve at three times its bound never failed."


def criterion(effort: Effort) -> ExperimentOutcome:
    """Corollary 4.5 and Theorem 4.6: the promised steps beside those in which every sign was right."""
    rates = _rates(effort)
    long = [_try(rate, "zero", effort, {}) for rate in rates]
    growth = _growth_figure(effort)
    short = _short_rows(effort, "taylor", "Corollary 4.5, Theorem 4.6", "criterion")
    return ExperimentOutcome(
        (*short.figures, _long_rows_figure(rates, long), growth),
        (*short.claims, _printed_claim(long), _growth_claim(growth)),
    )


def minimax(effort: Effort) -> ExperimentOutcome:
    """Theorem E.3: the same under the minimax approximation."""
    return _short_rows(effort, "minimax", "Theorem E.3", "minimax-criterion")


def _rates(effort: Effort) -> tuple[float, ...]:
    return (0.1, 1.0) if effort.is_quick else (0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Tried:
    """One learning rate and start, with a number for each seed: each has its own start, and so its own bound."""

    promised: list[int]
    printed: list[int]
    """The same bound as the paper prints it, for rows of norm 1."""
    measured: list[int]
    """How many first steps have no wrong sign."""
    row_norm: float

    @property
    def keeps_promise(self) -> bool:
        return all(steps >= bound for steps, bound in zip(self.measured, self.promised, strict=True))

    @property
    def keeps_printed(self) -> bool:
        return all(steps >= bound for steps, bound in zip(self.measured, self.printed, strict=True))


def _try(rate: float, start: str, effort: Effort, keys: dict[str, Any], sigmoid: str = "taylor") -> Tried:
    X, y = effort.credit(1000)
    allowed = bounds.minimax_safe_steps if sigmoid == "minimax" else bounds.safe_steps
    found = Tried([], [], [], 1.0)
    # From zero nothing is drawn: every seed would do the same.
    for seed in effort.all_seeds if start != "zero" else (1,):
        common = {"start": start, "batches": "full", "seed": seed, "sigmoid": sigmoid, **keys}
        first = JointRun.of(Truth.of(trained(SPLIT, X, y, epochs=1, **common)))
        largest = first.largest_scores[0]
        printed = allowed(rate, largest)
        joint = JointRun.of(Truth.of(trained(SPLIT, X, y, epochs=max(1, 3 * printed), learning_rate=rate, **common)))
        found = Tried(
            [*found.promised, allowed(rate, largest, first.row_norm)],
            [*found.printed, printed],
            [*found.measured, joint.steps_without_failure()],
            first.row_norm,
        )
    return found


def _short_rows(effort: Effort, sigmoid: str, reference: str, name: str) -> ExperimentOutcome:
    """The experiment with rows of norm 1, as the theorems assume."""
    rates, curves, kept = _rates(effort), list[Curve](), list[bool]()
    for start in ("zero", "xavier"):
        found = [_try(rate, start, effort, UNIT_ROWS, sigmoid) for rate in rates]
        curves.append(Curve.of(f"T_eps, {start}", rates, [one.promised for one in found], True))
        curves.append(Curve.of(f"measured, {start}", rates, [one.measured for one in found]))
        kept += [one.keeps_promise for one in found]
    title = f"Steps in which every sign is the label, rows of norm 1, {sigmoid}"
    figure = Figure(f"{name}-steps", title, "learning rate", "steps", tuple(curves), ENDS, has_logarithmic_x=True)
    claim = kept_claim(
        name,
        reference,
        f"The criterion is valid for the first T_eps steps, from zero and from a small random start ({sigmoid}).",
        CREDIT_UNIT,
        "no wrong sign within T_eps steps, at every learning rate and seed",
        kept,
    )
    return ExperimentOutcome((figure,), (claim,))


def _long_rows_figure(rates: Sequence[float], found: Sequence[Tried]) -> Figure:
    return Figure(
        "criterion-long-rows",
        "The same on rows as they are: the printed bound breaks, the one with their norm R holds",
        "learning rate",
        "steps",
        (
            Curve.of("printed bound (norm 1)", rates, [one.printed for one in found], True),
            Curve.of("bound with R", rates, [one.promised for one in found], True),
            Curve.of("measured", rates, [one.measured for one in found]),
        ),
        has_logarithmic_x=True,
    )


def _printed_claim(found: Sequence[Tried]) -> PaperClaim:
    printed, corrected = sum(one.keeps_printed for one in found), sum(one.keeps_promise for one in found)
    return PaperClaim(
        "printed-bound",
        "Corollary 4.5 on the paper's own data",
        "T_eps, printed for rows of norm 1, holds on the data of section 7 too.",
        CREDIT_LONG,
        "no wrong sign within the printed T_eps steps",
        f"kept at {printed} of {len(found)} learning rates; with R = {found[0].row_norm:.0f} in it at {corrected}",
        judged(printed == len(found)),
        {"printed": printed, "with_row_norm": corrected, "of": len(found)},
    )


def _growth_figure(effort: Effort) -> Figure:
    X, y = effort.credit(1000)
    steps, rate = (10 if effort.is_quick else 30), GROWTH_RATE
    curves = []
    for start in ("zero", "xavier"):
        keys: dict[str, Any] = {"epochs": steps, "batches": "full", "learning_rate": rate, "start": start}
        heights = np.array(JointRun.of(Truth.of(trained(SPLIT, X, y, **keys, **UNIT_ROWS))).largest_scores) + 2.0
        allowed = heights[0] * bounds.growth(rate) ** np.arange(steps)
        curves.append(Curve.of(f"bound, {start}", range(1, steps + 1), allowed[:, None].tolist(), True))
        curves.append(Curve.of(f"measured, {start}", range(1, steps + 1), heights[:, None].tolist()))
    return Figure(
        "criterion-growth", "How the largest score grows (h_t), learning rate 0.1", "step", "h_t", tuple(curves)
    )


def _growth_claim(figure: Figure) -> PaperClaim:
    measured = [np.array(curve.means) for curve in figure.curves[1::2]]
    largest = max(float((heights[1:] / heights[:-1]).max()) for heights in measured)
    return PaperClaim(
        "growth",
        "Lemma 4.4",
        "h_t = max abs(score) + 2 grows by at most 1 + eta / 4 per step.",
        CREDIT_UNIT,
        f"never by more than {bounds.growth(GROWTH_RATE):g}",
        f"by {largest:.4f} at most",
        judged(largest <= bounds.growth(GROWTH_RATE)),
        {"largest": largest},
    )


def starts(effort: Effort) -> ExperimentOutcome:
    """Lemma 4.7, Theorem 4.8 and "large random initialization": what the start does to the criterion."""
    epochs = 3 if effort.is_quick else 10
    found = {
        words: {start: _start_curve(start, epochs, effort, keys) for start in STARTS}
        for words, keys in {CREDIT_UNIT: UNIT_ROWS, CREDIT_LONG: {}}.items()
    }
    figures = tuple(
        Figure(
            f"starts-{name}",
            f"Criterion 4.2 by start: {words}",
            "epoch",
            "labels right",
            tuple(curves.values()),
            "",
            True,
        )
        for name, (words, curves) in zip(("unit-rows", "long-rows"), found.items(), strict=True)
    )
    small = min(found[CREDIT_UNIT][start].means[0] for start in ("small", "xavier", "kaiming"))
    claims = [
        PaperClaim(
            "small-start",
            "Theorem 4.8",
            "After a small random start the criterion is valid, as after zero.",
            CREDIT_UNIT,
            "every label in the first epoch, for small, Xavier and Kaiming",
            f"at least {small:.4f}",
            judged(small == 1.0),
            {"lowest": small},
        )
    ]
    for words, curves in found.items():
        first = curves["normal"].means[0]
        claims.append(
            PaperClaim(
                "large-start",
                "section 4, large random initialisation",
                "A start from N(0, 1) makes the criterion invalid and so protects labels.",
                words,
                "less than 90 % of labels in the first epoch",
                f"{first:.4f} of the labels",
                judged(first < 0.9),
                {"first_epoch": first},
            )
        )
    return ExperimentOutcome(figures, tuple(claims))


def _start_curve(start: str, epochs: int, effort: Effort, keys: dict[str, Any]) -> Curve:
    X, y = effort.credit(2000)
    runs = []
    for seed in effort.all_seeds:
        released = Released.of(trained(SPLIT, X, y, start=start, epochs=epochs, batch_size=8, seed=seed, **keys))
        runs.append(success(released.y, released.residuals))
    return Curve.of(start, range(1, epochs + 1), list(zip(*runs, strict=True)))


def parties(effort: Effort) -> ExperimentOutcome:
    """Theorem 4.10: the same among several parties, each feature party by itself."""
    # Columns without repeated values: people who are the same in all of a party's columns cannot be told apart by it.
    X, y = datasets.load("breast-cancer")
    counts = (2, 3) if effort.is_quick else (2, 3, 4, 5)
    worst: dict[str, list[list[float]]] = {"criterion": [], "own scores subtracted": []}
    for count in counts:
        split = even_split(X.shape[1], count)
        # The batches of an epoch are as large as the fewest columns, the last one too: rows beyond them are left out.
        batch = min(split[1:])
        whole = len(y) - len(y) % batch
        for attack, words in ((CRITERION, "criterion"), (LABEL_SIGN, "own scores subtracted")):
            found = []
            for seed in effort.all_seeds:
                run = trained(split, X[:whole], y[:whole], batch_size=batch, epochs=1, seed=seed, **UNIT_ROWS)
                found.append(min(_seen_rate(run, attack, party.name) for party in run.model.plan.feature_parties))
            worst[words].append(found)
    figure = Figure(
        "parties",
        "Labels that the least successful feature party reads in one epoch",
        "parties",
        "labels right",
        tuple(Curve.of(words, counts, values) for words, values in worst.items()),
        "Batches as large as the fewest columns of a feature party; every step lies within T_0.",
        is_share=True,
    )
    lowest = min(figure.curves[0].means)
    claim = PaperClaim(
        "parties",
        "Theorem 4.10",
        "The label attack does not depend on the number of parties.",
        "breast cancer, rows clipped to norm 1",
        f"every label that the epoch's batches hold, with {counts[0]} to {counts[-1]} parties",
        f"at least {lowest:.4f}",
        judged(lowest > 0.9999),
        {"lowest": lowest},
    )
    return ExperimentOutcome((figure,), (claim,))


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
    X, y = effort.credit(2000)
    epochs = 3 if effort.is_quick else 10
    answered, right = [], []
    for seed in effort.all_seeds:
        released = Released.of(
            trained(SPLIT, X, y, sigmoid="piecewise", epochs=epochs, batch_size=8, learning_rate=0.1, seed=seed)
        )
        is_seen = ~np.isclose(released.residuals, 0.0, atol=1e-12)
        is_right = np.sign(-released.residuals) == signs_of(released.y)
        answered.append(is_seen.mean(axis=1))
        right.append([float(one[seen].mean()) for one, seen in zip(is_right, is_seen, strict=True)])
    places = range(1, epochs + 1)
    curves = (
        Curve.of("residual other than 0", places, np.transpose(answered).tolist()),
        Curve.of("labels right among them", places, np.transpose(right).tolist()),
    )
    lowest = min(curves[1].means)
    claim = PaperClaim(
        "piecewise-criterion",
        "Theorem F.2",
        "Under the piecewise approximation -sign(f) is the label wherever f is not 0, at all times.",
        CREDIT_LONG,
        "no wrong sign in any epoch",
        f"{lowest:.4f} right among {curves[0].last:.3f} to {curves[0].means[0]:.3f} of the rows",
        judged(lowest == 1.0),
        {"right": lowest, "answered_last": curves[0].last},
    )
    figure = Figure("piecewise", "What a piecewise residual shows", "epoch", "share", curves, is_share=True)
    return ExperimentOutcome((figure,), (claim,))


def no_features(effort: Effort) -> ExperimentOutcome:
    """Theorem 4.1: a label party without columns; labels are unique, and found, far beyond s <= d."""
    X, y = effort.credit()
    sizes = (16, 48) if effort.is_quick else (8, 16, 24, 32, 48, 64, 80)
    shares, solved = [], []
    for size in sizes:
        found, alone = [], []
        for seed in effort.all_seeds:
            rows = _drawn_rows(y, size, seed)
            run = trained((0, 23), X[rows], y[rows], start="xavier", batch_size=size, epochs=1, seed=seed)
            answer = recover_labels_alone(View.of(run.transcripts["features"]), seconds=20.0)
            beliefs = answer.beliefs if isinstance(answer, Claim) else np.zeros(size)
            found.append(float(np.array_equal(np.sign(beliefs), signs_of(labels_of(run)))))
            alone.append(float(label_rates(run, LABEL_SIGN)["determined"] == 1.0))
        shares.append(found)
        solved.append(alone)
    figure = Figure(
        "no-features",
        "Batches decoded without a mistake, 23 columns, no column at the label party",
        "rows in a batch",
        "share of batches",
        (Curve.of("decoded as -1 and +1", sizes, shares), Curve.of("solved as numbers", sizes, solved)),
        is_share=True,
    )
    lowest = min(figure.curves[0].means)
    claim = PaperClaim(
        "no-features",
        "Theorem 4.1",
        "Without columns at the label party the labels of every batch are unique, whatever its size.",
        f"credit, 23 columns, batches of {sizes[0]} to {sizes[-1]} rows",
        "every batch decoded exactly",
        f"at least {lowest:.0%} of the batches of each size",
        judged(lowest == 1.0),
        {"lowest": lowest},
    )
    return ExperimentOutcome((figure,), (claim,))


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
    curves = []
    settings = {(64, "reshuffled"): ratios, (128, "reshuffled"): ratios, (64, "fixed"): ratios}
    for (size, kind), places in settings.items():
        values = []
        for ratio in places:
            epochs = max(1, round(ratio * size / SPLIT[1]))
            run = trained(SPLIT, X, y, batch_size=size, epochs=epochs, batches=kind)
            values.append([float(label_rates(run, LABEL_STACKED)["auc"])])
        curves.append(Curve.of(f"batch {size}, {kind}", places, values))
    figure = Figure(
        "stacked",
        "Equations of all epochs stacked: AUC of the labels",
        "epochs * columns / batch size",
        "AUC",
        tuple(curves),
        "The paper's condition is batch size <= 12 columns. The equations of a few epochs together do the same.",
    )
    reshuffled, fixed = curves[0].last, curves[2].last
    claim = PaperClaim(
        "stacked",
        "section 5.2, first sentence",
        "The passive attacks are easily invalidated by increasing the batch size.",
        f"credit, {len(X)} rows, 12 columns, batches of 64 and 128",
        "AUC below 0.75 with as many equations as unknowns and more",
        f"AUC {reshuffled:.3f} at batch 64 with {ratios[-1]:g} equations a label; {fixed:.3f} if batches are fixed",
        judged(reshuffled < 0.75),
        {"reshuffled": reshuffled, "fixed": fixed},
    )
    return ExperimentOutcome((figure,), (claim,))
