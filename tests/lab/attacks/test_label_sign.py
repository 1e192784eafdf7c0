"""`label-sign`: the sign of a residual is the label, until noise, shares or larger batches hide it."""

import os

import numpy as np
import pytest

from plumbob.lab import datasets
from plumbob.lab.attacks import label_sign
from plumbob.lab.attacks.label_sign import LABEL_SIGN
from plumbob.plan.sigmoids import minimax_curve
from tests.lab.attacks.support import gaussian, read, read_from, seen
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
        claim = read(LABEL_SIGN, plan, (X, y.astype(np.int64)), party.name)
        assert claim.rate == 1.0
        assert claim.is_determined.mean() > 0.95
        assert claim.condition("T_eps").is_met


@pytest.mark.skipif("PLUMBOB_DATA" not in os.environ, reason="PLUMBOB_DATA is not set")
def test_mnist_labels_come_out_though_few_are_determined() -> None:
    """Batches of 256 have less rank than rows: nearly all labels are inferred only, and yet all are right."""
    X, y = (part[:2560] for part in datasets.load("mnist-01"))
    X /= np.linalg.norm(X, axis=1).max()
    plan = plan_for(
        (392, 392), protocol="clear", scale="none", learning_rate=0.01, intercept=False, batch_size=256, epochs=1
    )
    claim = read(LABEL_SIGN, plan, (X, y.astype(np.int64)))
    assert claim.rate == 1.0
    assert 0.01 < claim.is_determined.mean() < 0.1
    assert claim.condition("rank").value == 0.0


@pytest.mark.parametrize("sigmoid", ["taylor", "minimax", "piecewise", "exact"])
def test_every_approximation_shows_its_labels(sigmoid: str) -> None:
    """All four residuals give the label away; piecewise gives no answer rather than a wrong one."""
    plan = plan_for((4, 6), protocol="clear", sigmoid=sigmoid, batch_size=5, epochs=3, start="xavier")
    claim = read(LABEL_SIGN, plan, gaussian(200, 10))
    has_answer = np.isfinite(claim.beliefs)
    assert has_answer.mean() > 0.9
    assert (np.sign(claim.beliefs) == claim.signs)[has_answer & claim.is_determined].mean() > 0.98


def test_piecewise_never_shows_a_wrong_sign() -> None:
    """Where the model is sure and right the piecewise residual is 0, and the row gets no answer (Theorem F.2)."""
    plan = plan_for((2, 6), protocol="clear", sigmoid="piecewise", batch_size=5, epochs=1, start="normal")
    claim = read(LABEL_SIGN, plan, gaussian(200, 8))
    has_answer = np.isfinite(claim.beliefs)
    assert 0.2 < has_answer.mean() < 0.9
    determined = has_answer & claim.is_determined
    assert (np.sign(claim.beliefs) == claim.signs)[determined].all()


def test_own_scores_subtracted_are_stronger() -> None:
    """With a large own part of the score -sign(residual) fails, and subtracting it repairs that."""
    plan = plan_for((1, 8), protocol="clear", start="normal", batch_size=8, epochs=1)
    view, signs = seen(plan, gaussian(200, 9))
    paper = read_from(label_sign.recover_labels_by_criterion, view, signs).rate
    assert paper < 0.85
    assert read_from(LABEL_SIGN, view, signs).rate > paper + 0.1


def test_minimax_scores_invert_the_cubic() -> None:
    """Between its folds the cubic's inverse is found, and beyond them it goes on in the same direction."""
    scores = np.linspace(-4.0, 4.0, 101)
    np.testing.assert_allclose(label_sign.minimax_scores(minimax_curve(scores)), scores, atol=1e-3)
    assert label_sign.minimax_scores(np.array([0.9]))[0] > 4.05


def test_later_visits_determine_what_the_first_left_open() -> None:
    """Equal rows that met in one batch are told apart once reshuffling separates them."""
    X, y = gaussian(60, 8)
    X[:12] = X[0]
    one = plan_for((3, 5), protocol="clear", batch_size=5, epochs=1)
    assert read(LABEL_SIGN, one, (X, y)).is_determined.mean() < 0.95
    claim = read(LABEL_SIGN, one.replace(epochs=8), (X, y))
    assert claim.is_determined.all()
    assert claim.rate == 1.0


def test_the_bound_beside_the_run() -> None:
    """T_eps uses the rows' real norm: a fast step or long rows leave no guarantee, and the claim says so."""
    slow = plan_for((3, 5), protocol="clear", batch_size=5, epochs=1, row_norm=1.0, learning_rate=0.01, intercept=False)
    assert read(LABEL_SIGN, slow, gaussian(50, 8)).condition("T_eps").value == 278
    fast = slow.replace(row_norm=0.0, learning_rate=0.5)
    assert not read(LABEL_SIGN, fast, gaussian(50, 8)).condition("T_eps").is_met
