"""How good the default plan's model is, against pooled scikit-learn and against the label party's own columns.

    PLUMBOB_DATA=... python -m benchmarks.quality [--splits 5] [--only credit hmeq telco breast-cancer correlated]

Each split holds out a fifth of the rows. The joint model is trained in `clear` with the settings of the default plan,
which `shares` reproduces to the sixth decimal of a weight (tests/protocol/test_shares.py). Pooled and local
models are scikit-learn's with C = 1 on standardised columns. hmeq and telco are one-hot, gaps filled with the mean;
`correlated` is made up: each column of one party nearly repeats one of the other's. `correlated` needs no file.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from plumbob.data import split_array
from plumbob.lab import datasets
from plumbob.lab.simulate import train
from plumbob.model.links import log_odds
from plumbob.plan import Plan

Data = tuple[NDArray[np.float64], NDArray[np.int64], tuple[int, int]]


def main(words: Sequence[str]) -> None:
    """One line for each data set."""
    parser = argparse.ArgumentParser(description="quality of the default plan")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(LOADERS), default=list(LOADERS))
    options = parser.parse_args(words)
    print("| data | columns | pooled AUC / log loss | joint: AUC less pooled, log loss / pooled | local-only |")
    print("|---|---|---|---|---|")
    for name in options.only:
        X, y, split = LOADERS[name]()
        found = np.array([one_split(X, y, split, seed) for seed in range(options.splits)])
        pooled, joint, local = found.mean(axis=0)
        print(
            f"| {name} | {split[0]} + {split[1]} | {pooled[0]:.4f} / {pooled[1]:.4f} | "
            f"{joint[0] - pooled[0]:+.4f}, {joint[1] / pooled[1]:.3f} | "
            f"{local[0] - pooled[0]:+.4f}, {local[1] / pooled[1]:.3f} |",
            flush=True,
        )


def one_split(X: NDArray[np.float64], y: NDArray[np.int64], split: tuple[int, int], seed: int) -> list[list[float]]:
    """(AUC, log loss) of pooled, joint and local-only on the held-out rows."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    own = split[0]
    chances = [
        fitted(X_train, y_train, X_test),
        joint(X_train, y_train, X_test, split, seed),
        fitted(X_train[:, :own], y_train, X_test[:, :own]),
    ]
    return [[roc_auc_score(y_test, chance), log_loss(y_test, chance)] for chance in chances]


def fitted(X: NDArray[np.float64], y: NDArray[np.int64], X_test: NDArray[np.float64]) -> NDArray[np.float64]:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=2000)).fit(X, y)
    chance: NDArray[np.float64] = model.predict_proba(X_test)[:, 1]
    return chance


def joint(
    X: NDArray[np.float64], y: NDArray[np.int64], X_test: NDArray[np.float64], split: tuple[int, int], seed: int
) -> NDArray[np.float64]:
    plan = Plan.for_columns(split, protocol="clear", seed=seed + 1)
    names = [party.name for party in plan.learners]
    model = train(plan, dict(zip(names, split_array(X, y, split), strict=True))).model
    tables = split_array(X_test, None, split)
    odds = log_odds(plan, model.scores(dict(zip(names, tables, strict=True))))
    return np.asarray(1 / (1 + np.exp(-odds)))


def halves(X: NDArray[np.float64], y: NDArray[np.int64]) -> Data:
    """The label party has the first half of the columns."""
    return X, y, (X.shape[1] // 2, X.shape[1] - X.shape[1] // 2)


def known(name: str) -> Data:
    X, y = datasets.load(name, "all")
    return halves(X, y.astype(np.int64))


def table(file: str, label: str, positive: object, dropped: tuple[str, ...] = ()) -> Data:
    frame = pd.read_csv(Path(os.environ["PLUMBOB_DATA"]) / file, na_values=[" "]).drop(columns=list(dropped))
    y = (frame.pop(label) == positive).to_numpy(np.int64)
    encoded = pd.get_dummies(frame, drop_first=True, dtype=float)
    return halves(encoded.fillna(encoded.mean()).to_numpy(np.float64), y)


def correlated() -> Data:
    generator = np.random.default_rng(0)
    first = generator.normal(size=(8000, 8))
    X = np.hstack([first, 0.95 * first + 0.31 * generator.normal(size=first.shape)])
    y = (X @ generator.normal(size=16) + 2 * generator.normal(size=len(X)) > 0).astype(np.int64)
    return halves(X, y)


LOADERS: dict[str, Callable[[], Data]] = {
    "credit": lambda: known("credit"),
    "hmeq": lambda: table("hmeq/hmeq.csv", "BAD", 1),
    "telco": lambda: table("telco/telco.csv", "Churn", "Yes", ("customerID",)),
    "breast-cancer": lambda: known("breast-cancer"),
    "correlated": correlated,
}


if __name__ == "__main__":
    main(sys.argv[1:])
