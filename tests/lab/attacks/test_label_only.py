"""`label-only`: labels that can only be -1 or +1, from fewer equations than labels."""

import numpy as np
import pytest

from plumbob.lab.attacks import label_only
from plumbob.lab.attacks.equations import solve
from plumbob.lab.attacks.label_only import LABEL_ONLY, LabelEquations
from tests.lab.attacks.support import credit, gaussian, read
from tests.protocol.support import plan_for


def puzzle_of(
    rows: int, columns: int, seed: int = 3
) -> tuple[LabelEquations, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Made-up equations and the labels that fit them."""
    generator = np.random.default_rng(seed)
    X = np.rint(generator.normal(size=(rows, columns)) * 2.0**16) / 2.0**16
    labels = generator.choice([-1.0, 1.0], rows)
    return LabelEquations(X, labels @ X, 1e-12, 0.0, 16), labels


@pytest.mark.parametrize(
    ("decoder", "rows"), [(label_only.box, 16), (label_only.integer, 24), (label_only.lattice, 40)]
)
def test_each_decoder_reaches_beyond_the_columns(decoder: label_only.Decoder, rows: int) -> None:
    """With ten columns the box solves 16 labels, the integer programme 24, the lattice 40."""
    puzzle, labels = puzzle_of(rows, 10)
    found = decoder(puzzle, 20.0)
    assert found is not None
    np.testing.assert_array_equal(found, labels)


def test_a_lattice_without_a_short_vector_says_so() -> None:
    """Sums of no labels at all are not decoded."""
    puzzle, _ = puzzle_of(20, 10)
    wrong = LabelEquations(puzzle.X, puzzle.sums + 0.375, puzzle.error, 0.0, 16)
    assert label_only.lattice(wrong, 20.0) is None


@pytest.mark.parametrize("sigmoid", ["taylor", "minimax", "piecewise", "exact"])
def test_a_label_party_without_features_hides_nothing(sigmoid: str) -> None:
    """With d_A = 0 every label is exact in every approximation, from any start, with more rows than columns."""
    plan = plan_for((0, 8), protocol="clear", sigmoid=sigmoid, intercept=False, start="xavier", batch_size=24, epochs=1)
    claim = read(LABEL_ONLY, plan, gaussian(96, 8))
    assert claim.rate == 1.0
    assert claim.is_determined.all()


def test_credit_batches_of_64_are_exact() -> None:
    """All 23 columns of credit at the feature party: three batches of 64 real rows, every label determined."""
    plan = plan_for((0, 23), protocol="clear", intercept=False, start="xavier", batch_size=64, epochs=1)
    claim = read(LABEL_ONLY, plan, credit(None, 192))
    assert claim.rate == 1.0
    assert claim.is_determined.all()


def test_the_first_step_from_zero_shows_its_batch() -> None:
    """From zero weights the first batch is exact whatever the label party holds, also encrypted, and no other is."""
    for protocol in ("clear", "exchange"):
        plan = plan_for((3, 8), protocol=protocol, batch_size=20, epochs=1)
        claim = read(LABEL_ONLY, plan, gaussian(60, 11))
        first = claim.view.batches[0].rows
        assert (np.sign(claim.beliefs) == claim.signs)[first].all()
        assert claim.is_determined.sum() == 20
        assert np.isnan(claim.beliefs).sum() == 40


def test_labels_that_fit_by_chance_are_not_determined() -> None:
    """Columns of zeros and ones carry too few bits: labels that fit are many, and none counts as determined."""
    generator = np.random.default_rng(2)
    X = generator.integers(0, 2, size=(32, 3)).astype(np.float64)
    plan = plan_for((0, 3), protocol="clear", intercept=False, batch_size=16, epochs=1)
    claim = read(LABEL_ONLY, plan, (X, generator.integers(0, 2, size=32)))
    assert not claim.is_determined.any()
    assert claim.condition("bits").value < 0


def test_equal_rows_with_different_labels_are_not_determined() -> None:
    """Two people who look the same and got different labels could have them the other way round."""
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    assert label_only.is_certain(X, np.array([1.0, -1.0, 1.0])).tolist() == [False, False, True]
    assert label_only.is_certain(X, np.array([1.0, 1.0, -1.0])).all()


def test_spare_bits_are_infinite_for_a_unique_solution() -> None:
    """As many independent columns as rows need no count of bits; fewer have about 16 bits each, less the labels'."""
    small, _ = puzzle_of(5, 8)
    assert label_only.spare_bits(small, solve(small.X, small.sums, small.error)) == np.inf
    large, _ = puzzle_of(40, 10)
    assert 100 < label_only.spare_bits(large, solve(large.X, large.sums, large.error)) < 200
