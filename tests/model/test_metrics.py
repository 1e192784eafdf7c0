"""Quality figures against scikit-learn."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference

from plumbob.model import metrics

rows = st.lists(st.tuples(st.integers(0, 1), st.integers(-6, 6)), min_size=2, max_size=60).filter(
    lambda pairs: len({label for label, _ in pairs}) == 2
)


@settings(max_examples=25)
@given(rows)
def test_every_figure_is_that_of_scikit_learn(pairs: Any) -> None:
    """AUC with ties, KS, balanced accuracy, accuracy and log loss agree with independent implementations."""
    y = np.array([label for label, _ in pairs])
    scores = np.array([score / 3 for _, score in pairs])
    found = metrics.quality(y, scores)
    assert found.auc == pytest.approx(reference.roc_auc_score(y, scores))
    false_positives, true_positives, _ = reference.roc_curve(y, scores, drop_intermediate=False)
    assert found.ks == pytest.approx(np.abs(true_positives - false_positives).max())
    assert found.balanced_accuracy == pytest.approx(reference.balanced_accuracy_score(y, scores > 0))
    assert found.accuracy == pytest.approx(reference.accuracy_score(y, scores > 0))
    assert found.log_loss == pytest.approx(reference.log_loss(y, 1 / (1 + np.exp(-scores))))
    assert found.majority == pytest.approx(max(y.mean(), 1 - y.mean()))


def test_one_class_only_gives_nan_where_two_are_needed() -> None:
    """What cannot be computed is NaN, not an error in the middle of a run."""
    found = metrics.quality(np.ones(3), np.array([1.0, -1.0, 2.0]))
    assert np.isnan([found.auc, found.ks, found.balanced_accuracy]).all()
    assert found.accuracy == pytest.approx(2 / 3)


def test_log_loss_takes_any_score() -> None:
    """A hopelessly wrong score costs its own size and never infinity."""
    assert metrics.log_loss(np.array([1, 0]), np.array([-1000.0, -1000.0])) == pytest.approx(500.0)
