"""What noise for whole rows costs in AUC, from public numbers alone: one price for one plan, wherever it is told.

The price goes by the burden of the noise: columns / (rows * sqrt of the budget), which also settles the public rule's
passes and norm. Both constants were chosen on sixty made-up settings. docs/privacy.md says how often real runs on other
tables lie within the range. Noise also needs an encoding that no single row changes. What that encoding costs depends
on the table, and only whoever has one can measure it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbob.plan.settings import row_burden
from plumbob.privacy.noise_cost import USUAL_AUC

SLOPE = 0.4
"""The AUC that is lost per unit of burden, while little is lost."""
MOST = 0.25
"""What the loss approaches where noise drowns the model."""
LIKELY = (0.5, 2.0)
"""The loss lies between these multiples of the price on nine of ten tables."""
SMALL = 0.003
"""How far a small loss may be off in addition."""


@dataclass(frozen=True)
class NoisePrice:
    """The AUC that noise costs against the same run without it, and the range on nine of ten tables."""

    expected: float
    low: float
    high: float

    @classmethod
    def of(cls, rows: int, columns: Sequence[int], epsilon: float, delta: float) -> "NoisePrice":
        """The price with the public rule's passes and norm; `rows` are training rows, `columns` are each party's."""
        lost = SLOPE * row_burden(rows, sum(columns), epsilon, delta)
        expected = lost / (1.0 + lost / MOST)
        low, high = LIKELY
        return cls(expected, max(0.0, low * expected - SMALL), min(USUAL_AUC - 0.5, high * expected + SMALL))
