"""`chosen-labels`: invented labels read a row from scores of known ones; noise for rows stops it."""

from typing import Any

import pytest

from benchmarks.attacks import chosen_labels as study
from benchmarks.attacks.study import AS_SHARES, against_chance, expected_growth, made_up

ROWS, COLUMNS = 600, 5


@pytest.mark.parametrize("keys", [study.NEVER, AS_SHARES], ids=["shares", "clear"])
def test_scores_of_known_rows_reveal_a_row_that_was_never_scored(keys: dict[str, Any]) -> None:
    """One person has label 1, and columns + 1 known rows are scored."""
    read = study.read_row(made_up(ROWS, 1 + COLUMNS, 1), 1, [0], study.known_rows(ROWS, COLUMNS), **keys)
    assert read.cosine > 0.99
    assert read.error < 0.3


def test_several_chosen_people_give_their_mean_row() -> None:
    """Label 1 for ten people gives the mean of their rows."""
    read = study.read_row(made_up(ROWS, 1 + COLUMNS, 2), 1, range(10), study.known_rows(ROWS, COLUMNS), **AS_SHARES)
    assert read.cosine > 0.98


def test_it_takes_one_known_row_more_than_the_peer_has_columns() -> None:
    """With fewer, only a part of the row is read, which falls with their number."""
    reached = [study.by_known_rows(COLUMNS, known, runs=15, rows=400) for known in (3, COLUMNS, COLUMNS + 1)]
    assert reached[0] < 0.8 < reached[1] < 0.97 < reached[2]


def test_unknown_columns_of_known_rows_only_add_noise() -> None:
    """Half of the peer's columns are enough for that half of the row, with more rows."""
    assert study.by_known_columns(8, 4, 16, runs=4, rows=1500) < 0.95
    assert study.by_known_columns(8, 4, 1000, runs=4, rows=1500) > 0.97


def test_noise_for_rows_leaves_nothing_above_chance() -> None:
    """At epsilon 1 the weights themselves say no more of the row than a random direction; without noise, all."""
    _, deviations = against_chance(study.noisy_cosines(1.0, 40, rows=ROWS), COLUMNS)
    assert abs(deviations) < 3
    plain = [
        study.read_row(made_up(ROWS, 1 + COLUMNS, seed), 1, [0], (), is_scored=False, **AS_SHARES).cosine
        for seed in range(5)
    ]
    assert against_chance(plain, COLUMNS)[1] > 4.5


def test_weak_noise_does_not_stop_it() -> None:
    """Epsilon 1000 is a promise of nothing."""
    assert against_chance(study.noisy_cosines(1000.0, 20, rows=ROWS), COLUMNS)[1] > 6


def test_a_feature_party_reads_labels_from_rows_of_its_choice() -> None:
    """`open = "own"`: each of its columns is a 1 for one person; noise for rows stops it."""
    assert study.chosen_rows(made_up(ROWS, 4, 3), 6, 3, **study.OWN).right == 1.0
    noisy = [study.chosen_rows(made_up(ROWS, 4, seed), 6, seed, **study.NOISY_CLEAR).right for seed in range(20)]
    assert sum(noisy) / len(noisy) < 0.65


def test_the_length_of_the_row_follows_from_the_plan() -> None:
    """Weights are the row times a factor that rows and passes decide."""
    assert expected_growth(6000) == pytest.approx(expected_growth(600) / 10, rel=0.1)
