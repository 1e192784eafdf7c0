"""What the difference between two models says of the few rows that changed between the runs.

    python -m benchmarks.attacks.model_difference

Two honest runs on the same people, but for k who joined. Everything else being equal, the weights move by the joined
people's rows times their residuals, turned by the inverse curvature. Under `open = "own"` a feature party knows its own
rows of the joined people, so the difference of its own weights tells it their residuals, and so their labels: one
equation for each of its columns. Under `never` the label party knows labels, and the difference of scores of known
rows, in both models, tells it the direction of the joined person's row, as in `chosen_labels` but with honest labels.
Noise for rows stops both, if both runs have it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.attacks.study import (
    AS_SHARES,
    Whitener,
    against_chance,
    cosine,
    fitted,
    labels_of,
    made_up,
    print_table,
    solved,
)

OWN: dict[str, Any] = {"protocol": "shares", "open": "own"}
NEVER: dict[str, Any] = {"protocol": "shares", "open": "never"}
NOISY = AS_SHARES | {"noise": "rows", "epochs": 0}
LABEL_COLUMNS = 4


class Labels(NamedTuple):
    right: float
    """Share of the joined people's labels that the feature party names."""
    prior: float
    """Share that it would name from its columns alone, by the first run's weights."""


def read_labels(rows: int, columns: int, joined: int, seed: int, **keys: Any) -> Labels:
    """The feature party's guess at the labels of those who joined, the last rows of the second run."""
    X = made_up(rows, LABEL_COLUMNS + columns, seed)
    y = labels_of(X, seed)
    models = [
        fitted(X[:count], y[:count], (LABEL_COLUMNS, columns), **(keys | {"random_state": 2 * seed + number}))
        for number, count in enumerate((rows - joined, rows))
    ]
    theirs = X[:, LABEL_COLUMNS:]
    weights = [np.ravel(model.coef_)[LABEL_COLUMNS:] * theirs.std(axis=0) for model in models]
    # Everybody's rows count a little less in the second run; only what is new is of interest.
    Z = (theirs - theirs.mean(axis=0)) / theirs.std(axis=0)
    moved = (np.cov(Z, rowvar=False).reshape(columns, columns)) @ (weights[1] - weights[0])
    pushes = np.linalg.lstsq(Z[-joined:].T, moved, rcond=None)[0]
    truth = y[-joined:] == 1
    return Labels(float(np.mean((pushes > 0) == truth)), float(np.mean((Z[-joined:] @ weights[0] > 0) == truth)))


def read_row(rows: int, columns: int, joined: int, seed: int, known: int = 0, **keys: Any) -> float:
    """The label party's correlation with the mean of the joined people's rows, each turned by its label's residual.

    With `known` it has that many known rows scored by both models; without, it is given the weights themselves.
    """
    X = made_up(rows, LABEL_COLUMNS + columns, seed)
    y = labels_of(X, seed)
    whitener = Whitener.fit(X[:, LABEL_COLUMNS:])
    asked = X[:known].copy()
    asked[:, :LABEL_COLUMNS] = X[:, :LABEL_COLUMNS].mean(axis=0)
    weights = []
    for number, count in enumerate((rows - joined, rows)):
        model = fitted(X[:count], y[:count], (LABEL_COLUMNS, columns), **(keys | {"random_state": 2 * seed + number}))
        if known:
            weights.append(solved(whitener(asked[:, LABEL_COLUMNS:]), model.decision_function(asked))[0])
        else:
            weights.append(whitener.weights_from_input_units(np.ravel(model.coef_)[LABEL_COLUMNS:]))
    signs = np.where(y[-joined:] == 1, 1.0, -1.0)
    return cosine(weights[1] - weights[0], signs @ whitener(X[-joined:, LABEL_COLUMNS:]))


def main(runs: int = 40) -> None:
    lines: list[Sequence[Any]] = []
    for rows, columns in ((1000, 5), (10000, 5), (1000, 12)):
        for joined in (1, 3, 10):
            for name, keys in (("clear as shares", AS_SHARES), ("noise rows, epsilon 1", NOISY)):
                read = [read_labels(rows, columns, joined, seed, **keys) for seed in range(runs)]
                lines.append(
                    (name, rows, columns, joined, runs, *(float(np.mean(one)) for one in zip(*read, strict=True)))
                )
    read = [read_labels(1000, 5, 1, seed, **OWN) for seed in range(10)]
    lines.append(("shares, own", 1000, 5, 1, 10, *(float(np.mean(one)) for one in zip(*read, strict=True))))
    print_table(
        'A feature party, open = "own": labels of those who joined between two runs',
        ("runs of", "rows", "columns", "joined", "pairs", "labels right", "by the first model alone"),
        lines,
    )
    lines = []
    for rows, columns in ((1000, 5), (10000, 5), (1000, 12)):
        for joined in (1, 10):
            for name, keys in (("clear as shares", AS_SHARES), ("noise rows, epsilon 1", NOISY)):
                found = [read_row(rows, columns, joined, seed, **keys) for seed in range(runs)]
                lines.append((name, rows, columns, joined, runs, *against_chance(found, columns)))
    found = [read_row(1000, 5, 1, seed, known=60, **NEVER) for seed in range(10)]
    lines.append(("shares, never, 60 known rows", 1000, 5, 1, 10, *against_chance(found, 5)))
    print_table(
        'The label party, open = "never": the joined people\'s row, from scores of known rows in both models',
        ("runs of", "rows", "columns", "joined", "pairs", "mean correlation", "deviations above chance"),
        lines,
    )


if __name__ == "__main__":
    main()
