"""How much a host can read where each batch is hidden among decoys (FATE 1.7.2 and later, `masked_rate`).

A step names (1 + m) * s rows, of which only the guest knows the s that count. The host's gradient is then a sum over
the named rows in which each residual appears with probability p = 1 / (1 + m). Beside its mean, which the host can
solve for, that is noise: with residuals of size f and columns of variance 1, an equation holds

    signal  (1 + m) s * p^2 f^2 = s f^2 / (1 + m)        noise  (1 + m) s * p (1 - p) f^2 = s m f^2 / (1 + m)

so the noise is m times the signal, whatever s is. A linear solve of K such equations per row, in which the other rows
disturb too, reaches the signal-to-noise ratio g with

    g = K / (m + 1 / (1 + g))

(the fixed point of a linear estimator on a random design). Without decoys, m = 0, it grows without bound from K = 1
on, which is the rule of the stacked solve itself. tests/jobs/test_decoys.py sets it beside a real solve.
"""

import math

from plumbob.checking.figures import Figures
from plumbob.checking.forecast import Forecast
from plumbob.jobs.reading import Decoys


def equations_per_row(decoys: Decoys, rows: int, batch: int, columns: int, passes: int) -> float:
    """K: own columns times steps, for each row. An epoch is one step where it draws a single batch."""
    steps = passes * (decoys.batches_per_epoch or max(1, rows // max(1, batch)))
    return columns * steps / max(1, rows)


def hidden_rate(decoys: Decoys, rows: int, batch: int) -> float:
    """m, which cannot be more than all rows allow."""
    return max(0.0, min(decoys.rate, rows / max(1, batch) - 1.0))


def signal_to_noise(known: float, rate: float) -> float:
    """The positive root of m g^2 + (m + 1 - K) g - K = 0, in power."""
    if rate <= 0.0:
        return math.inf if known >= 1.0 else known / (1.0 - known)
    half = (rate + 1.0 - known) / 2.0
    return (math.sqrt(half * half + rate * known) - half) / rate


def forecast(known: float, rate: float, figures: Figures) -> Forecast:
    """Of a stacked solve; other parties' scores, which blur a little more, are left out."""
    ratio = math.sqrt(signal_to_noise(known, rate))
    return Forecast(ratio, 1.0, figures.rows, figures.flipped, figures.baseline_auc)
