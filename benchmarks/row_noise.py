"""What bins and gaps give under noise for whole rows: AUC on held-out rows, means of several splits.

    PLUMBOB_DATA=... python -m benchmarks.row_noise [--splits 10] [--epsilon 4] [--only credit hmeq ...]

Three plans on each table: the default one without noise, noise with columns as they are, which is what noise meant
before bins were paid for, and noise as it is drafted. Every split has its own held-out fifth, bins, noise and seed. The
rule for the number of bins was chosen on other tables than those that are made up here. `credit`, `hmeq` and `telco`
need files; the others come from scikit-learn or are made up.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    make_classification,
    make_friedman1,
    make_hastie_10_2,
)
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from plumbob.data import Table, table_from
from plumbob.lab import datasets
from plumbob.lab.simulate import train
from plumbob.lab.simulate.files import common_rows, draft_for

Labels = NDArray[np.int64]
Data = tuple[pd.DataFrame, Labels]
DELTA = 1e-6
AS_THEY_ARE = {"bins": 0}


def main(words: Sequence[str]) -> None:
    """One line for each table."""
    parser = argparse.ArgumentParser(description="bins and gaps under noise for whole rows")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    options = parser.parse_args(words)
    print("| table | training rows | no noise | noise, columns as they are | noise as drafted: bins, AUC | gain |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    for name in options.only:
        frame, y = TABLES[name]()
        found = np.array([one_split(frame, y, options.epsilon, seed) for seed in range(options.splits)])
        rows, bins, without, plain, drafted = found.mean(axis=0)
        figures = f"{without:.4f} | {plain:.4f} | {bins:.0f}, {drafted:.4f} | {drafted - plain:+.4f}"
        print(f"| {name} | {rows:,.0f} | {figures} |", flush=True)


def one_split(frame: pd.DataFrame, y: Labels, epsilon: float, seed: int) -> tuple[float, ...]:
    """Training rows, bins, and the AUC of the three plans."""
    places = np.arange(len(y))
    rows = train_test_split(places, test_size=0.2, random_state=seed, stratify=y)
    noise = {"noise": "rows", "epsilon": epsilon, "delta": DELTA}
    found = [fitted(frame, y, rows, seed, keys) for keys in ({}, {**noise, **AS_THEY_ARE}, noise)]
    return len(rows[0]), found[2][1], *(auc for auc, _ in found)


def fitted(
    frame: pd.DataFrame, y: Labels, rows: Sequence[NDArray[np.intp]], seed: int, keys: dict[str, Any]
) -> tuple[float, int]:
    """The AUC of a model with these keys on the held-out rows, and its bins."""
    train_rows, test_rows = rows
    tables = halves(frame.iloc[train_rows], y[train_rows])
    plan, _ = draft_for(tables, {"protocol": "clear", "seed": seed + 1, "test_share": 0.0, **keys})
    tables = common_rows(plan, tables)
    model = train(plan, tables).model
    scores = model.scores(halves(frame.iloc[test_rows], None))
    return roc_auc_score(y[test_rows], scores), plan.bins


def halves(frame: pd.DataFrame, y: Labels | None) -> dict[str, Table]:
    """The tables of two parties; the label party has the first half of the columns."""
    half = frame.shape[1] // 2
    return {"label": table_from(frame.iloc[:, :half], labels=y), "features": table_from(frame.iloc[:, half:])}


# Tables.


def hmeq() -> Data:
    frame = pd.read_csv(Path(os.environ["PLUMBOB_DATA"]) / "hmeq" / "hmeq.csv")
    return frame.drop(columns="BAD"), frame["BAD"].to_numpy()


def credit() -> Data:
    frame = pd.read_csv(Path(os.environ["PLUMBOB_DATA"]) / "credit" / "UCI_Credit_Card.csv.gz")
    label = frame.columns[-1]
    return frame.drop(columns=["ID", label]), frame[label].to_numpy()


def telco() -> Data:
    frame = pd.read_csv(Path(os.environ["PLUMBOB_DATA"]) / "telco" / "telco.csv", na_values=[" "])
    y = (frame.pop("Churn") == "Yes").to_numpy(np.int64)
    return frame.drop(columns="customerID"), y


def loans() -> Data:
    return of_classes(*datasets.load("loans", part="all"))


def of_classes(X: NDArray[np.float64], y: NDArray[np.integer[Any]]) -> Data:
    return pd.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])]), y.astype(np.int64)


def even_effects(rows: int, columns: int) -> Data:
    """Every column acts evenly: there is nothing for bins to find."""
    draw = np.random.default_rng(1)
    X = draw.standard_normal((rows, columns))
    y = X @ draw.standard_normal(columns) / np.sqrt(columns) + draw.logistic(size=rows) > 0
    return of_classes(X, y)


def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return of_classes(X, y % 2)


def of_numbers(X: NDArray[np.float64], y: NDArray[np.float64]) -> Data:
    return pd.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])]), (y > np.median(y)).astype(np.int64)


TABLES: dict[str, Callable[[], Data]] = {
    "credit": credit,
    "hmeq": hmeq,
    "telco": telco,
    "friedman": lambda: of_numbers(*make_friedman1(30_000, noise=2.0, random_state=1)),
    "sphere": lambda: of_numbers(*make_hastie_10_2(30_000, random_state=1)),
    "even effects": lambda: even_effects(30_000, 16),
    "loans": loans,
    "digits": digits,
    "breast-cancer": lambda: of_classes(*load_breast_cancer(return_X_y=True)),
    "clusters": lambda: of_numbers(
        *make_classification(
            30_000, 16, n_informative=8, n_redundant=2, n_clusters_per_class=3, flip_y=0.1, random_state=1
        )
    ),
}


if __name__ == "__main__":
    main(sys.argv[1:])
