"""The curves of section 7, beside a few lines that calculate them from the paper's formulas alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plumbob import datasets
from plumbob.errors import DataError
from plumbob.lab.paper.quality import METRICS, curves_of, majority
from plumbob.lab.paper.readings import PRESETS, Effort, ResultStore, Setting, presets_of, settings_of
from tests.lab.paper.support import DIGITS


def test_curves_are_those_of_the_formulas(tmp_path: Path) -> None:
    """Full-batch steps from zero weights: accuracy, attack and norm are what the paper's equations give."""
    found = curves_of(DIGITS, [Setting("figures", "zero")], ResultStore(tmp_path), Effort(1))[
        Setting("figures", "zero")
    ]
    X, y = datasets.load("digits-01")
    X_test, y_test = datasets.load("digits-01", "test")
    deviations = np.where(X.std(axis=0) > 0, X.std(axis=0), np.inf)
    X_test, X = (X_test - X.mean(axis=0)) / deviations, (X - X.mean(axis=0)) / deviations
    signs, weights = 2.0 * y - 1.0, np.zeros(X.shape[1])
    for epoch in range(DIGITS.epochs):
        residuals = X @ weights - 2 * signs
        assert found["attack"].means[epoch] == np.mean(-np.sign(residuals) == signs)
        weights = weights - 0.01 / (4 * len(X)) * residuals @ X
        assert found["weight_norm"].means[epoch] == pytest.approx(np.linalg.norm(weights), rel=1e-3)
        assert found["train_accuracy"].means[epoch] == pytest.approx(np.mean((X @ weights > 0) == (y == 1)), abs=0.01)
        assert found["test_accuracy"].means[epoch] == pytest.approx(np.mean((X_test @ weights > 0) == y_test), abs=0.02)


def test_noise_makes_the_attack_a_coin(tmp_path: Path) -> None:
    """Without defence nearly all labels are read in the first epoch, at epsilon 0.1 about half of them."""
    settings = [Setting("text", "zero"), Setting("text", "zero", 0.1)]
    plain, noisy = (
        curves["attack"] for curves in curves_of(DIGITS, settings, ResultStore(tmp_path), Effort(3)).values()
    )
    assert plain.means[0] > 0.95
    assert np.mean(noisy.means) == pytest.approx(0.5, abs=0.06)
    assert noisy.points[0].n == 3
    assert noisy.points[0].standard_error > 0


def test_an_interrupted_call_goes_on(tmp_path: Path) -> None:
    """Interrupted after the first run and called again, the numbers are those of one call, and nothing runs twice."""
    settings = settings_of("figures", is_quick=True)
    whole = curves_of(DIGITS, settings, ResultStore(tmp_path / "whole"), Effort(2))
    shelf, told = ResultStore(tmp_path / "parts"), list[str]()

    def stop(message: str) -> None:
        told.append(message)
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        curves_of(DIGITS, settings, shelf, Effort(2, tell=stop))
    (first,) = shelf.folder.iterdir()
    written = first.stat().st_mtime_ns
    assert curves_of(DIGITS, settings, shelf, Effort(2)) == whole
    assert first.stat().st_mtime_ns == written


def test_changed_settings_are_run_again(tmp_path: Path) -> None:
    """Another number of epochs is another result, in the same folder."""
    shelf, setting = ResultStore(tmp_path), Setting("figures", "zero")
    short = curves_of(DIGITS, [setting], shelf, Effort(1))[setting]
    long = curves_of(replace(DIGITS, epochs=5), [setting], shelf, Effort(1))[setting]
    assert [len(curves["attack"].points) for curves in (short, long)] == [3, 5]
    assert set(short) == set(METRICS)


def test_rows_are_left_as_they_are(tmp_path: Path) -> None:
    """A study whose bound on rows would shorten one is refused, because the figures are about whole rows."""
    with pytest.raises(DataError, match="row_norm"):
        curves_of(replace(DIGITS, row_norm=3.0), [Setting("figures", "zero")], ResultStore(tmp_path), Effort(1))


def test_readings() -> None:
    """Full batches or batches of 256; both, or a word that is neither."""
    figures, text = (Setting(preset, "xavier", 0.5).plan(DIGITS, 288, seed=4) for preset in PRESETS)
    assert (figures.batches, text.batches, text.batch_size) == ("full", "reshuffled", DIGITS.batch_size)
    assert (figures.noise, figures.delta, figures.seed, figures.intercept) == ("heuristic", 0.1, 4, False)
    assert presets_of("both") == PRESETS
    assert len(settings_of("figures", is_quick=True)) == 2
    with pytest.raises(DataError, match="no preset"):
        presets_of("other")


def test_majority() -> None:
    """The share of the larger class."""
    _, y = datasets.load("digits-01", "test")
    assert majority(DIGITS) == max(y.mean(), 1 - y.mean())
