"""How far the attacks on labels reach, on the real data sets; each setting prints its rates beside its conditions.

    PLUMBOB_DATA=... python benchmarks/attacks/label.py                  # everything, some minutes
    PLUMBOB_DATA=... python benchmarks/attacks/label.py sign stacked     # some parts

Prints one JSON object. All runs are `clear`: the views of encrypted ones are the same up to rounding.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

from plumbob import datasets
from plumbob.lab.attacks.interface import View
from plumbob.lab.attacks.label_average import LABEL_AVERAGE
from plumbob.lab.attacks.label_only import LABEL_ONLY
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.lab.attacks.label_stacked import LABEL_STACKED
from plumbob.lab.paper.runs import even_split, label_rates, labels_of, trained
from plumbob.lab.simulate import Run


def small_scores(run: Run) -> float:
    """The share of rows whose joint score is below 2 when first visited: the truth about the paper's condition."""
    views = [View.of(transcript) for transcript in run.transcripts.values()]
    scores = np.full(views[0].rows, np.nan)
    for steps in zip(*(view.steps() for view in views), strict=True):
        batch = steps[0][0]
        if batch.epoch == 1:
            scores[batch.rows] = sum(own for _, _, own, _ in steps)
    return float(np.mean(np.abs(scores) < 2.0))


def sign() -> dict[str, Any]:
    """Zero start, first epoch, batch = fewest columns of a feature party."""
    found: dict[str, Any] = {}
    for name in ("breast-cancer", "credit"):
        X, y = datasets.load(name)
        for parties in (2, 3, 5):
            split = even_split(X.shape[1], parties)
            run = trained(split, X, y, row_norm=1.0, batch_size=min(split[1:]), epochs=1)
            by = {party.name: label_rates(run, LABEL_SIGN, party.name) for party in run.model.plan.feature_parties}
            found[f"{name}, {parties} parties"] = {"small_scores": small_scores(run), **by}
    for what, keys in {"unclipped": {"row_norm": 0.0}, "intercept": {"row_norm": 1.0, "intercept": True}}.items():
        run = trained((11, 12), X, y, batch_size=12, epochs=1, **keys)
        found[f"credit, {what}"] = {"small_scores": small_scores(run), "features": label_rates(run, LABEL_SIGN)}
    return found


def mnist() -> dict[str, Any]:
    """Largest row norm 1, batches of 256 rows against 392 columns of less rank."""
    X, y = datasets.load("mnist-01")
    X = X / np.linalg.norm(X, axis=1).max()
    run = trained((392, 392), X, y, scale="none", batch_size=256, epochs=1)
    return {"small_scores": small_scores(run), "features": label_rates(run, LABEL_SIGN)}


def only() -> dict[str, Any]:
    """Credit, all 23 columns at the feature party: ten random batches of each size."""
    X, y = datasets.load("credit")
    found: dict[str, Any] = {}
    for size in (24, 48, 64, 80, 96, 112, 128):
        exact, seconds = [], []
        for seed in range(10):
            rows = np.random.default_rng(seed).choice(len(X), size, replace=False)
            run = trained((0, 23), X[rows], y[rows], start="xavier", batch_size=size, epochs=1)
            outcome = label_rates(run, LABEL_ONLY)
            exact.append(outcome["rate"] == 1.0 and outcome["determined"] == 1.0)
            seconds.append(outcome["seconds"])
        found[str(size)] = {"exact_of_10": int(np.sum(exact)), "longest_seconds": max(seconds)}
    return found


def stacked() -> dict[str, Any]:
    """Credit, 11 + 12 columns, with and without an intercept."""
    X, y = datasets.load("credit")
    found = {}
    for intercept in (False, True):
        for size, epochs in ((64, 30), (256, 10), (256, 20), (256, 30), (256, 40)):
            run = trained((11, 12), X, y, intercept=intercept, batch_size=size, epochs=epochs)
            name = f"batch {size}, {epochs} epochs, {'with' if intercept else 'without'} intercept"
            found[name] = label_rates(run, LABEL_STACKED)
            print(name, found[name]["auc"], found[name]["rate"], found[name]["seconds"], file=sys.stderr)
    run = trained((11, 12), X, y, batch_size=256, epochs=30, batches="fixed")
    found["batch 256, 30 epochs, fixed batches"] = label_rates(run, LABEL_STACKED)
    return found


def transition() -> dict[str, Any]:
    """Synthetic rows, 12 columns at the feature party, batch 256: the rate over epochs.

    For two learning rates and two strengths of signal: the more scores grow, the more stands beside a label.
    """
    found: dict[str, Any] = {}
    for signal in (0.2, 0.5):
        generator = np.random.default_rng(3)
        X = generator.normal(size=(5120, 24))
        y = (X @ generator.normal(size=24) * signal + generator.normal(size=len(X)) > 0).astype(np.int64)
        for rate in (0.001, 0.01):
            curve = found[f"signal {signal}, learning rate {rate}"] = {}
            for epochs in (2, 6, 10, 12, 14, 16, 18, 20, 22, 24, 26):
                run = trained((12, 12), X, y, learning_rate=rate, batch_size=256, epochs=epochs)
                curve[f"{epochs} ({epochs * 12 / 256:.2f})"] = label_rates(run, LABEL_STACKED)["rate"]
    return found


def average() -> dict[str, Any]:
    """Noise 10 over 30 epochs on 20,000 rows of credit, batch 8 against 12 columns, beside the formula."""
    X, y = datasets.load("credit")
    found: dict[str, Any] = {}
    for rate in (1e-6, 0.01):
        run = trained(
            (11, 12),
            X[:20000],
            y[:20000],
            row_norm=1.0,
            batch_size=8,
            epochs=30,
            noise="std",
            noise_std=10.0,
            learning_rate=rate,
        )
        label_view = View.of(run.transcripts["label"])
        scores = np.zeros(label_view.rows)
        for batch, _, own, _ in label_view.steps():
            scores[batch.rows] += own / 30
        signs = 2.0 * labels_of(run) - 1.0
        expected = float(np.mean(norm.cdf((2.0 - signs * scores) * math.sqrt(30) / 10.0)))
        found[f"learning rate {rate:g}"] = {"expected": expected, **label_rates(run, LABEL_AVERAGE)}
    return found


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "sign": sign,
    "mnist": mnist,
    "only": only,
    "stacked": stacked,
    "transition": transition,
    "average": average,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    chosen = parser.parse_args().parts or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    print(json.dumps({part: PARTS[part]() for part in chosen}, indent=2))


if __name__ == "__main__":
    main()
