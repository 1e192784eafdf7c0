"""The studies behind some figures: invented labels, columns with two values, and numbers of common ids."""

import pytest

from benchmarks.attacks import chosen_labels as study
from benchmarks.attacks.binary_columns import attack as read_columns
from benchmarks.attacks.binary_columns import table
from benchmarks.attacks.repeated_alignments import counted, halved
from benchmarks.attacks.study import AS_SHARES, against_chance, expected_growth, made_up

ROWS, COLUMNS = 600, 5

# `chosen-labels`: invented labels read a row from scores of known ones; noise for rows stops it.


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


# Columns with two values are read from their rotation without a known row; normal ones, and noisy ones, are not.


def test_binary_columns_come_out_of_the_rotation() -> None:
    """Every row of every column with two values, and nothing that is none of them."""
    found = read_columns(table(400, 3, 0, 2, 1), 3, 0, 25, 1)
    assert found.binary == 1.0
    assert found.wrong == 0


def test_normal_columns_stay_hidden() -> None:
    """No direction takes few values only."""
    assert read_columns(table(400, 0, 0, 5, 2), 0, 0, 10, 2).wrong == 0


def test_errors_of_the_readings_stop_it() -> None:
    """Errors such as noise on residuals leaves stop it."""
    assert read_columns(table(400, 3, 0, 2, 1), 3, 0, 10, 1, noise=0.3).binary == 0.0


# Numbers of common ids name members if there are enough of them; a limit on alignments stops that.


def test_numbers_alone_name_every_member() -> None:
    """Sizes alone name every member, with far fewer alignments than people where members are few."""
    found = counted(200, 0.05)
    assert found.members + found.others == 200
    assert found.alignments < 100


def test_two_lists_that_differ_by_one_person_tell_of_that_person() -> None:
    """One number less is a member."""
    ids = {"a", "c"}
    assert halved(["a", "b"], lambda asked: len(ids & set(asked))) == ({"a"}, {"b"})


def test_a_limit_on_alignments_leaves_most_people_unknown() -> None:
    """Five sizes leave most people unknown."""
    found = counted(200, 0.3, most=5)
    assert found.alignments == 5
    assert found.members + found.others < 20
