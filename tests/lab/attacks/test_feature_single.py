"""`feature-single`: one column of the peer, value by value."""

from typing import Any

import numpy as np
import pytest

from plumbob.lab.attacks.feature_single import recover_single_feature
from tests.lab.attacks.support import (
    claimed,
    condition,
    credit,
    explained,
    gaussian,
    largest_error,
    up_to_sign,
    views_of,
)

SPLIT = (22, 1)


@pytest.mark.parametrize("start", ["zero", "xavier"])
@pytest.mark.parametrize("column", [0, 6])
def test_every_value_of_a_real_column(column: int, start: str) -> None:
    """Two epochs of batches of 16 give every value of a credit column to 1e-6, up to one sign."""
    views = views_of(SPLIT, credit(column, 4000), start=start, epochs=2, learning_rate=0.01)
    claim = claimed(recover_single_feature(views["label"]))
    assert claim.is_determined.all()
    assert claim.left_open == "sign"
    assert largest_error(claim, views["features"].X[:, 0]) < 1e-6
    assert condition(claim, "epochs until merged").is_met


@pytest.mark.parametrize(("epochs", "start"), [(1, "xavier"), (1, "normal")])
def test_one_epoch_gives_the_column_over_its_spread(epochs: int, start: str) -> None:
    """No two batches share a row, so no ratios join; but the weight hardly moves, and scores are the column's order."""
    views = views_of((22, 1), gaussian(1600, 23), start=start, epochs=epochs, learning_rate=0.001)
    truth, claim = views["features"].X[:, 0], claimed(recover_single_feature(views["label"]))
    assert not claim.is_determined.any()
    assert explained(claim, truth) > 0.9


@pytest.mark.parametrize("sigmoid", ["minimax", "exact"])
def test_other_curves_are_inverted(sigmoid: str) -> None:
    """The cubic's root within its fold, and the logit, lead to the same values."""
    data = credit(0, 2000)
    views = views_of(SPLIT, data, sigmoid=sigmoid, row_norm=1.0, epochs=3, learning_rate=0.01)
    claim = claimed(recover_single_feature(views["label"]))
    assert largest_error(claim, views["features"].X[:, 0]) < 1e-6


def test_piecewise_gives_values_and_ranges() -> None:
    """Rows that were seen on the slope are exact and determined; the others get the middle of a range."""
    views = views_of(SPLIT, credit(0, 4000), sigmoid="piecewise", epochs=3, learning_rate=0.01)
    truth, claim = views["features"].X[:, 0], claimed(recover_single_feature(views["label"]))
    known = claim.is_determined
    assert 0.8 < known.mean() < 1.0
    assert np.abs(up_to_sign(claim, truth) - truth)[known].max() < 1e-6
    assert np.isfinite(claim.values[~known]).any()


@pytest.mark.parametrize("keys", [{}, {"l2": 0.1}, {"class_weight": "balanced"}], ids=str)
def test_what_else_a_plan_may_say(keys: dict[str, Any]) -> None:
    """An intercept, L2, class weights and a merged remainder that is not determined do not hide the column."""
    views = views_of((17, 1), gaussian(410, 18), epochs=4, **keys)
    claim = claimed(recover_single_feature(views["label"]))
    assert largest_error(claim, views["features"].X[:, 0]) < 1e-6


def test_zeros_are_read_off() -> None:
    """A row whose value is zero joins no ratio and still comes out, as zero."""
    X, y = gaussian(320, 17)
    X[:40, -1] = 0.0
    views = views_of((16, 1), (X, y), scale="none", epochs=3)
    claim = claimed(recover_single_feature(views["label"]))
    assert claim.is_determined.all()
    assert np.abs(claim.values[:40]).max() < 1e-9
    assert largest_error(claim, views["features"].X[:, 0]) < 1e-6


@pytest.mark.parametrize("intercept", [False, True])
def test_the_reverse(intercept: bool) -> None:
    """A feature party reads the labels, then the label party's only column; it replays the intercept."""
    views = views_of((1, 22), credit(0, 2000, is_first=True), intercept=intercept, epochs=3, learning_rate=0.01)
    claim = claimed(recover_single_feature(views["features"]))
    assert claim.against == "label"
    assert largest_error(claim, views["label"].X[:, 0]) < 1e-6


def test_an_encrypted_run_is_read_within_the_printed_bound() -> None:
    """Rounded residuals leave errors below the bound that the claim prints."""
    views = views_of((16, 1), gaussian(96, 17), protocol="exchange", epochs=3, learning_rate=0.3)
    truth, claim = views["features"].X[:, 0], claimed(recover_single_feature(views["label"]))
    bound = condition(claim, "bound on a value's error").value
    assert bound < 1e-2
    assert np.abs(up_to_sign(claim, truth) - truth).max() < bound * truth.std()


def test_noise_leaves_nothing() -> None:
    """Under noise the claim is no better than the mean, and calls nothing determined."""
    keys: dict[str, Any] = {"noise": "std", "noise_std": 3.0, "row_norm": 1.0}
    views = views_of((16, 1), gaussian(800, 17), epochs=3, learning_rate=0.01, **keys)
    claim = claimed(recover_single_feature(views["label"]))
    assert not claim.is_determined.any()
    assert explained(claim, views["features"].X[:, 0]) < 0.05
