"""Runs that are repeated in the clear are the same training, with the views of their own protocols."""

import numpy as np

from plumbob.lab.attacks import View
from plumbob.lab.audit.again import as_seen_under, in_clear
from plumbob.plan import Plan
from tests.protocol.support import plan_for, trained


def test_views_are_those_of_the_protocol() -> None:
    """A run of `clear`, shown as one of `shares`, has the view that the real run has."""
    plan = plan_for((2, 3), protocol="shares")
    real = trained(plan)
    shown = as_seen_under(plan, trained(in_clear(plan)))
    for name in ("label", "features"):
        one, two = View.of(real.transcripts[name]), View.of(shown.transcripts[name])
        assert one.plan == two.plan
        assert one.sums.shape == two.sums.shape
        np.testing.assert_allclose(one.sums, two.sums, atol=1e-3)
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-4)


def test_in_the_clear_it_is_the_same_training() -> None:
    """What was the protocol's own default stays as it was: scale, batches, sigmoid, momentum, rate, bits and passes.

    Evidence, which nothing in the clear can keep, stops neither this nor an attack's own runs.
    """
    plan = Plan.for_columns((2, 3), rows=40, evidence="keep", days=30)
    clear = in_clear(plan)
    assert clear.evidence == "none"
    assert clear.levels(27_000) == plan.levels(27_000)
    for name in ("scale", "batches", "sigmoid", "momentum", "learning_rate", "feature_bits", "residual_bits"):
        assert getattr(clear, name) == getattr(plan, name), name
