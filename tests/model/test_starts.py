"""Starting weights: their laws, and that only the generator decides."""

import numpy as np
import pytest
from scipy import stats

from plumbob.errors import PlanError
from plumbob.model.logistic import starting_weights

D = 4000


@pytest.mark.parametrize(
    ("start", "law"),
    [
        ("xavier", stats.uniform(-np.sqrt(6 / (D + 1)), 2 * np.sqrt(6 / (D + 1)))),
        ("kaiming", stats.uniform(-np.sqrt(6 / D), 2 * np.sqrt(6 / D))),
        ("small", stats.laplace(scale=1 / np.sqrt(D))),
        ("normal", stats.norm()),
    ],
)
def test_weights_follow_their_law(start: str, law: stats.rv_continuous) -> None:
    """Kolmogorov-Smirnov against the documented distribution."""
    weights = starting_weights(start, D, np.random.default_rng(0))
    assert stats.kstest(weights, law.cdf).pvalue > 0.01


def test_zero_is_zero() -> None:
    """The zero start draws nothing."""
    generator = np.random.default_rng(0)
    assert not starting_weights("zero", 5, generator).any()
    assert generator.random() == np.random.default_rng(0).random()


def test_the_generator_decides() -> None:
    """The same generator gives the same weights for all columns at once."""
    first, second = (starting_weights("normal", 9, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(first, second)


def test_an_unknown_start_is_refused() -> None:
    """A name outside the plan's list is an error, not zeros."""
    with pytest.raises(PlanError, match="he-normal"):
        starting_weights("he-normal", 3, np.random.default_rng(0))
