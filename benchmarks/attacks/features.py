"""The reach of the passive attacks on features: errors beside what decides them.

    python benchmarks/attacks/features.py single       # real credit columns at a one-column party, batch 16
    python benchmarks/attacks/features.py chain        # batches of one row, and fixed batches
    python benchmarks/attacks/features.py geometry     # 2 to 10 columns, mini-batches, and a few known rows
    python benchmarks/attacks/features.py geometry --columns 20 --epochs 60

Prints one JSON object. Errors do not depend on the machine; seconds do. Credit needs PLUMBOB_DATA.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from plumbob.lab.attacks import ValueClaim
from plumbob.lab.attacks.feature_chain import recover_chained_feature
from plumbob.lab.attacks.feature_geometry import recover_geometry, with_known_rows
from plumbob.lab.attacks.feature_single import recover_single_feature
from plumbob.lab.paper.runs import column_errors, credit, made_up, views_of


def single(_: argparse.Namespace) -> Iterator[dict[str, Any]]:
    usual: dict[str, Any] = {"batch_size": 16, "learning_rate": 0.01}
    clipped: dict[str, Any] = {"row_norm": 1.0, "epochs": 3}
    keys: dict[str, Any]
    for column in (0, 4, 6, 11, 17):
        for start in ("zero", "xavier"):
            views = views_of((22, 1), credit(column=column), start=start, epochs=2, **usual)
            found = column_errors(recover_single_feature, views["label"], views["features"].X[:, 0])
            yield {"setting": f"credit column {column}, {start} start, 2 epochs", **found}
    for sigmoid in ("minimax", "piecewise", "exact"):
        views = views_of((22, 1), credit(column=0), sigmoid=sigmoid, **clipped, **usual)
        found = column_errors(recover_single_feature, views["label"], views["features"].X[:, 0])
        yield {"setting": f"credit column 0, {sigmoid}, row_norm 1, 3 epochs", **found}
    for intercept in (False, True):
        keys = {"remainder": "drop"} if intercept else {}
        views = views_of((1, 22), credit(column=0, is_first=True), intercept=intercept, epochs=3, **keys, **usual)
        found = column_errors(recover_single_feature, views["features"], views["label"].X[:, 0])
        yield {"setting": f"reverse, credit column 0, intercept {intercept}, 3 epochs", **found}
    for sigmoid in ("taylor", "minimax"):
        keys = {"row_norm": 1.0} if sigmoid == "minimax" else {}
        views = views_of((22, 1), credit(480, 0), protocol="exchange", sigmoid=sigmoid, epochs=3, **keys, **usual)
        found = column_errors(recover_single_feature, views["label"], views["features"].X[:, 0])
        yield {"setting": f"encrypted, {sigmoid}, 480 rows of credit, 3 epochs", **found}


def chain(_: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for start in ("zero", "xavier"):
        for seed in range(10):
            views = views_of(
                (3, 1), made_up(300, 4, seed), batch_size=1, start=start, epochs=3, learning_rate=0.05, seed=seed + 1
            )
            found = column_errors(recover_chained_feature, views["label"], views["features"].X[:, 0])
            yield {"setting": f"made up, batch 1, {start} start, 3 epochs, seed {seed}", **found}
    views = views_of((22, 1), credit(8000, 0), batch_size=1, epochs=2, learning_rate=0.01, row_norm=1.0)
    found = column_errors(recover_chained_feature, views["label"], views["features"].X[:, 0])
    yield {"setting": "credit column 0, 8000 rows, batch 1, row_norm 1, 2 epochs", **found}
    views = views_of((22, 1), credit(8000, 0), batch_size=16, batches="fixed", epochs=2, learning_rate=0.01)
    found = column_errors(recover_chained_feature, views["label"], views["features"].X[:, 0])
    yield {"setting": "credit column 0, 8000 rows, fixed batches of 16, 2 epochs", **found}


def geometry(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for columns in options.columns:
        for rows in options.rows:
            for rate in (0.1, 0.01):
                yield _geometry(columns, rows, rate, options.epochs)


def _geometry(columns: int, rows: int, rate: float, epochs: int) -> dict[str, Any]:
    views = views_of((16, columns), made_up(rows, 16 + columns, 1), batch_size=16, epochs=epochs, learning_rate=rate)
    truth = views["features"].X
    started = time.process_time()
    claim = recover_geometry(views["label"])
    seconds = time.process_time() - started
    assert isinstance(claim, ValueClaim), claim
    gram = truth @ truth.T
    known = np.random.default_rng(0).choice(rows, columns + 2, replace=False)
    turned = with_known_rows(claim, known, truth[known])
    return {
        "setting": f"{columns} columns, {rows} rows, batch 16, {epochs} epochs, learning rate {rate}",
        "gram error": float(np.linalg.norm(claim.values @ claim.values.T - gram) / np.linalg.norm(gram)),
        "largest feature error with columns + 2 known rows": float(np.abs(turned.values - truth).max()),
        "determined": float(claim.is_determined.mean()),
        "seconds": round(seconds, 1),
        "conditions": {item.name: item.value for item in claim.conditions},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attack", choices=("single", "chain", "geometry"))
    parser.add_argument("--columns", type=int, nargs="+", default=[2, 4, 6, 8, 10])
    parser.add_argument("--rows", type=int, nargs="+", default=[400, 1000])
    parser.add_argument("--epochs", type=int, default=40)
    options = parser.parse_args()
    run = {"single": single, "chain": chain, "geometry": geometry}[options.attack]
    print(json.dumps({"attack": f"feature-{options.attack}", "results": list(run(options))}, indent=2))


if __name__ == "__main__":
    main()
