"""`label-counts`: exact positives for each category, at any batch size."""

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbob.arrays import Vector
from plumbob.lab.attacks.label_counts import LABEL_COUNTS, counts, fitting_sums
from plumbob.model.metrics import auc
from tests.lab.attacks.support import read, refused, seen
from tests.protocol.support import plan_for

FULL = {"batches": "full", "epochs": 1}


def with_categories(rows: int = 300) -> tuple[Vector, NDArray[np.int64]]:
    """Two columns of numbers, then three yes/no columns, the last one a small group of positives."""
    generator = np.random.default_rng(6)
    y = (generator.random(rows) < 0.4).astype(np.int64)
    X = generator.normal(size=(rows, 5))
    X[:, 2] = generator.random(rows) < np.where(y == 1, 0.7, 0.3)
    X[:, 3] = generator.random(rows) < 0.2
    X[:, 4] = (np.cumsum(y) <= 5) & (y == 1)
    return X, y


@pytest.mark.parametrize("protocol", ["clear", "exchange"])
@pytest.mark.parametrize("scale", ["standard", "none"])
def test_positives_of_every_category_are_exact(protocol: str, scale: str) -> None:
    """A whole data set as one batch: each yes/no column gives the number of positives where it is yes, exactly."""
    view, signs = seen(plan_for((2, 3), protocol=protocol, scale=scale, **FULL), with_categories())
    (counted,) = counts(view)
    assert len(counted.columns) == 3
    for column in counted.columns:
        assert column.is_exact
        assert column.means[1] == pytest.approx(signs[column.is_larger].mean())
        if scale == "standard":
            assert column.means[0] == pytest.approx(signs[~column.is_larger].mean())


def test_small_groups_give_single_labels_away() -> None:
    """A category in which all labels are the same is read off row by row; other rows get their categories' odds."""
    claim = read(LABEL_COUNTS, plan_for((2, 3), protocol="clear", **FULL), with_categories())
    assert claim.is_determined.sum() == 5
    assert (np.sign(claim.beliefs) == claim.signs)[claim.is_determined].all()
    assert auc(claim.signs > 0, claim.beliefs) > 0.68
    assert claim.rate > max(np.mean(claim.signs > 0), np.mean(claim.signs < 0)) + 0.02
    assert claim.condition("categories counted").value == 6


def test_only_the_first_batch_is_counted() -> None:
    """Later steps hold scores: their rows get no answer."""
    claim = read(LABEL_COUNTS, plan_for((2, 3), protocol="clear", batch_size=100, epochs=2), with_categories())
    assert np.isfinite(claim.beliefs)[claim.view.batches[0].rows].all()
    assert np.isfinite(claim.beliefs).sum() == 100


def test_without_features_at_the_label_party_every_batch_is_counted() -> None:
    """With d_A = 0 own scores can be taken out of every step, so all rows get an answer."""
    X, y = with_categories()
    claim = read(LABEL_COUNTS, plan_for((0, 3), protocol="clear", batch_size=50, intercept=False), (X[:, 2:], y))
    assert np.isfinite(claim.beliefs).all()
    assert (np.sign(claim.beliefs) == claim.signs)[claim.is_determined].all()


def test_whitened_columns_leave_nothing_to_count() -> None:
    """In shares columns are whitened, and none is left with two values that could be counted."""
    view, _ = seen(plan_for((2, 3), protocol="shares", epochs=1), with_categories(60))
    assert refused(LABEL_COUNTS(view), "two values")


def test_noise_blurs_the_counts() -> None:
    """With noise no count is exact and nothing is determined."""
    plan = plan_for((2, 3), protocol="clear", row_norm=10.0, noise="std", noise_std=5.0, **FULL)
    view, _ = seen(plan, with_categories())
    claim = LABEL_COUNTS(view)
    assert not getattr(claim, "is_determined", np.zeros(1)).any()


def test_only_whole_numbers_of_the_right_parity_fit() -> None:
    """Of 3 and 4 labels the sums are odd and even; one pair only gives a generic total."""
    kinds = np.array([-0.75, 1.3])
    fitting = fitting_sums(kinds, (3, 4), float(kinds @ np.array([-1.0, 2.0])), 1e-9)
    assert fitting.tolist() == [[-1, 2]]
    assert len(fitting_sums(kinds, (3, 4), 0.1, 1e-9)) == 0
