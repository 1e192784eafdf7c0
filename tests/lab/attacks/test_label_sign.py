"""`label-sign`: the sign of a residual is the label, until noise, shares or larger batches hide it."""

import os

import numpy as np
import pytest

from plumbob import datasets
from plumbob.lab.attacks import label_sign
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.plan.sigmoids import minimax_curve
from tests.lab.attacks.label_support import claimed, condition, gaussian, rate, refused, seen
from tests.protocol.support import plan_for

SPLITS = {2: (15, 15), 3: (10, 10, 10), 5: (6, 6, 6, 6, 6)}


@pytest.mark.parametrize("parties", SPLITS)
def test_every_feature_party_reads_every_label_of_breast_cancer(parties: int) -> None:
    """From zero, with short rows, a batch no larger than the columns and one epoch: 100 %, any number of parties."""
    split = SPLITS[parties]
    plan = plan_for(
        split, protocol="clear", learning_rate=0.01, row_norm=1.0, intercept=False, batch_size=split[-1], epochs=1
    )
    X, y = datasets.load("breast-cancer")
    for party in plan.feature_parties:
        view, signs = seen(plan, (X, y.astype(np.int64)), party.name)
        claim = claimed(LABEL_SIGN(view))
        assert rate(claim, signs) == 1.0
        assert claim.is_determined.mean() > 0.95
        assert condition(claim, "T_eps").is_met


@pytest.mark.skipif("PLUMBOB_DATA" not in os.environ, reason="PLUMBOB_DATA is not set")
def test_mnist_labels_come_out_though_few_are_determined() -> None:
    """Batches of 256 have less rank than rows: nearly all labels are inferred only, and yet all are right."""
    X, y = datasets.load("mnist-01")
    X /= np.linalg.norm(X, axis=1).max()
    plan = plan_for(
        (392, 392), protocol="clear", scale="none", learning_rate=0.01, intercept=False, batch_size=256, epochs=1
    )
    view, signs = seen(plan, (X, y.astype(np.int64)))
    claim = claimed(LABEL_SIGN(view))
    assert rate(claim, signs) == 1.0
    assert 0.01 < claim.is_determined.mean() < 0.1
    assert condition(claim, "rank").value == 0.0


@pytest.mark.parametrize("sigmoid", ["taylor", "minimax", "piecewise", "exact"])
def test_every_approximation_shows_its_labels(sigmoid: str) -> None:
    """All four residuals give the label away; piecewise gives no answer rather than a wrong one."""
    plan = plan_for((4, 6), protocol="clear", sigmoid=sigmoid, batch_size=5, epochs=3, start="xavier")
    view, signs = seen(plan, gaussian(200, 10))
    claim = claimed(LABEL_SIGN(view))
    has_answer = np.isfinite(claim.beliefs)
    assert has_answer.mean() > 0.9
    assert (np.sign(claim.beliefs) == signs)[has_answer & claim.is_determined].mean() > 0.98


def test_piecewise_never_shows_a_wrong_sign() -> None:
    """Where the model is sure and right the piecewise residual is 0, and the row gets no answer (Theorem F.2)."""
    plan = plan_for((2, 6), protocol="clear", sigmoid="piecewise", batch_size=5, epochs=1, start="normal")
    view, signs = seen(plan, gaussian(200, 8))
    claim = claimed(LABEL_SIGN(view))
    has_answer = np.isfinite(claim.beliefs)
    assert 0.2 < has_answer.mean() < 0.9
    determined = has_answer & claim.is_determined
    assert (np.sign(claim.beliefs) == signs)[determined].all()


def test_own_scores_subtracted_are_stronger() -> None:
    """With a large own part of the score -sign(residual) fails, and subtracting it repairs that."""
    plan = plan_for((1, 8), protocol="clear", start="normal", batch_size=8, epochs=1)
    view, signs = seen(plan, gaussian(200, 9))
    paper = rate(claimed(label_sign.recover_labels_by_criterion(view)), signs)
    assert paper < 0.85
    assert rate(claimed(LABEL_SIGN(view)), signs) > paper + 0.1


def test_minimax_scores_invert_the_cubic() -> None:
    """Between its folds the cubic's inverse is found, and beyond them it goes on in the same direction."""
    scores = np.linspace(-4.0, 4.0, 101)
    np.testing.assert_allclose(label_sign.minimax_scores(minimax_curve(scores)), scores, atol=1e-3)
    assert label_sign.minimax_scores(np.array([0.9]))[0] > 4.05


def test_encrypted_runs_show_as_much() -> None:
    """Fixed-point rounding of an encrypted exchange changes no label, for two and for three parties."""
    for split in ((3, 6), (2, 5, 5)):
        view, signs = seen(plan_for(split, protocol="exchange", batch_size=5, epochs=1), gaussian(30, sum(split)))
        assert view.residual_rounding > 0
        claim = claimed(LABEL_SIGN(view))
        assert rate(claim, signs) == 1.0
        assert claim.is_determined.all()


def test_later_visits_determine_what_the_first_left_open() -> None:
    """Equal rows that met in one batch are told apart once reshuffling separates them."""
    X, y = gaussian(60, 8)
    X[:12] = X[0]
    one = plan_for((3, 5), protocol="clear", batch_size=5, epochs=1)
    first, signs = seen(one, (X, y))
    many, _ = seen(one.replace(epochs=8), (X, y))
    assert claimed(LABEL_SIGN(first)).is_determined.mean() < 0.95
    claim = claimed(LABEL_SIGN(many))
    assert claim.is_determined.all()
    assert rate(claim, signs) == 1.0


def test_noise_hides_labels() -> None:
    """Under noise the rate falls to chance and no row counts as determined."""
    plan = plan_for(
        (4, 6), protocol="clear", batch_size=5, epochs=1, row_norm=1.0, noise="std", noise_std=40.0, learning_rate=1e-6
    )
    view, signs = seen(plan, gaussian(2000, 10))
    claim = claimed(LABEL_SIGN(view))
    assert rate(claim, signs) < 0.56
    assert not claim.is_determined.any()


def test_large_batches_leave_rows_open() -> None:
    """Far beyond the rank nothing is determined, and the rate falls to what own columns predict."""
    view, signs = seen(plan_for((4, 6), protocol="clear", batch_size=200, epochs=1), gaussian(1000, 10))
    claim = claimed(LABEL_SIGN(view))
    assert not claim.is_determined.any()
    assert not condition(claim, "rank").is_met
    assert rate(claim, signs) < 0.8


def test_shares_give_nothing_to_work_on() -> None:
    """Without sums there is no attack, and the reason is said; nor by the label party."""
    view, _ = seen(plan_for((2, 3), protocol="shares", epochs=1), gaussian(20, 5))
    assert refused(LABEL_SIGN(view), "shares")
    view, _ = seen(plan_for((2, 3), protocol="clear"), gaussian(20, 5), "label")
    assert refused(LABEL_SIGN(view), "label party")


def test_the_bound_beside_the_run() -> None:
    """T_eps uses the rows' real norm: a fast step or long rows leave no guarantee, and the claim says so."""
    slow = plan_for((3, 5), protocol="clear", batch_size=5, epochs=1, row_norm=1.0, learning_rate=0.01, intercept=False)
    view, _ = seen(slow, gaussian(50, 8))
    assert condition(claimed(LABEL_SIGN(view)), "T_eps").value == 278
    view, _ = seen(slow.replace(row_norm=0.0, learning_rate=0.5), gaussian(50, 8))
    assert not condition(claimed(LABEL_SIGN(view)), "T_eps").is_met
