"""The discrete Gaussian on the integers, exactly: rational arithmetic on uniform draws, no floating-point number.

The sampler of Canonne, Kamath and Steinke (The Discrete Gaussian for Differential Privacy, 2020, algorithms 1 to 3):
a discrete Laplace proposal, accepted with a probability exp(-gamma) that is decided by coin flips.

`sample` takes any rational variance; `sample_many` takes a whole deviation and is made for many draws at once. The time
of a draw depends on its size, so that a party draws the noise of a whole run before the first pass: what a peer could
time is then one sum over all draws (docs/privacy.md).
"""

from collections.abc import Callable
from fractions import Fraction
from math import floor, isqrt

from plumbob.errors import PrivacyError

POOL_BYTES = 256

Below = Callable[[int], int]
"""A source of numbers uniform in [0, bound)."""
Draw = Callable[[int], bytes]
"""A source of uniform bytes, for many draws at once."""


def sample(variance: Fraction, below: Below) -> int:
    """An integer x with probability proportional to exp(-x**2 / (2 variance))."""
    scale = isqrt(floor(variance)) + 1
    while True:
        proposal = _laplace(scale, below)
        gamma = (abs(proposal) - variance / scale) ** 2 / (2 * variance)
        if ratio_coin(gamma.numerator, gamma.denominator, below):
            return proposal


def _laplace(scale: int, below: Below, is_reduced: bool = True) -> int:
    """An integer x with probability proportional to exp(-abs(x) / scale).

    Whether a ratio is reduced before its coin is thrown changes no probability, and which bytes are drawn for it.
    """
    while True:
        fraction = below(scale)
        ratio = Fraction(fraction, scale).as_integer_ratio() if is_reduced else (fraction, scale)
        if _small_ratio_coin(*ratio, below):
            drawn = _with_wholes_and_sign(fraction, scale, below)
            if drawn is not None:
                return drawn


def _with_wholes_and_sign(fraction: int, scale: int, below: Below) -> int | None:
    """The integer with its whole part and sign; None for minus zero, or 0 would come twice as often."""
    whole = 0
    while _small_ratio_coin(1, 1, below):
        whole += 1
    magnitude = fraction + scale * whole
    is_negative = below(2) == 1
    if is_negative and not magnitude:
        return None
    return -magnitude if is_negative else magnitude


def sample_many(std: int, count: int, draw: Draw) -> list[int]:
    """`count` independent integers x, each with probability proportional to exp(-x**2 / (2 std**2))."""
    if std < 1:
        raise PrivacyError(f"expected a deviation of at least one unit, got {std}; use finer units")
    below = pooled(draw)
    return [_sample_whole(std, below) for _ in range(count)]


def _sample_whole(std: int, below: Below) -> int:
    """One draw like `sample`; with a whole deviation as scale, every probability is a ratio of whole numbers."""
    doubled_variance = 2 * std * std
    while True:
        proposal = _laplace(std, below, is_reduced=False)
        if ratio_coin((abs(proposal) - std) ** 2, doubled_variance, below):
            return proposal


def ratio_coin(numerator: int, denominator: int, below: Below) -> bool:
    """True with probability exp(-numerator / denominator)."""
    while numerator > denominator:
        if not _small_ratio_coin(1, 1, below):
            return False
        numerator -= denominator
    return _small_ratio_coin(numerator, denominator, below)


def _small_ratio_coin(numerator: int, denominator: int, below: Below) -> bool:
    """The same coin for a ratio of at most 1: von Neumann's alternating series."""
    count = 1
    while below(denominator * count) < numerator:
        count += 1
    return count % 2 == 1


def pooled(draw: Draw) -> Below:
    """A source of uniform integers from bytes drawn by the hundred; for one call's draws, never for longer."""
    return _Pool(draw).below


class _Pool:
    """Uniform integers from bytes that are drawn by the hundred: a system call for each takes longer than its use.

    It lives as long as one call of `sample_many`, so nothing of it is left to be drawn twice.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._bits = 0
        self._count = 0

    def below(self, bound: int) -> int:
        """A number uniform in [0, bound), by rejection."""
        bits = (bound - 1).bit_length()
        while True:
            value = self._take(bits)
            if value < bound:
                return value

    def _take(self, bits: int) -> int:
        while self._count < bits:
            self._bits |= int.from_bytes(self._draw(POOL_BYTES), "little") << self._count
            self._count += 8 * POOL_BYTES
        value = self._bits & ((1 << bits) - 1)
        self._bits >>= bits
        self._count -= bits
        return value
