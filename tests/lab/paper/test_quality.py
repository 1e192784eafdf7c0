"""The curves of section 7, beside a few lines that calculate them from the paper's formulas alone; their store."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob import datasets
from plumbob.errors import DataError
from plumbob.lab.paper.quality import METRICS, Released, curves_of, majority, success
from plumbob.lab.paper.readings import PRESETS, Effort, ResultStore, Setting, presets_of, settings_of
from plumbob.lab.paper.runs import made_up, trained
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
    quick = settings_of("figures", is_quick=True)
    assert sorted(one.rate for one in quick if one.epsilon is None) == [0.001, 0.003, 0.01]
    with pytest.raises(DataError, match="no preset"):
        presets_of("other")


def test_majority() -> None:
    """The share of the larger class."""
    _, y = datasets.load("digits-01", "test")
    assert majority(DIGITS) == max(y.mean(), 1 - y.mean())


# Residuals as released are those that training used, noise included.

NOISE: dict[str, Any] = {"noise": "std", "noise_std": 5.0, "row_norm": 100.0}


@pytest.mark.parametrize("keys", [{"batches": "full"}, {"batch_size": 16}, {"batch_size": 16, **NOISE}], ids=str)
def test_they_give_the_sums_of_every_step(keys: dict[str, Any]) -> None:
    """Residuals times columns, over each batch, are the sums that the feature party received."""
    run = trained((3, 4), *made_up(64, 7, 1), start="xavier", epochs=2, **keys)
    released = Released.of(run)
    for batch, X, own_scores, sums in released.own.steps():
        residuals = released.residuals[batch.epoch - 1, batch.rows]
        np.testing.assert_allclose(residuals @ X, sums, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(released.own_scores[batch.epoch - 1, batch.rows], own_scores)


def test_another_run_is_refused() -> None:
    """Sums that the residuals do not give are not of this run."""
    run = trained((3, 4), *made_up(64, 7, 1), epochs=1, batch_size=16)
    other = replace(run.transcripts["features"], sums=run.transcripts["features"].sums + 1.0)
    with pytest.raises(DataError, match="do not give the sums"):
        Released.of(replace(run, transcripts={**run.transcripts, "features": other}))


def test_rows_that_were_dropped_count_for_nothing() -> None:
    """Success is the share among the rows that came into a batch."""
    assert success(np.array([1, 0, 1], dtype=np.int8), np.array([[-1.0, np.nan, 2.0]])) == [0.5]


# What is finished is not done again, unless it would be something else.


def counted(calls: list[int]) -> dict[str, int]:
    """Work that shows how often it was done."""
    calls.append(1)
    return {"calls": len(calls)}


def test_work_is_done_once(tmp_path: Path) -> None:
    """The same settings give the stored result; other ones are worked out, and stored in its place."""
    results, calls = ResultStore(tmp_path / "results"), list[int]()
    assert results.get_or_run("a: b, c", {"seed": 1}, lambda: counted(calls)) == {"calls": 1}
    assert ResultStore(tmp_path / "results").get_or_run("a: b, c", {"seed": 1}, lambda: counted(calls)) == {"calls": 1}
    assert results.get_or_run("a: b, c", {"seed": 2}, lambda: counted(calls)) == {"calls": 2}
    assert len(list((tmp_path / "results").iterdir())) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"settings": {}}'])
def test_a_broken_file_is_worked_out_again(tmp_path: Path, content: str) -> None:
    """Whatever stands in a file, only a whole result of the same settings is used."""
    results = ResultStore(tmp_path)
    results.get_or_run("a", {"seed": 1}, lambda: {"value": 1})
    (tmp_path / "a.json").write_text(content)
    assert results.get_or_run("a", {"seed": 1}, lambda: {"value": 2}) == {"value": 2}
    assert results.get_or_run("a", {"seed": 1}, lambda: {"value": 3}) == {"value": 2}


def test_an_interrupted_piece_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle of some work stores nothing of it."""

    def work() -> dict[str, int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ResultStore(tmp_path).get_or_run("a", {}, work)
    assert ResultStore(tmp_path).result("a", {}) is None
