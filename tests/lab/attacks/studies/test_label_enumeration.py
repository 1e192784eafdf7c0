"""Label enumeration: a gradient picks nearly the best labelling of clusters; noise, or no gradient, does not."""

import numpy as np

from benchmarks.attacks.label_enumeration import rates
from plumbob import datasets


def test_a_gradient_picks_a_good_labelling() -> None:
    """On breast-cancer, whose clusters are its classes; the gradient says which is which."""
    X, loaded = datasets.load("breast-cancer")
    y = loaded.astype(np.intp)
    found = rates(X[:, 10:], y, 4)
    assert found.enumerated > found.majority
    assert found.enumerated > found.best - 0.1
    assert found.blind < found.majority
    noisy = rates(X[:, 10:], y, 4, noise=1e6)
    assert noisy.enumerated < found.enumerated
