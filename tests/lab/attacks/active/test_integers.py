"""Numbers side by side come apart again, and equations in integers have integer solutions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plumbob.lab.attacks.hooks import exact_product, signed_digits, solve_exactly


@given(st.lists(st.integers(-(2**11) + 1, 2**11 - 1), min_size=1, max_size=20))
def test_signed_digits_survive_their_borrows(digits: list[int]) -> None:
    """Any signed values that fit their slots are read back, whatever the signs of their neighbours."""
    packed = sum(digit << (12 * place) for place, digit in enumerate(digits))
    assert signed_digits(packed, 12, len(digits)) == digits


def test_a_solution_is_proved_or_not_given() -> None:
    """Integers come out exactly where the equations fix them, and not at all where they do not."""
    generator = np.random.default_rng(3)
    values = generator.integers(-(2**30), 2**30, 40).tolist()
    matrix = generator.integers(-127, 128, (40, 44))
    assert solve_exactly(matrix, exact_product(values, matrix)) == values
    assert solve_exactly(matrix[:, :39], exact_product(values, matrix[:, :39])) is None
    wrong = exact_product(values, matrix)
    wrong[5] += 1
    assert solve_exactly(matrix, wrong) is None
