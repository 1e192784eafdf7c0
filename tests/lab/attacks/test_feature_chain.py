"""`feature-chain`: one column of the peer from batches that share no rows."""

from typing import Any

import pytest

from plumbob.lab.attacks.feature_chain import recover_chained_feature
from tests.lab.attacks.support import (
    claimed,
    condition,
    credit,
    explained,
    gaussian,
    largest_error,
    views_of,
)


@pytest.mark.parametrize("start", ["zero", "xavier"])
def test_batches_of_one_row_are_not_safe(start: str) -> None:
    """Two epochs of batches of one row give every value, up to one sign, with three columns at the label party."""
    views = views_of((3, 1), gaussian(300, 4), batch_size=1, epochs=2, start=start, learning_rate=0.05)
    claim = claimed(recover_chained_feature(views["label"]))
    assert claim.is_determined.all()
    assert condition(claim, "misfit").is_met
    assert largest_error(claim, views["features"].X[:, 0]) < 1e-6


def test_a_real_column() -> None:
    """The same on a credit column."""
    views = views_of((22, 1), credit(4, 500), batch_size=1, epochs=2, row_norm=1.0, learning_rate=0.01)
    claim = claimed(recover_chained_feature(views["label"]))
    assert largest_error(claim, views["features"].X[:, 0]) < 1e-6


def test_the_same_batches_in_every_epoch() -> None:
    """Fixed batches share no rows, so that ratios never merge; the chain runs through them all the same."""
    views = views_of((12, 1), gaussian(300, 13), batch_size=10, batches="fixed", epochs=3)
    claim = claimed(recover_chained_feature(views["label"]))
    assert largest_error(claim, views["features"].X[:, 0]) < 1e-6


def test_an_encrypted_run() -> None:
    """Rounding of the encoding leaves a small error."""
    views = views_of((3, 1), gaussian(40, 4), protocol="exchange", batch_size=1, epochs=3, intercept=False)
    claim = claimed(recover_chained_feature(views["label"]))
    assert explained(claim, views["features"].X[:, 0]) > 0.9999


def test_noise_leaves_nothing() -> None:
    """Under noise the chain loses its way."""
    keys: dict[str, Any] = {"noise": "std", "noise_std": 3.0, "row_norm": 1.0}
    X, y = gaussian(400, 4)
    # A column without a bearing on the labels, which alone would tell something about it.
    X[:, -1] = gaussian(400, 4)[0][::-1, 0]
    views = views_of((3, 1), (X, y), batch_size=1, epochs=3, learning_rate=0.01, **keys)
    claim = claimed(recover_chained_feature(views["label"]))
    assert not claim.is_determined.any()
    assert explained(claim, views["features"].X[:, 0]) < 0.05
