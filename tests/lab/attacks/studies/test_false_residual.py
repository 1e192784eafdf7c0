"""A false share of a residual reads a row that was never scored; noise for rows does not stop it, few scores do."""

import numpy as np

from benchmarks.attacks.false_residual import SCORE_BITS, Deviation, read_inner_products, read_row
from benchmarks.attacks.study import cosine, made_up, solved_modulo

ROWS, COLUMNS, KNOWN = 2000, 4, 20


def test_a_false_residual_in_the_last_pass_shows_the_row() -> None:
    """The row stands in the weights many times beside the honest ones; an honest run shows little of it."""
    assert read_row(ROWS, COLUMNS, Deviation(moved=10.0), KNOWN).cosine > 0.99
    assert read_row(ROWS, COLUMNS, None, KNOWN).cosine < 0.9


def test_erasing_everybody_else_shows_it_exactly() -> None:
    """To the last fraction bit, and still within what scores can carry."""
    read = read_row(ROWS, COLUMNS, Deviation(erases=True), KNOWN)
    assert read.exact == 1.0
    assert 10 * COLUMNS < read.bits * COLUMNS <= SCORE_BITS * KNOWN


def test_noise_for_rows_does_not_stop_it() -> None:
    """The noise is made for residuals of at most 1, and this one is in the thousands."""
    # Scores wrap here. With twice as many known rows only one set of weights fits all, however they are rounded.
    assert read_row(ROWS, COLUMNS, Deviation(moved=10.0, erases=True), 2 * KNOWN, noise="rows").cosine > 0.99


def test_too_few_scored_rows_stop_it() -> None:
    """With fewer known rows than weights only their span is seen: what `most_rows` limits."""
    assert read_row(ROWS, COLUMNS, Deviation(erases=True), 3).exact == 0.0


def test_scores_that_wrapped_are_solved_too() -> None:
    """More known rows than weights say which scores wrapped."""
    known, truth = made_up(40, 5, 1), 12.0 * made_up(1, 5, 2)[0]
    scores = known @ truth + 7.0
    wrapped = (scores + 32.0) % 64.0 - 32.0
    assert np.any(wrapped != scores)
    assert cosine(solved_modulo(known, wrapped)[0], truth) > 0.999999


def test_with_opened_weights_inner_products_of_the_peers_rows_come_out() -> None:
    """`open = "own"`: a shift puts the peer's row into its weights; sines off the circle read what scores become."""
    assert read_inner_products(2000, (12, 5), "label") > 0.9
    assert abs(read_inner_products(2000, (12, 5), "label", moved=0.0)) < 0.7
