"""`clear`, the oracle: it is what a reader of the paper would calculate by hand."""

from typing import Any

import numpy as np
import pytest

from plumbob.data import batches, seed_from_int, stream
from plumbob.errors import DivergenceError
from plumbob.plan.sigmoids import SIGMOIDS
from tests.protocol.support import made_up, plan_for, tables_for, trained, weights_of


@pytest.mark.parametrize("sigmoid", ["taylor", "minimax", "piecewise", "exact"])
@pytest.mark.parametrize("split", [(2, 3), (1, 2, 2), (0, 5)])
def test_it_is_gradient_descent_on_the_joint_columns(sigmoid: str, split: tuple[int, ...]) -> None:
    """However the columns are split, the weights are those of one matrix with all of them."""
    plan = plan_for(split, protocol="clear", sigmoid=sigmoid, l2=0.01, start="xavier", row_norm=1.0)
    run = trained(plan)
    names = [party.name for party in plan.learners]
    label = run.transcripts[names[0]]
    X = np.hstack([run.transcripts[name].X for name in names])
    weights = np.concatenate([run.transcripts[name].start for name in names])
    penalties = np.full(len(weights), plan.l2)
    penalties[split[0]] = 0.0
    assert label.y is not None
    signs, rule = 2.0 * label.y.astype(np.float64) - 1.0, SIGMOIDS[sigmoid]
    for batch in batches(seed_from_int(plan.seed), len(X), plan):
        residuals = rule.residuals(X[batch.rows] @ weights, signs[batch.rows])
        gradient = residuals @ X[batch.rows] * rule.gradient_scale / len(batch)
        weights = weights - plan.learning_rate * (gradient + penalties * weights)
    assert np.abs(weights_of(run) - weights).max() < 1e-12


def test_weights_follow_from_start_and_sums() -> None:
    """A transcript is enough to calculate every step's weights again."""
    plan = plan_for((2, 3), protocol="clear", start="normal")
    for transcript in trained(plan).transcripts.values():
        weights = transcript.start
        for batch, sums in zip(batches(transcript.seed, 40, plan), transcript.sums, strict=True):
            weights = weights - plan.learning_rate * (sums * (0.25 / len(batch)))
        assert np.array_equal(weights, transcript.weights)


def test_class_weights_are_carried() -> None:
    """Balanced classes move the weights, because one class is rarer than the other."""
    X, y = made_up()
    y[:] = 0
    y[:7] = 1
    balanced = weights_of(trained(plan_for((2, 3), protocol="clear", class_weight="balanced"), (X, y)))
    plain = weights_of(trained(plan_for((2, 3), protocol="clear"), (X, y)))
    assert np.abs(balanced - plain).max() > 1e-3


def test_noise_is_reproducible_and_not_private() -> None:
    """The same seed gives the same noise: `clear` is for experiments."""
    plan = plan_for((2, 3), protocol="clear", noise="std", noise_std=1.0, row_norm=1.0)
    first, second = weights_of(trained(plan)), weights_of(trained(plan))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, weights_of(trained(plan.replace(noise="none", noise_std=0.0))))


def test_a_party_is_not_disturbed_by_its_own_noise() -> None:
    """Algorithm 3: what a party reads holds its peer's draw, and its own part as it is."""
    plan = plan_for((2, 3), protocol="clear", noise="std", noise_std=5.0, row_norm=1.0, epochs=1, batches="full")
    exact, noisy = trained(plan.replace(noise="none", noise_std=0.0)), trained(plan)
    drawn = 5.0 * stream(seed_from_int(plan.seed), "noise").standard_normal((2, 40))
    for name, peers_draw in (("label", drawn[1]), ("features", drawn[0])):
        disturbance = noisy.transcripts[name].sums[0] - exact.transcripts[name].sums[0]
        assert np.abs(disturbance - peers_draw @ noisy.transcripts[name].X).max() < 1e-10


@pytest.mark.parametrize("protocol", ["clear", "exchange", "arbiter"])
def test_a_diverging_run_says_so(protocol: str) -> None:
    """A learning rate that is much too high ends with the same clear error under every protocol with gradients."""
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        trained(plan_for((2, 3), protocol=protocol, learning_rate=900.0, epochs=4))


WHITENED: dict[str, Any] = {
    "protocol": "clear",
    "scale": "whitened",
    "sigmoid": "fourier",
    "batches": "full",
    "learning_rate": 0.0,
    "momentum": 0.5,
}


def test_whitened_descent_is_that_of_the_page() -> None:
    """Momentum, the public rate in 22 bits and the penalty l2 T T w, step by step on own rounded matrices."""
    plan = plan_for((2, 3), **WHITENED, l2=0.02, epochs=9)
    run = trained(plan)
    names = [party.name for party in plan.learners]
    X = np.hstack([run.transcripts[name].X for name in names])
    y = run.transcripts["label"].y
    assert y is not None
    matrices = [run.model.parts[name].whitening for name in names]
    penalty = np.zeros((6, 6))
    assert matrices[0] is not None
    assert matrices[1] is not None
    penalty[:2, :2] = 0.02 * matrices[0].matrix @ matrices[0].matrix
    penalty[3:, 3:] = 0.02 * matrices[1].matrix @ matrices[1].matrix
    penalty = np.rint(penalty * 2**18) / 2**18
    weights, velocity = np.zeros(6), np.zeros(6)
    for _ in range(9):
        residuals = SIGMOIDS["fourier"].residuals(X @ weights, 2.0 * y.astype(np.float64) - 1.0)
        velocity = 0.5 * velocity + residuals @ X / len(X) + penalty @ weights
        weights = weights - plan.rate_over(len(X)) * velocity
    assert np.abs(weights_of(run) - weights).max() < 1e-12


def test_a_rare_category_does_not_make_whitened_descent_diverge() -> None:
    """With a category of one row, which made standardised full batches run away, the loss falls below that of zeros."""
    X, y = made_up(rows=400)
    X[:, 4] = 0.0
    X[17, 4] = 1.0
    run = trained(plan_for((2, 3), **WHITENED, epochs=0), (X, y))
    scores = run.model.scores(tables_for(run.model.plan, X, None))
    losses = np.logaddexp(0.0, -(2.0 * y - 1.0) * scores)
    assert np.abs(weights_of(run)).max() < 10
    assert losses.mean() < 0.65


@pytest.mark.parametrize("epochs", [30, 100])
def test_separable_rows_do_not_run_away(epochs: int) -> None:
    """Where rows can be told apart without error, the series' loss stays near the exact sigmoid's."""
    X, _ = made_up(rows=300)
    y = (X[:, 0] - X[:, 3] > 0).astype(np.int64)
    losses = {}
    for sigmoid in ("fourier", "exact"):
        run = trained(plan_for((2, 3), **{**WHITENED, "sigmoid": sigmoid}, epochs=epochs), (X, y))
        scores = run.model.scores(tables_for(run.model.plan, X, None))
        losses[sigmoid] = float(np.logaddexp(0.0, -(2.0 * y - 1.0) * scores).mean())
    assert losses["fourier"] < losses["exact"] + 0.01


def test_class_weights_under_the_public_rate_are_at_most_one() -> None:
    """The largest weight is 1, so that the rate holds: weighting the common class down is all that happens."""
    X, y = made_up()
    y[:] = 0
    y[:7] = 1
    run = trained(plan_for((2, 3), **WHITENED, class_weight="balanced", epochs=1), (X, y))
    label = run.transcripts["label"]
    residuals = np.where(y == 1, -0.5, 0.5 * np.rint(7 / 33 * 2**20) / 2**20)
    np.testing.assert_allclose(label.sums[0], residuals @ label.X, atol=1e-12)
