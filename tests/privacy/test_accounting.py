"""The cost of noise, against an independent accountant and against simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.errors import PrivacyError
from plumbob.privacy import accounting
from plumbob.privacy.accounting import gaussian_delta, gaussian_epsilon, zcdp_epsilon
from plumbob.privacy.label_noise import LabelCost, proved_std

# Deviations for epsilon 1, .5, 8 and .1, by whoever calibrates the continuous Gaussian; sensitivity 4, as Taylor's.
COSTS = [
    (LabelCost(53.438, 4.0, 10), 1e-6, 1.0),
    (LabelCost(154.06, 4.0, 30), 1e-5, 0.5),
    (LabelCost(3.1689, 4.0, 1), 1e-9, 8.0),
    (LabelCost(696.18, 4.0, 100), 1e-3, 0.1),
]


@pytest.mark.parametrize(("cost", "delta", "epsilon"), COSTS)
def test_an_independent_accountant_agrees(cost: LabelCost, delta: float, epsilon: float) -> None:
    """The analytic figure is that of dp-accounting's privacy loss distribution."""
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="no dp-accounting here")
    distribution = distributions.from_gaussian_mechanism(
        cost.std, sensitivity=4.0 * math.sqrt(cost.visits), value_discretization_interval=5e-4
    )
    assert cost.analytic_epsilon(delta) == pytest.approx(distribution.get_epsilon_for_delta(delta), rel=1e-3)


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_is_what_integration_gives(mu: float, epsilon: float) -> None:
    """delta = the integral of max(0, p - e**epsilon q) over the line."""
    x = np.linspace(-20, 20 + mu, 400_001)
    p = np.exp(-((x - mu) ** 2) / 2) / math.sqrt(2 * math.pi)
    q = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    integral = float(np.maximum(0.0, p - math.exp(epsilon) * q).sum() * (x[1] - x[0]))
    assert gaussian_delta(mu, epsilon) == pytest.approx(integral, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize(("cost", "delta", "epsilon"), COSTS)
def test_the_proved_figure_is_never_below_the_analytic_one(cost: LabelCost, delta: float, epsilon: float) -> None:
    """zCDP forgets something of the Gaussian's shape, so it always asks for more, but never for twice as much."""
    assert cost.analytic_epsilon(delta) == pytest.approx(epsilon, rel=1e-4)
    assert cost.analytic_epsilon(delta) < cost.zcdp_epsilon(delta) < 2 * epsilon


def test_zcdp_is_no_worse_than_the_textbook_conversion() -> None:
    """rho + 2 sqrt(rho log(1 / delta)) is an upper bound on ours."""
    for rho in (1e-4, 0.01, 0.5, 10.0):
        assert zcdp_epsilon(rho, 1e-6) <= rho + 2 * math.sqrt(rho * math.log(1e6))


def test_one_visit_costs_eight_over_the_variance() -> None:
    """Taylor's residual moves by 4 when a label flips: rho = 8 / std**2."""
    assert LabelCost(5.0, 4.0, 3).rho == pytest.approx(3 * 8 / 25)


@settings(max_examples=20)
@given(st.floats(0.05, 10), st.floats(1e-9, 1e-2), st.integers(1, 200))
def test_more_visits_never_cost_less(epsilon: float, delta: float, visits: int) -> None:
    """Calibration grows with the square root of the visits, and falls with epsilon."""
    std = proved_std(epsilon, delta, 4.0, visits)
    assert proved_std(epsilon, delta, 4.0, 4 * visits) == pytest.approx(2 * std, rel=1e-6)
    assert proved_std(2 * epsilon, delta, 4.0, visits) < std


@pytest.mark.parametrize("epsilon", [100.0, 1e4, 1e6])
def test_a_budget_that_protects_nothing_is_calculated_too(epsilon: float) -> None:
    """However large epsilon is: the noise that is left keeps it."""
    cost = LabelCost(proved_std(epsilon, 1e-6, 4.0, 5), 4.0, 5)
    assert 0.9 * epsilon < cost.analytic_epsilon(1e-6) <= cost.zcdp_epsilon(1e-6) <= epsilon


def test_nothing_released_costs_nothing() -> None:
    """Without a shift epsilon is 0."""
    assert gaussian_epsilon(0.0, 1e-6) == 0.0
    assert zcdp_epsilon(0.0, 1e-6) == 0.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (math.nan, 1e-6)])
def test_a_meaningless_budget_is_refused(epsilon: float, delta: float) -> None:
    """Epsilon must be above 0 and delta between 0 and 1."""
    with pytest.raises(PrivacyError, match="expected epsilon above 0"):
        proved_std(epsilon, delta, 4.0, 1)


@pytest.mark.parametrize(("epsilon", "visits"), [(0.1, 1), (1.0, 10), (4.0, 10), (20.0, 300)])
def test_sound_noise_keeps_the_proved_promise(epsilon: float, visits: int) -> None:
    """The deviation for a promise has that epsilon by the theorem, and a smaller one by the analytic figure."""
    std = proved_std(epsilon, 1e-6, 4.0, visits)
    assert LabelCost(std, 4.0, visits).zcdp_epsilon(1e-6) <= epsilon
    assert LabelCost(0.999 * std, 4.0, visits).zcdp_epsilon(1e-6) > epsilon
    assert LabelCost(std, 4.0, visits).analytic_epsilon(1e-6) < epsilon


@pytest.mark.parametrize("rho", [1e-9, 1e-3, 0.03, 0.5, 10.0, 1e4])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_no_order_promises_less_than_the_search(rho: float, delta: float) -> None:
    """The proved figure is the least over all orders, to the last digits."""
    logs = np.linspace(-10, 20, 30_001)
    orders = 1 + np.exp(logs)
    bounds = rho * orders + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    found = accounting.zcdp_epsilon(rho, delta)
    assert max(0.0, float(bounds.min())) * (1 - 1e-5) <= found <= max(0.0, float(bounds.min())) * (1 + 1e-9) + 1e-12
