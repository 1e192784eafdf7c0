"""Section 7 beside a few lines that calculate its curves from the paper's formulas alone, and from end to end."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plumbob.errors import DataError
from plumbob.lab import datasets
from plumbob.lab.paper.quality import Curves, Released, curves_of, majority, success
from plumbob.lab.paper.runs import Effort, ResultStore, made_up, trained
from plumbob.lab.paper.section7 import SAME_CURVES, SAME_WEIGHTS, EncryptedSample, beside_clear, book_of
from plumbob.lab.paper.statements import Evidence, claims_of, first_epochs
from plumbob.lab.paper.study import CREDIT, MNIST, PRESETS, Setting, presets_of, settings_of
from tests.lab.paper.support import DIGITS, QUICK, SMALL_PIECE, needs_data

ZERO = Setting("figures", "zero")


def test_curves_are_those_of_the_formulas(tmp_path: Path) -> None:
    """Full-batch steps from zero weights: accuracy, attack and norm are what the paper's equations give."""
    found = curves_of(DIGITS, [ZERO], ResultStore(tmp_path), Effort(1))[ZERO]
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
    assert len(noisy.points[0].values) == 3
    assert noisy.points[0].standard_error > 0


def test_an_interrupted_call_goes_on(tmp_path: Path) -> None:
    """Interrupted after the first run and called again, the numbers are those of one call, and nothing runs twice."""
    settings = settings_of("figures", is_quick=True)
    whole = curves_of(DIGITS, settings, ResultStore(tmp_path / "whole"), Effort(2))
    store, messages = ResultStore(tmp_path / "parts"), list[str]()

    def stop(message: str) -> None:
        messages.append(message)
        if len(messages) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        curves_of(DIGITS, settings, store, Effort(2, tell=stop))
    (first,) = store.folder.iterdir()
    written = first.stat().st_mtime_ns
    assert curves_of(DIGITS, settings, store, Effort(2)) == whole
    assert first.stat().st_mtime_ns == written


def test_work_is_done_once(tmp_path: Path) -> None:
    """The same settings give the stored result; other settings, and a broken file, are worked out."""
    store, calls = ResultStore(tmp_path), list[int]()

    def work() -> list[int]:
        calls.append(1)
        return [len(calls)]

    assert store.get_or_run({"seed": 1}, list[int], work) == [1]
    assert ResultStore(tmp_path).get_or_run({"seed": 1}, list[int], work) == [1]
    (file,) = tmp_path.iterdir()
    assert store.get_or_run({"seed": 2}, list[int], work) == [2]
    for place, content in enumerate(["", "{", '{"another": "kind"}'], start=3):
        file.write_text(content)
        assert store.get_or_run({"seed": 1}, list[int], work) == [place]


def test_rows_are_left_as_they_are(tmp_path: Path) -> None:
    """A study whose bound on rows would shorten one is refused, because the figures are about whole rows."""
    with pytest.raises(DataError, match="row_norm"):
        curves_of(replace(DIGITS, row_norm=3.0), [ZERO], ResultStore(tmp_path), Effort(1))


def test_readings() -> None:
    """Full batches or batches of 256; both, or a word that is neither; quick runs try every rate, too."""
    figures, text = (Setting(preset, "xavier", 0.5).plan(DIGITS, 288, seed=4) for preset in PRESETS)
    assert (figures.batches, text.batches, text.batch_size) == ("full", "reshuffled", DIGITS.batch_size)
    assert (figures.noise, figures.delta, figures.seed, figures.intercept) == ("heuristic", 0.1, 4, False)
    assert presets_of("both") == PRESETS
    quick = settings_of("figures", is_quick=True)
    assert sorted(one.rate for one in quick if one.epsilon is None) == [0.001, 0.003, 0.01]
    with pytest.raises(DataError, match="no preset"):
        presets_of("other")
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


# From end to end.


def test_a_small_book(tmp_path: Path) -> None:
    """Both readings, quickly: every statement has a verdict, every figure its curves; a reading left out is named."""
    store = ResultStore(tmp_path)
    book = book_of(DIGITS, PRESETS, store, QUICK, SMALL_PIECE)
    assert {claim.reading for claim in book.claims} >= {"mnist, figures", "mnist, text"}
    assert {claim.verdict for claim in book.claims} >= {"agrees", "not run"}
    assert len({frame.name for frame in book.frames}) == len(book.frames)
    assert all(frame.curves and curve.points for frame in book.frames for curve in frame.curves.values())
    assert {"mnist-figures", "mnist-text"} <= {frame.name for frame in book.tables}
    assert [chapter.heading for chapter in book.chapters][-1] == "The same curves, encrypted"
    assert "Left out" not in book.about
    shorter = book_of(DIGITS, ("figures",), store, QUICK, SMALL_PIECE)
    assert "Left out: the reading text (batches of 256, reshuffled, and real epochs); --preset both" in shorter.about


def test_encrypted_is_clear() -> None:
    """Step by step over one epoch: accuracy, labels read from the real messages, and norm."""
    outcome = beside_clear(DIGITS, SMALL_PIECE)
    (claim,) = outcome.claims
    assert claim.verdict == "agrees"
    assert claim.values["weights"] < SAME_WEIGHTS
    for frame in outcome.frames:
        encrypted, clear = frame["encrypted"], frame["clear"]
        assert len(encrypted.points) == 64 // 16
        assert max(abs(a - b) for a, b in zip(encrypted.means, clear.means, strict=True)) <= SAME_CURVES
    (attack,) = (frame for frame in outcome.frames if "labels" in frame.metric)
    assert attack["encrypted"].last > 0.9


@pytest.mark.soak
@pytest.mark.timeout(1800)
@needs_data
def test_the_figures_on_mnist(tmp_path: Path) -> None:
    """The bands that the paper's own figures show, from five seeds."""
    curves: Curves = curves_of(MNIST, settings_of("figures", is_quick=False), ResultStore(tmp_path), Effort(5))
    evidence = Evidence(MNIST, "figures", curves, 12_665)
    assert 8 <= first_epochs(evidence.curve("attack", "xavier")) <= 16
    assert 16 <= first_epochs(evidence.curve("attack", "zero"), level=1.0) <= 20
    for curve in evidence.defended("attack"):
        assert all(0.48 <= mean <= 0.53 for mean in curve.means)
    for epsilon, least in {None: 0.99, 0.5: 0.98, 0.2: 0.90}.items():
        assert evidence.curve("test_accuracy", "xavier", epsilon).last >= least
    assert max(max(one["weight_norm"].means) for one in curves.values()) < 2
    assert [claim.name for claim in claims_of(evidence) if claim.verdict == "disagrees"] == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
@needs_data
def test_credit(tmp_path: Path) -> None:
    """Under both readings Xavier is read less surely than zero, and learns slower."""
    book = book_of(CREDIT, PRESETS, ResultStore(tmp_path), Effort(5), EncryptedSample())
    found: Mapping[tuple[str, str], str] = {(claim.name, claim.reading): claim.verdict for claim in book.claims}
    for reading in ("credit, figures", "credit, text"):
        for name in ("xavier-attack", "xavier-slower", "zero-attack", "attack-defended"):
            assert found[name, reading] == "agrees"
