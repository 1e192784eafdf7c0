"""What noise for whole rows costs in AUC, from public numbers alone: one price for one plan, wherever it is told.

The price goes by the burden of the noise: columns / (rows * sqrt of the budget), which also settles the public rule's
passes and norm. Both constants were chosen on sixty made-up settings. docs/privacy.md says how often real runs on other
tables lie within the range. Noise also leaves room for fewer bins than a plan without it has. What that costs depends
on the table, and no number in the plan tells it.
"""

from dataclasses import dataclass

from plumbob.plan.row_noise import row_burden

SLOPE = 0.4
"""The AUC that is lost per unit of burden, while little is lost."""
SLOPE_WITH_BINS = 1.0
"""The same where columns have bins, whose cuts share what is paid for ranges; chosen on the runs in test_price.py."""
MOST = 0.25
"""What the loss approaches where noise drowns the model."""
LIKELY = (0.5, 2.0)
"""The loss lies between these multiples of the price on most tables: docs/privacy.md says on how many."""
USUAL_AUC = 0.8
BEARABLE = 0.03
"""The largest loss of AUC that is told as a figure; beyond it, noise is only said to cost more."""
SMALL = 0.003
"""How far a small loss may be off in addition."""
TOO_FEW_ROWS = 2000
"""With fewer, a column's noisy range may lie far beyond its values, and the loss be several times the price."""


@dataclass(frozen=True)
class NoisePrice:
    """The AUC that noise costs against the same run without it, and the range on most tables."""

    expected: float
    low: float
    high: float

    @classmethod
    def of(cls, rows: int, columns: float, epsilon: float, delta: float, has_bins: bool = False) -> "NoisePrice":
        """The price with the public rule's passes and norm; `columns` are all parties', as the rule counts them."""
        lost = (SLOPE_WITH_BINS if has_bins else SLOPE) * row_burden(rows, columns, epsilon, delta)
        expected = lost / (1.0 + lost / MOST)
        low, high = LIKELY
        return cls(expected, max(0.0, low * expected - SMALL), min(USUAL_AUC - 0.5, high * expected + SMALL))
