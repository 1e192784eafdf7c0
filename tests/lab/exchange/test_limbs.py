"""lab/exchange/limbs.py: integers as rows of limbs and back, against Python's own bytes."""

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

from plumbob.lab.exchange.limbs import from_bytes, from_ints, is_less, to_bytes, to_ints, to_mpz
from tests.crypto.support import LIGHT


@LIGHT
@given(st.integers(1, 5), st.data())
def test_integers_come_back(width: int, data: st.DataObject) -> None:
    """Integers of every size, GMP's as well, are the same after the way to limbs, to bytes and back."""
    largest = (1 << (64 * width)) - 1
    values = [0, 1, largest, *data.draw(st.lists(st.integers(0, largest), max_size=6))]
    limbs = from_ints(values, width)
    assert limbs.shape == (len(values), width)
    assert to_bytes(limbs) == b"".join(value.to_bytes(8 * width, "little") for value in values)
    np.testing.assert_array_equal(from_ints(map(mpz, values), width), limbs)
    np.testing.assert_array_equal(from_bytes(to_bytes(limbs), width), limbs)
    assert to_ints(limbs) == values
    assert to_ints(np.repeat(limbs, 2, axis=0)[::2]) == values
    assert to_mpz(limbs) == values
    assert all(type(value) is int for value in to_ints(limbs))
    assert all(isinstance(value, gmpy2.mpz) for value in to_mpz(limbs))


def test_no_integers_are_no_rows() -> None:
    """No integers are no rows, of the width that was asked for."""
    assert from_ints([], 3).shape == (0, 3)
    assert to_ints(from_ints([], 3)) == to_mpz(from_ints([], 3)) == []


@pytest.mark.parametrize("value", [-1, 1 << 128])
def test_what_does_not_fit_is_refused(value: int) -> None:
    """Neither a negative integer nor one that is too wide becomes another one."""
    for kind in (int, mpz):
        with pytest.raises((OverflowError, TypeError)):
            from_ints([kind(value)], 2)


@pytest.mark.parametrize("difference", [-1, 0, 1, -(1 << 64), 1 << 64, 1 << 130])
def test_rows_are_compared_by_their_highest_limb(difference: int) -> None:
    """A row is less than a bound exactly if its integer is, whichever limb makes the difference."""
    bound = (5 << 128) + (7 << 64) + 9
    rows = from_ints([bound + difference, 0, bound - 1, bound], 3)
    expected = [difference < 0, True, True, False]
    assert is_less(rows, from_ints([bound], 3)[0]).tolist() == expected
