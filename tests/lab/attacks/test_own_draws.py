"""A party knows its own noise and its own flipped labels: its view has them, so that attacks are not underrated."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.lab.attacks import View
from plumbob.lab.attacks.equations import noise_on_residuals
from plumbob.lab.simulate import Run
from plumbob.lab.transcript import Transcript
from plumbob.model.logistic import signs_of
from tests.protocol.support import made_up, plan_for, trained

NOISE: dict[str, Any] = {"row_norm": 1.0, "epochs": 2, "intercept": False}


def residuals(run: Run) -> list[Any]:
    """The residuals of each step without noise, from all parties' views: only a test may look at that."""
    views = [View.of(run.transcripts[party.name]) for party in run.model.plan.learners]
    signs = views[0].signs
    assert signs is not None
    steps = zip(*(view.steps() for view in views), strict=True)
    return [sum(one[2] for one in step) - 2 * signs[step[0][0].rows] for step in steps]


@pytest.mark.parametrize("protocol", ["clear", "exchange", "arbiter"])
def test_own_noise_is_taken_out(protocol: str) -> None:
    """With sound noise only the label party draws, and what it then reads of the others is exact."""
    run = trained(plan_for((2, 3), protocol=protocol, noise="sound", epsilon=4.0, **NOISE))
    view = View.of(run.transcripts["label"])
    assert view.own_noise is not None
    assert noise_on_residuals(view) == 0
    for (_, X, _, sums), exact in zip(view.steps(), residuals(run), strict=True):
        np.testing.assert_allclose(sums, exact @ X, atol=1e-4)
    other = View.of(run.transcripts["features"])
    assert other.own_noise is None
    assert noise_on_residuals(other) > 1


def test_own_noise_comes_back_through_an_arbiter() -> None:
    """There all noise is in everybody's sums; what is left for each is the noise of the other, no more."""
    plan = plan_for((2, 3), protocol="arbiter", noise="std", noise_std=5.0, **NOISE)
    run = trained(plan, made_up(rows=400))
    for name in ("label", "features"):
        view = View.of(run.transcripts[name])
        left = [
            (sums - exact @ X) / (noise_on_residuals(view) * np.linalg.norm(X, axis=0))
            for (_, X, _, sums), exact in zip(view.steps(), residuals(run), strict=True)
        ]
        # With its own draws among them the deviation would be the square root of 2.
        assert np.std(left) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
def test_weights_are_still_those_of_the_run(protocol: str) -> None:
    """Weights were updated with the noise in them, and are replayed so."""
    run = trained(plan_for((2, 3), protocol=protocol, noise="sound", epsilon=4.0, **NOISE))
    transcript = run.transcripts["label"]
    view = View.of(transcript)
    step = view.plan.learning_rate * view.sigmoid.gradient_scale / len(view.batches[-1])
    np.testing.assert_allclose(view.weights_before[-1] - step * transcript.sums[-1], transcript.weights, atol=1e-12)


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
def test_flipped_labels_are_known_to_who_flipped(protocol: str, tmp_path: Path) -> None:
    """The label party's view has the labels that training used beside the true ones, also from a file."""
    run = trained(plan_for((2, 3), protocol=protocol, label_flip_epsilon=0.5, epochs=1))
    run.transcripts["label"].save(tmp_path / "transcript.npz")
    view = View.of(Transcript.load(tmp_path / "transcript.npz"))
    assert view.y is not None
    assert view.signs is not None
    assert view.flipped is not None
    assert 0 < view.flipped.sum() < view.rows
    np.testing.assert_array_equal(view.signs == signs_of(view.y), ~view.flipped)
    assert View.of(run.transcripts["features"]).flipped is None
