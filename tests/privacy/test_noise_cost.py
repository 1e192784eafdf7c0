"""What noise costs in AUC: the forecast beside descent on a parabola, and beside runs."""

import math

import numpy as np
import pytest

from plumbob.privacy.noise_cost import BEARABLE, Slope, auc_loss, residual_noise_loss

# (rows, columns, row norm, deviation of the noise in units of the gradient, mean loss of AUC over three draws): runs of
# `clear` with noise = "sound" on made-up tables, ten epochs, batches of 256, rate .1.
MEASURED = [
    (1872, 12, 1.0, 1.42, -0.0002),
    (6776, 7, 1.0, 5.29, 0.0071),
    (5187, 15, 1.0, 1.78, 0.0017),
    (2013, 21, 2.29, 3.88, 0.0118),
    (4576, 28, 2.65, 1.76, 0.0042),
    (17858, 32, 1.0, 2.41, -0.0004),
    (9105, 35, 1.0, 27.28, 0.0470),
    (18671, 38, 1.0, 8.26, 0.0068),
    (15108, 28, 2.65, 4.59, 0.0230),
    (11116, 22, 1.0, 1.96, 0.0007),
    (3954, 14, 1.0, 2.31, 0.0002),
    (16746, 37, 1.0, 2.58, 0.0008),
    (3247, 22, 4.69, 1.86, 0.0133),
    (2643, 19, 4.36, 2.34, 0.0114),
]


def test_the_forecast_for_residual_noise_is_near_the_runs() -> None:
    """The forecast is within .01 in three of four settings; where it says more than it can tell, the loss is large."""
    right = 0
    for rows, columns, norm, deviation, loss in MEASURED:
        square = min(1.0, norm**2 / columns)
        slope = Slope(0.1, 0.0, 0.25 * square)
        forecast = residual_noise_loss(columns, square, slope, 256, 10 * (rows // 256), deviation)
        right += loss > BEARABLE - 0.01 if forecast > BEARABLE else abs(forecast - loss) <= 0.01
    assert right >= 0.75 * len(MEASURED)


@pytest.mark.parametrize(("rate", "momentum"), [(0.1, 0.0), (4 / 3, 0.5)])
def test_a_weight_goes_its_way_as_on_a_parabola(rate: float, momentum: float) -> None:
    """Without noise it has gone the share that the formula says; with noise its variance is the formula's."""
    generator = np.random.default_rng(0)
    slope = Slope(rate, momentum, 0.2)
    weight, step = 0.0, 0.0
    noisy, steps = np.zeros(100_000), np.zeros(100_000)
    for _ in range(15):
        step = momentum * step - rate * 0.2 * (weight - 1.0)
        weight += step
        steps = momentum * steps - rate * (0.2 * noisy + generator.normal(size=len(noisy)))
        noisy = noisy + steps
    assert slope.learned(15) == pytest.approx(weight)
    assert slope.accumulated(15) == pytest.approx(float(noisy.var()), rel=0.02)


def test_no_noise_costs_nothing_and_endless_noise_everything() -> None:
    """The loss rises with the variance from nothing to all that the AUC is above one half."""
    losses = [auc_loss(variance) for variance in (0.0, 0.1, 1.0, 1e9)]
    assert losses[0] == pytest.approx(0.0)
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx(0.3, abs=1e-3)
    assert auc_loss(0.1, learned=0.5) > auc_loss(0.1)
    assert math.isfinite(auc_loss(1.0, learned=0.0))
