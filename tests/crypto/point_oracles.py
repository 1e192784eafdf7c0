"""ristretto255 once more, as an oracle for the kernel: libsodium's, through rbcl."""

import rbcl

from plumbob.crypto.ristretto import (
    FACTOR_BYTES,
    IDENTITY,
    ORDER,
    POINT_BYTES,
    UNIFORM_BYTES,
    Points,
    check_factors,
    check_pairs,
    check_size,
    refusal,
    scalar_bytes,
    spoilt,
)
from plumbob.errors import CryptoError

FIELD = 2**255 - 19


class SodiumGroup:
    """libsodium's group, with the checks that the kernel makes."""

    name = "libsodium"

    def times(self, points: Points, scalar: int) -> bytes:
        check_size(points, POINT_BYTES)
        return _times(checked(points), scalar_bytes(scalar))

    def times_hashed(self, uniform: Points, scalar: int = 1) -> bytes:
        check_size(uniform, UNIFORM_BYTES)
        encoded = scalar_bytes(scalar)
        mapped = [rbcl.crypto_core_ristretto255_from_hash(each) for each in _split(uniform, UNIFORM_BYTES)]
        if IDENTITY in mapped:
            raise refusal(mapped.index(IDENTITY))
        return _times(mapped, encoded)

    def add(self, left: Points, right: Points) -> bytes:
        check_pairs(left, right)
        pairs = enumerate(zip(_split(left), _split(right), strict=True))
        each = ([_checked(side, place) for side in pair] for place, pair in pairs)
        return b"".join(rbcl.crypto_core_ristretto255_add(*pair) for pair in each)

    def new_sum(self) -> "NaiveSum":
        return NaiveSum()


class NaiveSum:
    """A sum of single products."""

    def __init__(self) -> None:
        self._total = IDENTITY
        self._is_spoilt = False

    def add(self, points: Points, factors: Points) -> None:
        check_factors(points, factors)
        try:
            each = checked(points)
        except CryptoError:
            self._is_spoilt = True
            raise
        for point, encoded in zip(each, _split(factors, FACTOR_BYTES), strict=True):
            factor = int.from_bytes(encoded, "little", signed=True)
            if factor:
                product = _times([point], scalar_bytes(factor % ORDER))
                self._total = rbcl.crypto_core_ristretto255_add(self._total, product)

    def total(self) -> bytes:
        if self._is_spoilt:
            raise spoilt()
        return self._total


def checked(points: Points) -> list[bytes]:
    """The points one by one; the first that is none is named."""
    return [_checked(point, place) for place, point in enumerate(_split(points))]


def _checked(point: bytes, place: int) -> bytes:
    # Some versions of libsodium leave the highest bit out, and would take two encodings of one point.
    is_reduced = 0 < int.from_bytes(point, "little") < FIELD
    if not (is_reduced and rbcl.crypto_core_ristretto255_is_valid_point(point)):
        raise refusal(place)
    return point


def _times(points: list[bytes], scalar: bytes) -> bytes:
    return b"".join(rbcl.crypto_scalarmult_ristretto255(scalar, point) for point in points)


def _split(data: Points, size: int = POINT_BYTES) -> list[bytes]:
    whole = bytes(data)
    return [whole[start : start + size] for start in range(0, len(whole), size)]
