"""The rule for batches that are hidden among decoys, beside a real solve."""

import math

import numpy as np
import pytest

from plumbob.checking.figures import Figures
from plumbob.jobs.decoys import equations_per_row, forecast, hidden_rate, signal_to_noise
from plumbob.jobs.reading import Decoys
from plumbob.plan import Plan


def solved(rate: int, passes: int, rows: int = 480, batch: int = 24, columns: int = 16) -> float:
    """The share of labels that a ridge solve of all steps reads, with residuals that are labels."""
    generator = np.random.default_rng(3)
    features, labels = generator.standard_normal((rows, columns)), generator.choice([-1.0, 1.0], rows)
    equations, sums = [], []
    for _ in range(passes):
        for real in np.split(generator.permutation(rows), rows // batch):
            others = np.setdiff1d(np.arange(rows), real)
            named = np.concatenate([real, generator.choice(others, rate * batch, replace=False)])
            table = np.zeros((columns, rows))
            table[:, named] = features[named].T / (1 + rate)
            equations.append(table)
            sums.append(features[real].T @ labels[real])
    stacked, right = np.vstack(equations), np.concatenate(sums)
    # Noise of one equation, as the module derives it.
    ridge = batch * rate / (1 + rate) + 1e-6
    belief = np.linalg.solve(stacked.T @ stacked + ridge * np.eye(rows), stacked.T @ right)
    return float(np.mean(np.sign(belief) == labels))


@pytest.mark.parametrize(("rate", "passes"), [(5, 2), (5, 6), (2, 3), (1, 1)])
def test_the_rule_meets_a_real_solve(rate: int, passes: int) -> None:
    """The forecast share of labels is the share that a solve really reads, within a few points."""
    known = equations_per_row(Decoys(rate), 480, 24, 16, passes)
    figures = Figures.of(Plan.for_columns((1, 16), protocol="exchange"), 480)
    assert forecast(known, rate, figures).accuracy == pytest.approx(solved(rate, passes), abs=0.06)


def test_without_decoys_the_solve_is_exact() -> None:
    """From one equation per label on everything is read, with and without the rule."""
    assert signal_to_noise(1.2, 0.0) == math.inf
    assert solved(0, 2) > 0.95


def test_the_fixed_point() -> None:
    """The closed form solves g = K / (m + 1 / (1 + g))."""
    gain = signal_to_noise(1.3, 5.0)
    assert gain == pytest.approx(1.3 / (5.0 + 1.0 / (1.0 + gain)))


def test_decoys_cannot_be_more_than_all_rows() -> None:
    """A batch of half the rows hides among one more half at most."""
    assert hidden_rate(Decoys(5), 100, 50) == 1.0


def test_one_batch_per_epoch_says_less() -> None:
    """The random strategy has one step where a full pass has many."""
    assert equations_per_row(Decoys(5, 1), 1000, 100, 10, 20) == equations_per_row(Decoys(5), 1000, 100, 10, 20) / 10
