"""crypto/fixed_point.py: real numbers as integers of a public width."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbob.crypto import Encoding
from plumbob.errors import EncodingError
from tests.crypto.support import LIGHT

FEATURES = Encoding(fraction_bits=16, integer_bits=2)

encodings = st.builds(Encoding, st.integers(1, 30), st.integers(0, 30))


@LIGHT
@given(encodings, st.lists(st.floats(-1, 1, exclude_min=True, exclude_max=True), min_size=1))
def test_rounding_is_to_the_nearest(encoding: Encoding, fractions: list[float]) -> None:
    """A decoded number differs from the original by half a unit of the last place at most."""
    values = np.array(fractions) * (2.0**encoding.integer_bits - 2.0**-encoding.fraction_bits)
    decoded = encoding.decode(encoding.encode(values).values)
    assert np.abs(decoded - values).max() <= 2.0 ** -(encoding.fraction_bits + 1)


@LIGHT
@given(encodings, st.data())
def test_what_is_representable_comes_back_exactly(encoding: Encoding, data: st.DataObject) -> None:
    """Integers times the one public scale survive encoding, signs and both limits of the width included."""
    limit = (1 << (encoding.bits - 1)) - 1
    drawn = data.draw(st.lists(st.integers(-min(limit, 2**53), min(limit, 2**53))))
    integers = [*drawn, 0, min(limit, 2**53), -min(limit, 2**53)]
    encoded = encoding.encode(encoding.decode(integers))
    assert encoded.values.tolist() == integers
    assert encoded.values.dtype == np.int64
    assert encoded.bits == encoding.bits


def test_ties_go_to_even() -> None:
    """Half a unit rounds without a drift to one side."""
    assert Encoding(1, 3).encode([0.25, 0.75, -0.25, 1.25]).values.tolist() == [0, 2, 0, 2]


def test_scale_is_the_same_for_every_value() -> None:
    """Nothing but the plan's encoding decides the scale: small and large values share it."""
    encoded = FEATURES.encode([3.0, 2.0**-16])
    assert encoded.encoding is FEATURES
    assert encoded.values.tolist() == [3 << 16, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_a_number_is_refused(bad: float) -> None:
    """NaN and infinities are refused with their count and the name of the values."""
    with pytest.raises(EncodingError, match="residuals: expected finite numbers, 2 of 5 are NaN or infinite"):
        FEATURES.encode([0.5, bad, 1.0, bad, -1.0], what="residuals")


@pytest.mark.parametrize("large", [4.0, -4.0, 3.9999999, 12345.678, 1e300, -1.7e308])
def test_out_of_range_is_refused(large: float) -> None:
    """What does not fit after rounding is refused with a count, however large it is."""
    with pytest.raises(EncodingError, match=r"columns: expected absolute values below 2\*\*2, 1 of 3 are larger"):
        FEATURES.encode([0.5, large, 1.0], what="columns")


@pytest.mark.parametrize("values", [[0.7071, np.nan, 2.7182], [0.7071, 31415.9265, 2.7182]])
def test_an_error_never_shows_a_value(values: list[float]) -> None:
    """The message of a refusal holds counts and widths only, no number of the data."""
    with pytest.raises(EncodingError) as caught:
        FEATURES.encode(values)
    assert not re.search(r"7071|31415|27182|\d\.\d", str(caught.value))


@pytest.mark.parametrize(("fraction_bits", "integer_bits"), [(-1, 4), (4, -1), (0, 0), (60, 3), (62, 0)])
def test_impossible_widths_are_refused(fraction_bits: int, integer_bits: int) -> None:
    """An encoding has 2 to 62 bits with its sign."""
    with pytest.raises(EncodingError, match="2 to 62 bits"):
        Encoding(fraction_bits, integer_bits)


def test_encoded_prints_nothing() -> None:
    """Encoded data show no number, neither in repr nor in str."""
    encoded = FEATURES.encode([1.2345, 2.3456])
    for text in (repr(encoded), str(encoded), f"{encoded}"):
        assert str(encoded.values[0]) not in text
        assert "array" not in text


def test_text_is_refused_without_showing_it() -> None:
    """What cannot be read as numbers is refused by name, and its content stays out of the message."""
    with pytest.raises(EncodingError, match="own residuals: expected numbers") as refused:
        Encoding(16, 2).encode(["secret-word"], "own residuals")
    assert "secret-word" not in str(refused.value)
