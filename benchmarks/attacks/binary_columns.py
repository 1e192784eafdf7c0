"""Binary and small-integer columns fix the rotation that `feature-geometry` leaves open.

    python -m benchmarks.attacks.binary_columns

Where scores of every pass are read, the peers' rows come out up to a rotation, or, whitened, up to any linear map. That
much must stay open if nothing is known of the columns. If some of them hold only two values, they are found without a
known row: a combination of the rotated columns that takes two values only is hardly an accident (the idea of Ye, Jiang,
Wang, Li and Li, arXiv 2210.06771, there for the first layer of a network). The search here is our own: from random
directions, it goes to where the fourth moment is least, which for whitened independent columns is where values are two,
and then rounds and verifies. Columns with three or four values are told in the same way, by their distance to a grid.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.attacks.study import Array, print_table

STEPS, ROUNDING = 200, 0.1
"""Of one descent; and how far from its nearest level a value may lie, as a share of the distance between levels."""


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


def candidates(read: Array, starts: int, levels: Sequence[int] = (2, 3, 4), seed: int = 1) -> dict[int, list[Array]]:
    """By number of levels, the different columns (as level numbers) that some direction gives."""
    generator = np.random.default_rng(seed)
    found: dict[int, list[Array]] = {count: [] for count in levels}
    for _ in range(starts):
        drawn = generator.standard_normal((1, read.shape[1]))
        reached = _descended(read, (drawn / np.linalg.norm(drawn))[0])
        for count in levels:
            column = _as_levels(read @ _sharpened(read, reached, count), count)
            if column is None:
                continue
            if not any(_same(column, other, count) for other in found[count]):
                found[count].append(column)
            break
    return found


def _descended(read: Array, direction: Array) -> Array:
    """To a minimum of the fourth moment over unit directions."""
    for _ in range(STEPS):
        values = read @ direction
        moved = direction - 0.25 * (read.T @ values**3 / len(read) - 3.0 * direction)
        moved /= np.linalg.norm(moved)
        if np.abs(moved - direction).max() < 1e-6:
            break
        direction = moved
    return direction


def _sharpened(read: Array, direction: Array, count: int) -> Array:
    """Dependent columns move the minimum a little; rounding to levels and fitting again moves it back."""
    for _ in range(20):
        values = read @ direction
        low, high = np.quantile(values, [0.002, 0.998])
        levels = np.clip(np.rint((values - low) / (high - low) * (count - 1)), 0, count - 1)
        fitted = np.linalg.lstsq(read, levels - levels.mean(), rcond=None)[0]
        length = float(np.linalg.norm(fitted))
        # Kept only where the fit comes nearer to its levels.
        if not length or _distance(read @ (fitted / length), count) >= _distance(values, count):
            break
        direction = fitted / length
    return direction


def _distance(values: Array, count: int) -> float:
    """The largest distance to a level, as a share of the distance between levels."""
    low, high = np.quantile(values, [0.002, 0.998])
    if high <= low:
        return 1.0
    units = (values - low) / (high - low) * (count - 1)
    return float(np.abs(units - np.clip(np.rint(units), 0, count - 1)).max())


def _as_levels(values: Array, count: int) -> Array | None:
    if _distance(values, count) > ROUNDING:
        return None
    low, high = np.quantile(values, [0.002, 0.998])
    levels: Array = np.clip(np.rint((values - low) / (high - low) * (count - 1)), 0, count - 1)
    return levels if len(np.unique(levels)) == count else None


def _same(column: Array, other: Array, count: int) -> bool:
    return bool(np.array_equal(column, other) or np.array_equal(column, count - 1 - other))


def attack(X: Array, binary: int, integer: int, starts: int, seed: int, noise: float = 0.0) -> Found:
    found = candidates(rotated(X, seed, noise), starts)
    truth = {2: X[:, :binary].T, 4: X[:, binary : binary + integer].T}
    read = {
        count: sum(any(_same(column, one, count) for one in found.get(count, [])) for column in columns)
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
