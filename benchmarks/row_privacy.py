"""What a promise about whole rows costs in quality: four real settings, and made-up tables for the forecast.

    python benchmarks/row_privacy.py [--seeds 10]            # credit, telco and hmeq, from the folder in PLUMBOB_DATA
    python benchmarks/row_privacy.py --forecast [--tables 40] # the forecast beside runs it was not fitted on

Everything is charged: noisy ranges, noisy moments, all passes. Passes and whitening follow the public rule. The arrays
go through the same functions as in training (`privacy.home`, `privacy.rows`, `privacy.descent`), without the messages.
The constants of the rule were chosen on made-up tables of other seeds.
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from plumbob.arrays import Matrix
from plumbob.data import Table, read_table
from plumbob.data.cells import ColumnChoices
from plumbob.model.sigmoid import SIGMOIDS
from plumbob.privacy import home, rows
from plumbob.privacy.descent import NoisyDescent
from plumbob.privacy.row_rule import RowRule, expected_auc_loss, row_rule

Labels = NDArray[np.int8]
DELTA = 1e-6
FEATURE_BITS, RESIDUAL_BITS = 13, 20
SETTINGS = (("credit", 1.0), ("credit", 4.0), ("telco", 4.0), ("hmeq", 1.0))


@dataclass(frozen=True)
class Data:
    """Training and held-out rows, how the columns are split, and which of them are categories."""

    X: Matrix
    y: Labels
    X_test: Matrix
    y_test: Labels
    split: tuple[int, int]
    is_category: NDArray[np.bool_]


def trained(data: Data, epsilon: float, seed: int, rule: RowRule, *, is_noisy: bool = True) -> tuple[float, float]:
    """(AUC, log loss) on the held-out rows; without noise, the same scaling from a budget without end."""
    draw = np.random.default_rng(seed).bytes
    norms = rows.norms_of(0.0, data.split)
    rho = rule.rho_at_home if is_noisy else 1e6
    parts, tests, end = [], [], 0
    for width, norm in zip(data.split, norms, strict=True):
        own = slice(end, end + width)
        end += width
        part, test = _at_home(data, own, rho, draw, is_whitened=rule.is_whitened)
        parts.append(rows.clipped_units(part, norm, FEATURE_BITS))
        tests.append(test)
    units = np.hstack([*parts, np.full((len(data.y), 1), 1 << FEATURE_BITS)])
    sensitivity = rows.Sensitivity.of(norms, FEATURE_BITS, RESIDUAL_BITS)
    cost = rows.calibrated(epsilon, DELTA, sensitivity.units, rule.passes, [rule.rho_at_home] * 2)
    descent = NoisyDescent(
        units,
        data.y,
        SIGMOIDS["fourier"].curve,
        FEATURE_BITS,
        RESIDUAL_BITS,
        sensitivity,
        cost,
        rows.public_rate(2),
        0.5,
    )
    weights = descent.run([draw, draw] if is_noisy else [])
    scores = np.hstack([*tests, np.ones((len(data.y_test), 1))]) @ weights
    return float(roc_auc_score(data.y_test, scores)), float(log_loss(data.y_test, 1 / (1 + np.exp(-scores))))


def _at_home(data: Data, own: slice, rho: float, draw: home.Draw, *, is_whitened: bool) -> tuple[Matrix, Matrix]:
    known = [home.CATEGORY if is_category else None for is_category in data.is_category[own]]
    if not is_whitened:
        scaling = home.fit_scaling(data.X[:, own], known, rho, draw)
        return scaling.scaled(data.X[:, own]), scaling.scaled(data.X_test[:, own])
    fitted = home.fit_whitening(data.X[:, own], known, rho, draw)
    return fitted.whitened(data.X[:, own]), (fitted.scaling.scaled(data.X_test[:, own]) - fitted.mean) @ fitted.matrix


def pooled(data: Data, columns: slice = slice(None)) -> tuple[float, float]:
    """scikit-learn on standardised columns, gaps filled with the mean."""
    X, X_test = data.X[:, columns], data.X_test[:, columns]
    means = np.nanmean(X, axis=0)
    X, X_test = (np.where(np.isnan(part), means, part) for part in (X, X_test))
    deviations = X.std(axis=0)
    deviations[deviations == 0] = 1.0
    model = LogisticRegression(max_iter=2000).fit((X - means) / deviations, data.y)
    chances = model.predict_proba((X_test - means) / deviations)[:, 1]
    return float(roc_auc_score(data.y_test, chances)), float(log_loss(data.y_test, chances))


# Tables.


def load(name: str) -> Data:
    """A real table: texts one-hot, the first half of the columns at the label party, some rows held out."""
    folder = Path(os.environ["PLUMBOB_DATA"])
    file, identity, label = {
        "credit": ("credit/UCI_Credit_Card.csv.gz", "ID", "default.payment.next.month"),
        "telco": ("telco/telco.csv", "customerID", "Churn"),
        "hmeq": ("hmeq/hmeq.csv", None, "BAD"),
    }[name]
    table = read_table(folder / file, id_column=identity, label_column=label, choices=ColumnChoices(gaps=(" ",)))
    X, is_category, own = _encoded(table)
    assert table.labels is not None
    held_out = 0.1 if name == "credit" else 0.2
    order = np.random.default_rng(0).permutation(len(X))
    test, training = np.split(order, [int(len(X) * held_out)])
    y = table.labels.astype(np.int8)
    return Data(X[training], y[training], X[test], y[test], (own, X.shape[1] - own), is_category)


def _encoded(table: Table) -> tuple[Matrix, NDArray[np.bool_], int]:
    """(numbers, which columns are categories, how many belong to the label party)."""
    numbers: list[NDArray[np.float64]] = []
    is_category: list[bool] = []
    own = 0
    for place, column in enumerate(table.columns):
        if place == len(table.columns) // 2:
            own = len(numbers)
        if not column.is_text:
            numbers.append(column.values.astype(np.float64))
            is_category.append(False)
            continue
        for level in sorted({value for value in column.values if value is not None}):
            is_level = np.array([np.nan if value is None else float(value == level) for value in column.values])
            numbers.append(is_level)
            is_category.append(True)
    return np.column_stack(numbers), np.array(is_category), own


def made_up(n_rows: int, columns: int, seed: int) -> Data:
    """Correlated columns, some of them heavy-tailed, some of them 0 or 1."""
    generator = np.random.default_rng(seed)
    count = n_rows + max(3000, n_rows // 4)
    mixing = generator.normal(size=(columns, columns)) * np.exp(-0.15 * np.arange(columns)) * 1.5 + 0.7 * np.eye(
        columns
    )
    X = generator.normal(size=(count, columns)) @ mixing.T
    X /= X.std(axis=0)
    kind = generator.integers(0, 3, columns)
    signal = X @ (generator.normal(size=columns) * (generator.random(columns) < 0.5))
    signal *= generator.uniform(0.7, 1.6) / max(float(signal.std()), 1e-9)
    offset = np.quantile(signal, 1 - generator.uniform(0.1, 0.5))
    y = (generator.random(count) < 1 / (1 + np.exp(-1.5 * (signal - offset)))).astype(np.int8)
    X[:, kind == 1] = 1000 * np.exp(X[:, kind == 1])
    X[:, kind == 2] = X[:, kind == 2] > generator.normal(size=int((kind == 2).sum())) * 0.7
    half = columns // 2
    return Data(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], (half, columns - half), kind == 2)


# What is printed.


def compare_tables(seeds: int) -> None:
    """Each setting's mean over the seeds, beside pooled and local-only models without noise."""
    for name, epsilon in SETTINGS:
        data = load(name)
        rule = row_rule(len(data.y), data.split, epsilon, DELTA)
        found = np.array([trained(data, epsilon, seed, rule) for seed in range(seeds)])
        (auc, loss), (best_auc, best_loss) = found.mean(axis=0), pooled(data)
        local = pooled(data, slice(0, data.split[0]))[0]
        forecast = expected_auc_loss(len(data.y), data.split, epsilon, DELTA, rule.passes, is_whitened=rule.is_whitened)
        print(
            f"{name} {len(data.y)} x {data.split} epsilon {epsilon:g}: {rule.passes} passes, "
            f"AUC {auc:.4f} ({found[:, 0].min():.4f} to {found[:, 0].max():.4f}), log loss {loss:.4f}; pooled "
            f"{best_auc:.4f} / {best_loss:.4f} ({auc - best_auc:+.4f}, x{loss / best_loss:.4f}), local-only "
            f"{local:.4f}; forecast loss {forecast:.4f}",
            flush=True,
        )


def compare_forecasts(tables: int) -> None:
    """The expected loss beside the measured one, on made-up tables of many shapes."""
    generator = np.random.default_rng(4242)
    close = 0
    for number in range(tables):
        n_rows = int(np.exp(generator.uniform(np.log(1500), np.log(40_000))))
        columns, epsilon = int(generator.integers(6, 60)), float(np.exp(generator.uniform(np.log(0.5), np.log(8))))
        data = made_up(n_rows, columns, 20_000 + number)
        rule = row_rule(n_rows, data.split, epsilon, DELTA)
        without = trained(data, epsilon, 0, rule, is_noisy=False)[0]
        loss = without - float(np.mean([trained(data, epsilon, seed, rule)[0] for seed in range(10)]))
        forecast = expected_auc_loss(n_rows, data.split, epsilon, DELTA, rule.passes, is_whitened=rule.is_whitened)
        close += abs(loss - forecast) <= 0.01
        print(
            f"{n_rows:6d} x {data.split} epsilon {epsilon:.2f}, {rule.passes} passes: AUC without noise {without:.4f}, "
            f"loss {loss:+.4f}, forecast {forecast:.4f}; within .01 so far: {close} of {number + 1}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="draws of noise per setting")
    parser.add_argument("--forecast", action="store_true", help="compare the forecast with runs on made-up tables")
    parser.add_argument("--tables", type=int, default=40, help="made-up tables for --forecast")
    chosen = parser.parse_args()
    if chosen.forecast:
        compare_forecasts(chosen.tables)
    else:
        compare_tables(chosen.seeds)


if __name__ == "__main__":
    main()
