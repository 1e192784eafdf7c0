"""`feature-geometry`: all columns of the peers up to a rotation, and their scores."""

from typing import Any

import numpy as np
import pytest

from plumbob.errors import DataError
from plumbob.lab.attacks.feature_geometry import recover_geometry, with_known_rows
from plumbob.lab.attacks.peer_scores import recover_scores
from tests.lab.attacks.support import claimed, condition, gaussian, gram_error, views_of


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        (2, {"batch_size": 4, "epochs": 12}),
        (4, {"batch_size": 10, "epochs": 20, "start": "xavier", "l2": 0.05}),
        (3, {"batch_size": 9, "epochs": 15, "learning_rate": 0.01}),
    ],
    ids=str,
)
def test_all_features_up_to_a_rotation(columns: int, keys: dict[str, Any]) -> None:
    """Inner products of all rows come out, and with a few known rows every feature.

    Each direction of the peer's weights is a condition, the longest first.
    """
    views = views_of((12, columns), gaussian(120, 12 + columns), **keys)
    truth, claim = views["features"].X, claimed(recover_geometry(views["label"]))
    sizes = [item.value for item in claim.conditions if "movement" in item.name]
    assert len(sizes) == columns
    assert sizes == sorted(sizes, reverse=True)
    assert claim.is_determined.all()
    assert claim.left_open == "rotation"
    assert gram_error(claim, truth) < 1e-6
    known = np.arange(columns + 2)
    turned = with_known_rows(claim, known, truth[known])
    assert turned.left_open == "nothing"
    assert np.abs(turned.values - truth).max() < 1e-4


@pytest.mark.parametrize("start", ["zero", "xavier"])
def test_full_batches_in_closed_form(start: str) -> None:
    """Full batches no larger than the label party's rank give the inner products too."""
    views = views_of((40, 3), gaussian(30, 43), batches="full", epochs=60, start=start)
    assert gram_error(claimed(recover_geometry(views["label"])), views["features"].X) < 1e-4


def test_an_encrypted_run() -> None:
    """Rounded residuals give the same to within their precision."""
    views = views_of((12, 2), gaussian(48, 14), protocol="exchange", batch_size=12, epochs=10, learning_rate=0.3)
    assert gram_error(claimed(recover_geometry(views["label"])), views["features"].X) < 1e-3


def test_several_peers_together() -> None:
    """With three parties it is the others' columns together that come out."""
    views = views_of((12, 1, 1), gaussian(120, 14), batch_size=10, epochs=12)
    claim = claimed(recover_geometry(views["label"]))
    assert claim.against == "features+features-2"
    assert gram_error(claim, np.hstack([views["features"].X, views["features-2"].X])) < 1e-6


def test_too_few_known_rows_leave_a_rotation_open() -> None:
    """One known row of two columns does not fix the rotation, and the claim says so; a wrong shape is refused."""
    views = views_of((12, 2), gaussian(100, 14), batch_size=10, epochs=10)
    claim = claimed(recover_geometry(views["label"]))
    turned = with_known_rows(claim, np.array([0]), views["features"].X[:1])
    assert turned.left_open == "rotation"
    assert not condition(turned, "known rows").is_met
    with pytest.raises(DataError, match="known rows"):
        with_known_rows(claim, np.array([0, 1]), views["features"].X[:1])


def test_scores_are_read_whatever_the_columns() -> None:
    """A determined batch gives the peer's part of every score, exact in clear."""
    views = views_of((16, 5), gaussian(160, 21), epochs=1)
    claim = claimed(recover_scores(views["label"]))
    truth = np.full(160, np.nan)
    for batch, _, scores, _ in views["features"].steps():
        truth[batch.rows] = scores
    assert claim.target == "scores"
    assert claim.is_determined.all()
    assert np.abs(claim.values[:, 0] - truth).max() < 1e-9


def test_noise_leaves_no_geometry() -> None:
    """Under noise the inner products are wrong, and nothing is called determined."""
    keys: dict[str, Any] = {"noise": "std", "noise_std": 3.0, "row_norm": 1.0, "learning_rate": 0.01}
    views = views_of((12, 2), gaussian(100, 14), batch_size=10, epochs=8, **keys)
    claim = claimed(recover_geometry(views["label"]))
    assert not claim.is_determined.any()
    assert gram_error(claim, views["features"].X) > 0.5
