"""The passes of `noise = "rows"` in one place, in whole numbers: what shares must compute, and `clear` does compute.

Rows are whole numbers of bounded length, residuals are cut to whole numbers of bounded size, and every party's noise is
added to the sum before anything else is done with it (docs/privacy.md, Lemma 6).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plumbob.arrays import Matrix, Vector
from plumbob.privacy import discrete_gaussian
from plumbob.privacy.discrete_gaussian import Draw
from plumbob.privacy.rows import RowCost, Sensitivity, Units


@dataclass(frozen=True, repr=False, eq=False)
class NoisyDescent:
    """A full-batch descent on rows in units; `curve` is the sigmoid's stand-in minus 1/2, in plain numbers."""

    rows: Units
    labels: NDArray[np.int8]
    curve: Callable[[Vector], Vector]
    feature_bits: int
    residual_bits: int
    sensitivity: Sensitivity
    cost: RowCost
    rate: float
    momentum: float

    def run(self, draw_of_each_party: list[Draw]) -> Vector:
        """The weights after all passes, with one draw of noise per party, pass and column."""
        columns = self.rows.shape[1]
        noise = [self.noise_of_a_run(draw) for draw in draw_of_each_party]
        weights, step = np.zeros(columns), np.zeros(columns)
        for number in range(self.cost.passes):
            sums = self.sums(weights) + np.sum([drawn[number] for drawn in noise], axis=0)
            gradient = sums / (len(self.rows) * 2.0 ** (self.feature_bits + self.residual_bits))
            step = self.momentum * step - self.rate * gradient
            weights = weights + step
        return weights

    def noise_of_a_run(self, draw: Draw) -> Matrix:
        """One party's noise, drawn before the first pass: one row per pass."""
        columns = self.rows.shape[1]
        drawn = discrete_gaussian.sample_many(self.cost.std, self.cost.passes * columns, draw)
        return np.array(drawn, dtype=np.float64).reshape(self.cost.passes, columns)

    def sums(self, weights: Vector) -> Vector:
        """The summed gradient at these weights, in units and exact."""
        scores = (self.rows @ weights) / 2.0**self.feature_bits
        residuals = np.trunc((self.curve(scores) - (self.labels - 0.5)) * 2.0**self.residual_bits)
        assert np.abs(residuals).max(initial=0.0) <= self.sensitivity.residual
        sums: Vector = residuals @ self.rows
        return sums
