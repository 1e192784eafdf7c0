"""Defences side by side: the charts."""

import pytest

from plumbob.lab.audit.defences import DefenceOutcome
from plumbob.lab.reports.defences_page import tradeoff_charts


@pytest.mark.parametrize(("worst", "low"), [(0.98, 0.5), (0.5, 0.5), (0.323, 0.3), (0.0, 0.0)])
def test_every_point_stands_at_its_value(worst: float, low: float) -> None:
    """The axis begins at guessing; a noise that makes a model worse than that makes the axis longer."""
    outcomes = [DefenceOutcome("none", "", auc=0.99), DefenceOutcome("noise", "", auc=worst)]
    (chart,) = tradeoff_charts(outcomes)
    assert chart.y.low == pytest.approx(low)
    assert chart.y.high == 1.0
