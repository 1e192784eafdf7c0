"""Binary and small-integer columns fix the rotation that `feature-geometry` leaves open.

    python -m benchmarks.attacks.binary_columns

Where scores of every pass are read, the peers' rows come out up to a rotation, or, whitened, up to any linear map. That
much must stay open if nothing is known of the columns. `lab/attacks/feature_geometry.py` finds those with few values
without a known row.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.attacks.study import Array, print_table
from plumbob.lab.attacks.feature_geometry import columns_with_few_values, is_same


class Found(NamedTuple):
    """Columns that were read without a known row."""

    binary: float
    """Share of the columns with two values that were found, every row right, but for which value is which."""
    integer: float
    """The same of columns with more values."""
    wrong: int
    """Candidates that passed the check and are none of the columns."""


def table(rows: int, binary: int, integer: int, normal: int, seed: int, dependence: float = 0.0) -> Array:
    """Columns with two values, with 0 to 3, and normal ones; `dependence` moves all by a common factor."""
    generator = np.random.default_rng(seed)
    common = dependence * generator.standard_normal((rows, 1))
    flags = common + generator.standard_normal((rows, binary)) > generator.uniform(-0.8, 0.8, binary)
    counts = np.clip(np.floor(common + generator.standard_normal((rows, integer)) * 1.2 + 2.0), 0, 3)
    return np.column_stack([flags, counts, common + generator.standard_normal((rows, normal))]).astype(np.float64)


def rotated(X: Array, seed: int, noise: float = 0.0) -> Array:
    """What the attacker has: the columns whitened, turned by a secret rotation, and read with an error."""
    generator = np.random.default_rng([seed, 2])
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(centred, rowvar=False, bias=True))
    whitened = centred @ (vectors / np.sqrt(values)) @ vectors.T
    turn = np.linalg.qr(generator.standard_normal((X.shape[1], X.shape[1])))[0]
    read: Array = whitened @ turn + noise * generator.standard_normal(X.shape)
    return read


def attack(X: Array, binary: int, integer: int, starts: int, seed: int, noise: float = 0.0) -> Found:
    found = columns_with_few_values(rotated(X, seed, noise), starts)
    truth = {2: X[:, :binary].T, 4: X[:, binary : binary + integer].T}
    read = {
        count: sum(any(is_same(column, one, count) for one in found.get(count, [])) for column in columns)
        for count, columns in truth.items()
    }
    wrong = sum(map(len, found.values())) - sum(read.values())
    return Found(read[2] / max(binary, 1), read[4] / max(integer, 1), wrong)


def main(runs: int = 3) -> None:
    lines: list[Sequence[Any]] = []
    for binary, integer, normal, rows, dependence, noise in (
        (3, 0, 3, 500, 0.0, 0.0),
        (6, 0, 0, 500, 0.0, 0.0),
        (6, 3, 3, 2000, 0.0, 0.0),
        (12, 0, 8, 2000, 0.0, 0.0),
        (6, 3, 3, 2000, 0.7, 0.0),
        (6, 3, 3, 200, 0.0, 0.0),
        (6, 3, 3, 2000, 0.0, 0.02),
        (6, 3, 3, 2000, 0.0, 0.3),
        (0, 0, 8, 2000, 0.0, 0.0),
    ):
        found = [
            attack(table(rows, binary, integer, normal, seed, dependence), binary, integer, 80, seed, noise)
            for seed in range(runs)
        ]
        means = [float(np.mean(column)) for column in zip(*found, strict=True)]
        lines.append((binary, integer, normal, rows, dependence, noise, *means))
    print_table(
        "Columns read from their rotation, 80 starts; rows known to the attacker: none",
        ("binary", "0 to 3", "normal", "rows", "dependence", "error", "binary found", "0 to 3 found", "wrong"),
        lines,
    )


if __name__ == "__main__":
    main()
