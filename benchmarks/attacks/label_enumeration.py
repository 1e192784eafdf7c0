"""Label enumeration by clustering, as a further baseline for attacks on labels in `exchange`.

    PLUMBOB_DATA=... python -m benchmarks.attacks.label_enumeration

A feature party clusters its own rows, and tries every way to give the clusters labels. Under each it calculates what
its first summed gradient would be, and keeps the labels whose gradient points where the real one did (the idea of
Jiang, Fu, Luo and Liu, arXiv 2603.03777; weights start at zero, so the first gradient depends on labels alone). It
reaches what the best labelling of clusters reaches, and no more: it is population inference, so it belongs beside the
majority class as what an attack must beat. In `shares` there is no gradient, and the sides of clusters stay open.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmarks.attacks.study import Array, Whitener, cosine, labels_of, made_up, print_table
from plumbob import datasets

Labels = NDArray[np.intp]


class Rates(NamedTuple):
    """Shares of labels that are right."""

    majority: float
    enumerated: float
    """With the gradient."""
    best: float
    """The best labelling of the same clusters."""
    blind: float
    """Without a gradient: the mean over all labellings that are not all alike."""


def first_gradient(X: Array, y: Labels) -> Array:
    """What a feature party sees of the first step at zero weights, but for a factor; any sigmoid gives it."""
    gradient: Array = (0.5 - y) @ X
    return gradient


def enumerated(X: Array, seen: Array, clusters: int, noise: float = 0.0) -> tuple[Labels, list[Labels]]:
    """(the labels whose gradient points as the seen one does, all labels that were tried)."""
    found = KMeans(clusters, n_init=5, random_state=1).fit_predict(X)
    noisy = seen + noise * np.random.default_rng(1).standard_normal(len(seen))
    tried = [np.array(sides, dtype=np.intp)[found] for sides in product((0, 1), repeat=clusters)]
    tried = [labels for labels in tried if len(np.unique(labels)) == 2]
    return max(tried, key=lambda labels: cosine(first_gradient(X, labels), noisy)), tried


def rates(X: Array, y: Labels, clusters: int, noise: float = 0.0) -> Rates:
    Z = Whitener.fit(X)(X)
    kept, tried = enumerated(Z, first_gradient(Z, y), clusters, noise)
    shares = [float(np.mean(labels == y)) for labels in tried]
    majority = max(float(np.mean(y)), 1.0 - float(np.mean(y)))
    return Rates(majority, float(np.mean(kept == y)), max(shares), float(np.mean(shares)))


def data() -> Iterator[tuple[str, Array, Labels]]:
    X, y = datasets.load("breast-cancer")
    yield "breast-cancer, 20 columns", X[:, 10:], np.asarray(y, dtype=np.intp)
    X = made_up(3000, 6, 1)
    yield "made up, 3 of 6 columns", X[:, 3:], labels_of(X, 1)
    if os.environ.get("PLUMBOB_DATA"):
        X, y = datasets.load("credit")
        yield "credit, 12 columns, 5,000 rows", X[:5000, 11:], np.asarray(y[:5000], dtype=np.intp)


def main() -> None:
    lines: list[Sequence[Any]] = []
    for name, X, y in data():
        for clusters in (2, 4, 8):
            lines.append((name, clusters, 0.0, *rates(X, y, clusters)))
        # Noise as large as the gradient of a hundred people.
        lines.append((name, 8, 100.0, *rates(X, y, 8, 100.0)))
    print_table(
        "Labels right, by a feature party that saw its first gradient",
        ("data", "clusters", "noise on sums", "majority", "enumerated", "best of clusters", "without gradient"),
        lines,
    )


if __name__ == "__main__":
    main()
