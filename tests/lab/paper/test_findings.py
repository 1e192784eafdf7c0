"""Means, spreads, and the way through JSON."""

import json

import numpy as np
import pytest

from plumbob.lab.paper.findings import COLUMNS, Curve, ExperimentOutcome, Figure, MeanPoint, PaperClaim


def test_a_point_has_the_standard_error_of_its_mean() -> None:
    """Over n repetitions it is the deviation, with n - 1, over the square root of n; one repetition has none."""
    values = [0.2, 0.4, 0.9]
    point = MeanPoint.of(3, values)
    assert point.mean == pytest.approx(0.5)
    assert point.standard_error == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))
    assert MeanPoint.of(1, [0.7]) == MeanPoint(1.0, 0.7, 0.0, 1)


def test_an_outcome_comes_back_from_json() -> None:
    """What is stored is what was found."""
    curves = (Curve("bound", (MeanPoint(1.0, 2.0),), True), Curve("measured", (MeanPoint.of(1, [1.0, 1.5]),)))
    figure = Figure("steps", "Steps", "learning rate", "steps", curves, "A caption.", is_logarithmic=True)
    claim = PaperClaim("steps", "Theorem 1", "It holds.", "here", "always", "it did", "agrees", {"kept": 1.0})
    outcome = ExperimentOutcome((figure,), (claim,))
    assert ExperimentOutcome.from_dict(json.loads(json.dumps(outcome.to_dict()))) == outcome


def test_every_point_is_a_row() -> None:
    """A figure's rows have the columns that the file has."""
    figure = Figure(
        "f", "F", "x", "y", (Curve("a", (MeanPoint(1, 2), MeanPoint(2, 3))), Curve("b", (MeanPoint(1, 5),)))
    )
    rows = list(figure.rows())
    assert len(rows) == 3
    assert all(set(row) == set(COLUMNS) for row in rows)
