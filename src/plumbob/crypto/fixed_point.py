"""Real numbers as integers of a public width: one scale per kind of message, no exponent ever travels.

The width is part of the plan, so it says nothing about the data; what does not fit is refused before anything is sent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbob.errors import EncodingError

IntegerMatrix = NDArray[np.int64]
_INT64_BITS = 62  # One bit of room, so that shifting an entry by half its range cannot overflow.


@dataclass(frozen=True)
class Encoding:
    """Values x with abs(x) < 2**integer_bits, rounded to multiples of 2**-fraction_bits."""

    fraction_bits: int
    integer_bits: int

    def __post_init__(self) -> None:
        if self.fraction_bits < 0 or self.integer_bits < 0 or not 1 < self.bits <= _INT64_BITS:
            raise EncodingError(
                f"{self.fraction_bits} fraction bits and {self.integer_bits} integer bits: expected both 0 or more and "
                f"2 to {_INT64_BITS} bits with the sign; choose fewer fraction bits"
            )

    @property
    def bits(self) -> int:
        """The whole width, sign included."""
        return self.fraction_bits + self.integer_bits + 1

    def encode(self, values: ArrayLike, what: str = "values") -> "Encoded":
        """Round to the nearest multiple; `what` names the values in an error, which never shows them."""
        exact = _as_numbers(values, what)
        if not np.isfinite(exact).all():
            count = int(np.count_nonzero(~np.isfinite(exact)))
            raise EncodingError(f"{what}: expected finite numbers, {count} of {exact.size} are NaN or infinite")
        with np.errstate(over="ignore"):  # What overflows here is infinite then, and refused below.
            scaled = np.rint(np.ldexp(exact, self.fraction_bits))
        self._refuse_too_large(scaled, what)
        return Encoded(scaled.astype(np.int64), self)

    def decode(self, integers: ArrayLike) -> NDArray[np.float64]:
        """The numbers that the integers stand for."""
        return np.ldexp(np.asarray(integers, dtype=np.float64), -self.fraction_bits)

    def _refuse_too_large(self, scaled: NDArray[np.float64], what: str) -> None:
        too_large = np.abs(scaled) >= 2.0 ** (self.bits - 1)
        if too_large.any():
            raise EncodingError(
                f"{what}: expected absolute values below 2**{self.integer_bits}, {int(too_large.sum())} of "
                f"{scaled.size} are larger; scale or clip them, or agree on a wider encoding in the plan"
            )


def _as_numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        # numpy's own message quotes the value.
        raise EncodingError(f"{what}: expected numbers, got something that cannot be read as such") from None


@dataclass(frozen=True, repr=False)
class Encoded:
    """Integers together with the public width that they were proved to have."""

    values: IntegerMatrix
    encoding: Encoding

    @property
    def bits(self) -> int:
        return self.encoding.bits
