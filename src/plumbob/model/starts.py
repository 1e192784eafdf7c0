"""Starting weights (section 4), for all columns of all parties at once.

One draw over all columns makes the weights depend on the seed and the columns alone, whatever the protocol; each party
takes its own part. The intercept is not among them and starts at 0.
"""

import numpy as np

from plumbob.arrays import Vector
from plumbob.errors import PlanError


def starting_weights(start: str, n_columns: int, generator: np.random.Generator) -> Vector:
    """Weights for `n_columns` columns: zero, xavier, kaiming, small (Laplace / sqrt(d)) or normal."""
    match start:
        case "zero":
            return np.zeros(n_columns)
        case "xavier" | "kaiming":
            reach = uniform_reach(start, n_columns)
            return generator.uniform(-reach, reach, n_columns)
        case "small":
            return generator.laplace(scale=1.0 / np.sqrt(n_columns), size=n_columns)
        case "normal":
            return generator.standard_normal(n_columns)
    raise PlanError(f"unknown start {start!r}")


def uniform_reach(start: str, n_columns: int) -> float:
    """The largest weight of the two uniform starts: sqrt(6 / (d + 1)) for xavier, sqrt(6 / d) for kaiming."""
    return float(np.sqrt(6.0 / (n_columns + (start == "xavier"))))
