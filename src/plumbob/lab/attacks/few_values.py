"""Columns with few values, found among columns that are known up to a rotation only.

A combination of rotated columns that takes two values only is hardly an accident (the idea of Ye, Jiang, Wang, Li and
Li, arXiv 2210.06771, there for the first layer of a network), so such columns come out without a known row. The search
is our own: from random directions it goes to where the fourth moment is least, which for whitened independent columns
is where values are two, and then rounds and verifies. Columns with three or four values are told in the same way, by
their distance to a grid. benchmarks/attacks/binary_columns.py measures it.
"""

from collections.abc import Sequence

import numpy as np

from plumbob.arrays import Matrix, Vector

STEPS, ROUNDING = 200, 0.1
"""Steps of one descent, and how far a value may lie from its nearest level, relative to the levels' distance."""
LEVELS = (2, 3, 4)
FEWEST_ROWS = 20
"""Fewest rows per column: with fewer, a direction with few values may be an accident."""


def columns_with_few_values(rotated: Matrix, starts: int, levels: Sequence[int] = LEVELS) -> dict[int, list[Vector]]:
    """The different columns that some direction gives, as level numbers, by number of levels."""
    if len(rotated) < FEWEST_ROWS * rotated.shape[1]:
        return {count: [] for count in levels}
    read, generator = _whitened(rotated), np.random.default_rng(1)
    found: dict[int, list[Vector]] = {count: [] for count in levels}
    for _ in range(starts):
        drawn = generator.standard_normal(read.shape[1])
        reached = _descended(read, drawn / np.linalg.norm(drawn))
        for count in levels:
            column = _as_levels(read @ _sharpened(read, reached, count), count)
            if column is None:
                continue
            if not any(is_same(column, other, count) for other in found[count]):
                found[count].append(column)
            break
    return found


def _whitened(rotated: Matrix) -> Matrix:
    """The columns whitened, without directions that hardly vary."""
    left, sizes, _ = np.linalg.svd(rotated - rotated.mean(axis=0), full_matrices=False)
    read: Matrix = left[:, sizes > 1e-6 * sizes[0]] * np.sqrt(len(rotated))
    return read


def _descended(read: Matrix, direction: Vector) -> Vector:
    """Descend to a minimum of the fourth moment over unit directions."""
    for _ in range(STEPS):
        values = read @ direction
        moved = direction - 0.25 * (read.T @ values**3 / len(read) - 3.0 * direction)
        moved /= np.linalg.norm(moved)
        if np.abs(moved - direction).max() < 1e-6:
            break
        direction = moved
    return direction


def _sharpened(read: Matrix, direction: Vector, count: int) -> Vector:
    """Round to levels and fit again: dependent columns move the minimum a little, and this moves it back."""
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


def _distance(values: Vector, count: int) -> float:
    """The largest distance to a level, relative to the distance between levels."""
    low, high = np.quantile(values, [0.002, 0.998])
    if high <= low:
        return 1.0
    units = (values - low) / (high - low) * (count - 1)
    return float(np.abs(units - np.clip(np.rint(units), 0, count - 1)).max())


def _as_levels(values: Vector, count: int) -> Vector | None:
    if _distance(values, count) > ROUNDING:
        return None
    low, high = np.quantile(values, [0.002, 0.998])
    levels: Vector = np.clip(np.rint((values - low) / (high - low) * (count - 1)), 0, count - 1)
    return levels if len(np.unique(levels)) == count else None


def is_same(column: Vector, other: Vector, count: int) -> bool:
    """Whether two columns are the same up to which level is the highest."""
    return bool(np.array_equal(column, other) or np.array_equal(column, count - 1 - other))
