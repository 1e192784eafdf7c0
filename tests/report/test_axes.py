"""Axes: ends that hold the data, ticks at round numbers, numbers that people can read."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plumbob.report.chart import Axis, nice_step


@example([5e-324], False)
@example([-1e-320, 5e-324], False)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1), st.booleans())
def test_an_axis_holds_its_data(values: list[float], is_log: bool) -> None:
    """Every value has a place between the ends, ticks too, and there are a handful of them."""
    scale = Axis("x", is_log=is_log).scale(values, 5)
    assert scale.low < scale.high
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= value <= scale.high + slack for value in values if value > 1e-300 or not is_log)
    assert all(0.0 <= scale.fraction(value) <= 1.0 for value in (*values, *scale.ticks))
    assert 1 <= len(scale.ticks) <= 20


@pytest.mark.parametrize(("rough", "step"), [(0.03, 0.05), (1.0, 1.0), (1.1, 2.0), (2.1, 2.5), (26.0, 50.0)])
def test_round_steps(rough: float, step: float) -> None:
    """1, 2, 2.5 or 5 times a power of ten, the next larger."""
    assert nice_step(rough) == pytest.approx(step)


def test_whole_things_are_not_halved() -> None:
    """Epochs and steps have ticks at whole numbers only."""
    assert Axis("epoch", 1, 3).scale([1, 2, 3], 8).ticks == (1.0, 2.0, 3.0)


def test_a_log_axis_has_powers_of_ten() -> None:
    """A log axis has powers of ten and, on few decades, 2 and 5 between them."""
    assert Axis("x", is_log=True).scale([1, 900], 5).ticks == (1.0, 10.0, 100.0, 1000.0)
    assert Axis("x", is_log=True).scale([2, 40], 5).ticks == (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
