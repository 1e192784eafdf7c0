"""The paper's noise on MNIST's 0 and 1: what the label attack reaches under it, per visit, averaged, and regressed.

    PLUMBOB_DATA=... python benchmarks/defences.py            # some minutes; prints one JSON object

The one reading of the paper that matches its figures: pixels / 255, neither scaled nor shortened, one full-batch update
an epoch, T = e = 30, learning rate 0.01, delta = 0.1, no intercept. A plan with noise must bound its rows:
row_norm = 28 = sqrt(784) shortens none of them, because no pixel is above 1. The formula for the noise assumes rows of
norm 1, which is one of the reasons why it is called heuristic.

With 12,665 rows a batch and 392 columns nobody can solve the sums for residuals; the paper's curves take the residuals
as read (as its packing attack reads them), and so do these: the noisy residuals themselves are rebuilt from the run.
What a feature party reaches from its sums alone stands beside it.
"""

import json
import sys
import time
from typing import Any

import numpy as np

from plumbob import audit
from plumbob.arrays import Matrix, Vector
from plumbob.lab.attacks.interface import View
from plumbob.lab.paper.quality import Released, success
from plumbob.lab.paper.readings import BUDGETS, MNIST, Setting
from plumbob.lab.simulate import Run, train
from plumbob.model.metrics import accuracy, auc
from plumbob.protocol.defences import noise_std

EPOCHS = MNIST.epochs
STARTS = ("xavier", "zero")
SEEDS = (1, 2, 3)
IN_WORDS = (
    "One visit tells nothing: every second label comes out right, as by tossing a coin. Averaging all visits "
    "hardly helps, because the noise was set for that many epochs. Regressing the averages on the attacker's own "
    "columns ranks labels well where the noise leaves a model worth having: always at epsilon 0.5, by the luck of"
    " the draw at 0.2 and 0.1, as the model itself. But it then ranks people whose residuals were not used as "
    "well as those whose were, and so does the attacker's own part of the model, at the end or at its best epoch:"
    " that is what own columns say about such people in general (population inference), and no finding about a "
    "person. No noise on residuals can hide it from a party that gets a working model."
)


def main() -> None:
    """Every start and budget, with several draws of the noise."""
    started = time.perf_counter()
    rows = [measured(start, epsilon, seed) for start in STARTS for epsilon in BUDGETS for seed in seeds(epsilon)]
    seconds = round(time.perf_counter() - started, 1)
    result = {"data": "mnist-01", "in_words": IN_WORDS, "seconds": seconds, "summary": summary(rows), "runs": rows}
    print(json.dumps(result, indent=2))


def seeds(epsilon: float | None) -> tuple[int, ...]:
    """Without noise the seed decides only the start."""
    return SEEDS[:1] if epsilon is None else SEEDS


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each budget, over starts and seeds: lowest and highest."""
    parts = {
        "test_accuracy": ("model", "test_accuracy"),
        "rate_per_visit": ("per_visit", "mean"),
        "rate_averaged": ("averaged", "rate"),
        "auc_regression": ("regression", "auc"),
        "auc_regression_of_others": ("regression", "auc_of_others"),
        "auc_of_own_part": ("regression", "auc_of_own_part"),
    }
    found = []
    for epsilon in BUDGETS:
        chosen = [row for row in rows if row["epsilon"] == epsilon]
        values = {name: [row[part][key] for row in chosen] for name, (part, key) in parts.items()}
        found.append({"epsilon": epsilon, **{name: [min(one), max(one)] for name, one in values.items()}})
    return found


def measured(start: str, epsilon: float | None, seed: int) -> dict[str, Any]:
    """One run and what is made of it."""
    print(f"{start}, epsilon {epsilon}, seed {seed}", file=sys.stderr)
    run = trained(start, epsilon, seed)
    released = Released.of(run)
    return {
        "start": start,
        "epsilon": epsilon,
        "seed": seed,
        "noise_std": noise_std(run.model.plan, "label"),
        "largest_weight_norm": largest_weight_norm(run),
        "model": quality(run),
        "per_visit": per_visit(released),
        "averaged": averaged(released),
        "regression": regression(released),
        # Its singular values take most of the time, and do not depend on the start.
        "from_sums_alone": from_sums(run) if start == "zero" and seed == SEEDS[0] else None,
    }


def trained(start: str, epsilon: float | None, seed: int) -> Run:
    """The plan of the paper's figures."""
    tables = MNIST.tables("train")
    return train(Setting("figures", start, epsilon).plan(MNIST, len(tables["label"]), seed), tables)


def largest_weight_norm(run: Run) -> float:
    """Over all steps, of everybody's weights together."""
    weights = np.hstack([View.of(transcript).weights_before for transcript in run.transcripts.values()])
    return float(np.linalg.norm(weights, axis=1).max())


def quality(run: Run) -> dict[str, float]:
    tables = MNIST.tables("test")
    y, scores = np.asarray(tables["label"].labels), run.model.scores(tables)
    return {"test_auc": auc(y, scores), "test_accuracy": accuracy(y, scores)}


def per_visit(released: Released) -> dict[str, Any]:
    """The paper's attack, label = -sign(residual), epoch by epoch; and without what the attacker itself put in."""
    paper, stronger = (success(released.y, values) for values in (released.residuals, released.without_own_scores))
    perfect = next((epoch for epoch, rate in enumerate(paper) if rate < 1.0), EPOCHS)
    return {
        "mean": float(np.mean(paper)),
        "lowest": min(paper),
        "highest": max(paper),
        "first_epochs_at_100_percent": perfect,
        "mean_without_own_scores": float(np.mean(stronger)),
    }


def averaged(released: Released) -> dict[str, float]:
    """The mean over all visits, against noise."""
    means = -released.without_own_scores.mean(axis=0)
    return {"rate": accuracy(released.y, means), "auc": auc(released.y, means)}


def regression(released: Released) -> dict[str, float]:
    """The averages regressed on own columns, beside what is known without them.

    `auc_of_others`: fitted on every second person's residuals and judged on the other half, whose residuals were not
    used. `auc_of_own_part`: the attacker's own part of the finished model, the population-inference baseline.
    """
    means, X = -released.without_own_scores.mean(axis=0), released.own.X
    later = released.own.weights_before[1:]
    half = np.arange(len(means)) % 2 == 0
    return {
        "auc": auc(released.y, ridge(X, means, X)),
        "auc_of_others": auc(released.y[~half], ridge(X[half], means[half], X[~half])),
        "auc_of_own_part": auc(released.y, X @ released.own.weights),
        "auc_of_own_part_at_its_best_epoch": max(auc(released.y, X @ weights) for weights in later),
    }


def ridge(X: Matrix, target: Vector, X_judged: Matrix) -> Vector:
    """On centred columns; the penalty, ten times the largest eigenvalue, is what so little signal asks for."""
    centred = X - X.mean(axis=0)
    gram = centred.T @ centred
    penalty = 10 * float(np.linalg.norm(gram, 2))
    right = centred.T @ (target - target.mean())
    fitted: Vector = X_judged @ np.linalg.solve(gram + penalty * np.eye(len(gram)), right)
    return fitted


def from_sums(run: Run) -> list[dict[str, Any]]:
    """What the red team reaches with the feature party's real view: sums, not residuals."""
    found = audit(run, only=["label-sign", "label-average"])
    wanted = ("attack", "verdict", "rate", "baseline", "auc", "baseline_auc", "advantage")
    return [{name: getattr(one, name) for name in wanted} for one in found if one.rate is not None]


if __name__ == "__main__":
    main()
