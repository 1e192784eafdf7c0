"""The plan's defences in training: how much noise, on whose residuals, what it costs, and flipped labels."""

import numpy as np
import pytest

from plumbob.checking import study
from plumbob.data import Batch, batches
from plumbob.lab.exchange.protocol import ExchangeParty
from plumbob.lab.simulate import Run
from plumbob.plan import PAPER, Plan
from plumbob.protocol.openings import WEIGHTS
from tests.protocol.support import cut, plan_for, trained, weights_of

SMALL_BATCHES = {"batch_size": 6, "epochs": 1, "row_norm": 1.0, "intercept": False}


def residuals_read_by(run: Run, name: str, step: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The residuals of one batch, solved from one party's sums; a batch has no more rows than the party has columns."""
    transcript = run.transcripts[name]
    rows = batches_of(run)[step].rows
    solved: np.ndarray[tuple[int], np.dtype[np.float64]] = np.linalg.lstsq(transcript.X[rows].T, transcript.sums[step])[
        0
    ]
    return solved


def batches_of(run: Run) -> list[Batch]:
    """The batches of a run."""
    label = run.transcripts["label"]
    return list(batches(label.seed, len(label.X), Plan.from_toml(label.plan)))


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
def test_sound_noise_is_in_the_label_partys_own_update(protocol: str) -> None:
    """Both parties' gradients come from the same noisy residuals: what was released is what is used."""
    plan = plan_for((8, 8), protocol=protocol, noise="sound", epsilon=5.0, **SMALL_BATCHES)
    run = trained(plan, cut("breast-cancer", 60, 16))
    for step in (0, 3):
        assert residuals_read_by(run, "label", step) == pytest.approx(
            residuals_read_by(run, "features", step), abs=1e-3
        )


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
def test_heuristic_noise_is_not_in_the_own_update(protocol: str) -> None:
    """Algorithm 3 lets each party keep its exact part, so the two parties' residuals differ."""
    plan = plan_for((8, 8), protocol=protocol, noise="heuristic", epsilon=1.0, delta=1e-3, **SMALL_BATCHES)
    run = trained(plan, cut("breast-cancer", 60, 16))
    difference = residuals_read_by(run, "label", 0) - residuals_read_by(run, "features", 0)
    assert np.abs(difference).max() > 1.0


def test_known_deviations() -> None:
    """The paper's sigma_A for epsilon 0.5, delta 0.1, batch 256, rate 0.01, and that of a proved epsilon of 1."""
    heuristic = Plan.for_columns(
        (5, 5),
        protocol="clear",
        noise="heuristic",
        epsilon=0.5,
        delta=0.1,
        row_norm=1.0,
        epochs=10,
        **{**PAPER, "learning_rate": 0.01},
    )
    assert study.noise_std(heuristic, "label") == pytest.approx(113.7, abs=0.1)
    sound = heuristic.replace(noise="sound", epsilon=1.0, delta=1e-6)
    assert study.noise_std(sound, "label") == pytest.approx(57.3, abs=0.1)
    cost = study.label_cost(sound)
    assert cost is not None
    assert cost.zcdp_epsilon(1e-6) == pytest.approx(1.0, abs=1e-6)
    assert study.noise_std(sound, "features") == 0.0


def test_minimax_labels_move_a_residual_by_one() -> None:
    """Its label weight is a half, so it needs a quarter of Taylor's noise."""
    taylor = Plan.for_columns((5, 5), protocol="clear", noise="sound", row_norm=1.0, **PAPER)
    minimax = taylor.replace(sigmoid="minimax")
    assert study.noise_std(taylor, "label") == pytest.approx(4 * study.noise_std(minimax, "label"))


def test_noise_in_an_encrypted_run_has_the_deviation_of_the_plan() -> None:
    """Solved from the feature party's sums, the residuals scatter as the calibrated discrete Gaussian does."""
    plan = plan_for((8, 8), protocol="exchange", noise="sound", epsilon=2.0, **SMALL_BATCHES)
    data = cut("breast-cancer", 240, 16)
    run = trained(plan, data)
    residuals = np.concatenate([residuals_read_by(run, "features", step) for step in range(40)])
    std = study.noise_std(plan, "label")
    assert residuals.std() == pytest.approx(std, rel=5 / np.sqrt(2 * len(residuals)))


def test_a_label_is_released_as_often_as_its_budget_is_for() -> None:
    """The number of visits that the noise was set for is that of the run, so that nothing more is spent."""
    run = trained(plan_for((2, 3), protocol="exchange", noise="sound", row_norm=1.0))
    cost = study.label_cost(run.model.plan)
    assert cost is not None
    visits = np.bincount(np.concatenate([batch.rows for batch in batches_of(run)]))
    assert set(visits.tolist()) == {cost.visits}
    assert cost.rho == pytest.approx(cost.visits * cost.rho_per_visit)


def test_flipped_labels_stay_flipped() -> None:
    """Randomised response is drawn once: the labels of a row are the same at every visit."""
    plan = plan_for((2, 3), protocol="exchange", label_flip_epsilon=0.5, epochs=3)
    party = trained(plan).parties["label"]
    assert isinstance(party, ExchangeParty)
    first, again = (party.signs(batch) for batch in (batches_of_party(party)[0],) * 2)
    assert first is not None
    assert again is not None
    assert np.array_equal(first, again)
    assert set(np.abs(first).round(9)) == {round(1 / np.tanh(0.25), 9)}


def batches_of_party(party: ExchangeParty) -> list[Batch]:
    """The batches that a party walked through."""
    return list(batches(party.session.seed, len(party.shard), party.plan))


@pytest.mark.parametrize("protocol", ["clear", "exchange", "arbiter"])
def test_hardly_any_flips_hardly_change_anything(protocol: str) -> None:
    """With epsilon 40 no label is ever flipped, and the weights are those of the undefended run."""
    plain = plan_for((2, 3), protocol=protocol)
    # Each of the two runs is within 1e-6 of `clear`, and its opening within one more unit in the last place.
    nearly = 2 * (1e-6 + 2.0**-WEIGHTS.fraction_bits) if plain.opens_weights else 1e-6
    assert weights_of(trained(plain.replace(label_flip_epsilon=40.0))) == pytest.approx(
        weights_of(trained(plain)), abs=nearly
    )
