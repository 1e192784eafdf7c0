"""Two models that differ by one person say something of that person; noise for rows stops it."""

import numpy as np

from benchmarks.attacks import model_difference as study
from benchmarks.attacks.study import AS_SHARES, against_chance

RUNS = 30


def test_a_feature_party_names_the_label_of_who_joined() -> None:
    """From the difference of its own weights, more often than from the first model; noise leaves a coin."""
    read = [study.read_labels(400, 5, 1, seed, **AS_SHARES) for seed in range(RUNS)]
    right, prior = (float(np.mean(column)) for column in zip(*read, strict=True))
    assert right > 0.9
    assert right > prior + 0.1
    noisy = [study.read_labels(400, 5, 1, seed, **study.NOISY).right for seed in range(RUNS)]
    assert np.mean(noisy) < 0.75


def test_a_label_party_reads_the_row_of_who_joined() -> None:
    """Its direction, from the difference of both models' weights; noise leaves chance."""
    found = [study.read_row(400, 5, 1, seed, **AS_SHARES) for seed in range(RUNS)]
    assert np.median(found) > 0.8
    noisy = [study.read_row(400, 5, 1, seed, **study.NOISY) for seed in range(RUNS)]
    assert abs(against_chance(noisy, 5)[1]) < 3


def test_scores_of_known_rows_are_enough() -> None:
    """On shares with weights that are never opened."""
    assert study.read_row(400, 3, 1, 1, known=60, **study.NEVER) > 0.7
