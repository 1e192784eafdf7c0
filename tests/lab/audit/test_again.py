"""Runs that are repeated in the clear are the same training, with the views of their own protocols."""

from plumbob.lab.audit.again import in_clear
from plumbob.plan import Plan


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
