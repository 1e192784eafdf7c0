"""Section 7 from end to end: on a small data set always, on the real ones where they are and somebody waits for it."""

from pathlib import Path

import pytest

from plumbob.lab.commands import Paper
from plumbob.lab.paper.quality import curves_of
from plumbob.lab.paper.readings import CREDIT, MNIST, Effort, ResultStore, settings_of
from plumbob.lab.paper.section7 import SAME_CURVES, SAME_WEIGHTS, EncryptedSample, beside_clear, book_of
from plumbob.lab.paper.statements import Evidence, claims_of, first_epochs
from plumbob.verb import Caller
from tests.lab.paper.support import DIGITS, QUICK, SMALL_PIECE, needs_data


def test_a_small_book(tmp_path: Path) -> None:
    """Both readings, quickly: every statement has a verdict, every figure its curves, every setting its rows."""
    book = book_of(DIGITS, ("figures", "text"), ResultStore(tmp_path), QUICK, SMALL_PIECE)
    assert {claim.reading for claim in book.claims} >= {"mnist, figures", "mnist, text"}
    assert {claim.verdict for claim in book.claims} >= {"agrees", "not run"}
    assert len({figure.name for figure in book.figures}) == len(book.figures)
    assert all(figure.curves and curve.points for figure in book.figures for curve in figure.curves)
    names = {figure.name for figure in book.tables}
    assert {"mnist-figures", "mnist-text"} <= names
    assert [chapter.heading for chapter in book.chapters][-1] == "The same curves, encrypted"


def test_the_reading_that_was_left_out_is_named(tmp_path: Path) -> None:
    """A book of one reading says which other one there is, and how to run it."""
    book = book_of(DIGITS, ("figures",), ResultStore(tmp_path), QUICK, SMALL_PIECE)
    assert "Left out: the reading text (batches of 256, reshuffled, and real epochs); --preset both" in book.about


def test_encrypted_is_clear() -> None:
    """Step by step over one epoch: accuracy, labels read from the real messages, and norm."""
    outcome = beside_clear(DIGITS, SMALL_PIECE)
    (claim,) = outcome.claims
    assert claim.verdict == "agrees"
    assert claim.values["weights"] < SAME_WEIGHTS
    for figure in outcome.figures:
        encrypted, clear = figure.curves
        assert len(encrypted.points) == 64 // 16
        assert max(abs(a - b) for a, b in zip(encrypted.means, clear.means, strict=True)) <= SAME_CURVES
    (attack,) = (figure for figure in outcome.figures if "labels" in figure.metric)
    assert attack.curves[0].last > 0.9


@pytest.mark.soak
@pytest.mark.timeout(1800)
@needs_data
def test_the_figures_on_mnist(tmp_path: Path) -> None:
    """The bands that the paper's own figures show, from five seeds."""
    settings, effort = settings_of("figures", is_quick=False), Effort(5)
    evidence = Evidence(MNIST, "figures", curves_of(MNIST, settings, ResultStore(tmp_path), effort), 12_665)
    assert 8 <= first_epochs(evidence.curve("attack", "xavier")) <= 16
    assert 16 <= first_epochs(evidence.curve("attack", "zero"), level=1.0) <= 20
    for curve in evidence.defended("attack"):
        assert all(0.48 <= mean <= 0.53 for mean in curve.means)
    accuracy = {epsilon: evidence.curve("test_accuracy", "xavier", epsilon).last for epsilon in (None, 0.5, 0.2)}
    assert accuracy[None] >= 0.99
    assert accuracy[0.5] >= 0.98
    assert accuracy[0.2] >= 0.90
    assert max(max(curves["weight_norm"].means) for curves in evidence.curves.values()) < 2
    claims = claims_of(evidence)
    assert [claim.name for claim in claims if claim.verdict == "disagrees"] == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
@needs_data
def test_credit(tmp_path: Path) -> None:
    """Under both readings Xavier is read less surely than zero, and learns slower."""
    book = book_of(CREDIT, ("figures", "text"), ResultStore(tmp_path), Effort(5), EncryptedSample())
    found = {(claim.name, claim.reading): claim.verdict for claim in book.claims}
    for reading in ("credit, figures", "credit, text"):
        for name in ("xavier-attack", "xavier-slower", "zero-attack", "attack-defended"):
            assert found[name, reading] == "agrees"


@pytest.mark.soak
@pytest.mark.timeout(1800)
@needs_data
def test_the_theorems(tmp_path: Path) -> None:
    """All experiments with all seeds: what disagrees is what is known to."""
    result = Paper("attacks", tmp_path).do(Caller())
    claims = result["claims"]
    assert isinstance(claims, list)
    wrong = {claim["name"] for claim in claims if claim["verdict"] == "disagrees"}
    assert wrong == {"printed-bound", "large-start", "stacked", "geometry", "batch-of-one"}
