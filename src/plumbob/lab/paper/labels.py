"""Labels where the criterion does not reach: a label party without columns, and batches larger than the columns."""

import numpy as np
from numpy.typing import NDArray

from plumbob.lab.attacks.interface import LabelClaim, View
from plumbob.lab.attacks.label_only import recover_labels as recover_labels_alone
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.lab.paper.findings import Curve, ExperimentOutcome, Figure, PaperClaim, judged
from plumbob.lab.paper.readings import Effort
from plumbob.lab.paper.runs import label_rates, labels_of, trained
from plumbob.model.logistic import signs_of

SPLIT = (11, 12)


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
            beliefs = answer.beliefs if isinstance(answer, LabelClaim) else np.zeros(size)
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
    """Random ones, with both classes among them."""
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
