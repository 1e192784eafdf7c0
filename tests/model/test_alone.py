"""A regression on a party's own columns."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from plumbob.model.alone import fit_alone


def test_it_is_scikit_learns() -> None:
    """The same penalty, the same weights."""
    generator = np.random.default_rng(4)
    X = generator.normal(size=(300, 5))
    y = (X @ [1, -2, 0, 0.5, 0] + generator.logistic(size=300) > 0.3).astype(int)
    expected = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, y)
    weights = fit_alone(np.column_stack([X, np.ones(300)]), y, has_intercept=True)
    assert weights == pytest.approx([*expected.coef_[0], *expected.intercept_], abs=1e-5)


def test_separable_and_constant_columns_do_no_harm() -> None:
    """The penalty keeps the weights finite."""
    X = np.column_stack([np.arange(10.0), np.zeros(10)])
    weights = fit_alone(X, np.arange(10) >= 5, has_intercept=False)
    assert np.isfinite(weights).all()
    assert weights[1] == 0
