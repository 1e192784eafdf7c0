"""ristretto255 twice more, as oracles for the kernel: on gmpy2's integers, and libsodium's through rbcl."""

import importlib
from abc import ABC, abstractmethod

import gmpy2
from gmpy2 import mpz

from plumbob.crypto.ristretto import (
    FACTOR_BYTES,
    IDENTITY,
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


class OracleGroup(ABC):
    """What both have in common: the checks, and combinations in Python."""

    name: str

    def times(self, points: Points, scalar: int) -> bytes:
        check_size(points, POINT_BYTES)
        return self._times(points, scalar_bytes(scalar))

    def times_hashed(self, uniform: Points, scalar: int = 1) -> bytes:
        check_size(uniform, UNIFORM_BYTES)
        return self._times_hashed(uniform, b"" if scalar == 1 else scalar_bytes(scalar))

    def added(self, left: Points, right: Points) -> bytes:
        check_pairs(left, right)
        return self._added(left, right)

    def new_sum(self) -> "PythonSum":
        return PythonSum()

    @abstractmethod
    def _times(self, points: Points, scalar: bytes) -> bytes: ...

    @abstractmethod
    def _times_hashed(self, uniform: Points, scalar: bytes) -> bytes:
        """Without a scalar, the points themselves."""

    @abstractmethod
    def _added(self, left: Points, right: Points) -> bytes: ...


class PythonGroup(OracleGroup):
    """The group on gmpy2's integers."""

    name = "python"

    def _times(self, points: Points, scalar: bytes) -> bytes:
        factor = int.from_bytes(scalar, "little")
        return b"".join(_encoded(_multiplied(point, factor)) for point in _decoded_all(points))

    def _times_hashed(self, uniform: Points, scalar: bytes) -> bytes:
        factor = int.from_bytes(scalar, "little") or 1
        return b"".join(_encoded(_multiplied(point, factor)) for point in _mapped_all(uniform))

    def _added(self, left: Points, right: Points) -> bytes:
        return b"".join(
            _encoded(_plus(*(_decoded(side, place) for side in pair)))
            for place, pair in enumerate(zip(_split(left), _split(right), strict=True))
        )


class SodiumGroup(OracleGroup):
    """libsodium's ristretto255, through rbcl. Python calculates the combinations, of public numbers, which it lacks."""

    name = "rbcl"

    def __init__(self) -> None:
        self._sodium = importlib.import_module("rbcl")

    def _times(self, points: Points, scalar: bytes) -> bytes:
        multiply = self._sodium.crypto_scalarmult_ristretto255
        return b"".join(multiply(scalar, self._checked(each, place)) for place, each in enumerate(_split(points)))

    def _times_hashed(self, uniform: Points, scalar: bytes) -> bytes:
        mapped = [self._sodium.crypto_core_ristretto255_from_hash(each) for each in _split(uniform, UNIFORM_BYTES)]
        if IDENTITY in mapped:
            raise refusal(mapped.index(IDENTITY))
        return self._times(b"".join(mapped), scalar) if scalar else b"".join(mapped)

    def _added(self, left: Points, right: Points) -> bytes:
        pairs = enumerate(zip(_split(left), _split(right), strict=True))
        checked = ([self._checked(side, place) for side in pair] for place, pair in pairs)
        return b"".join(self._sodium.crypto_core_ristretto255_add(*pair) for pair in checked)

    def _checked(self, point: bytes, place: int) -> bytes:
        if not self._is_point(point):
            raise refusal(place)
        return point

    def _is_point(self, point: bytes) -> bool:
        # Some versions of libsodium leave the highest bit out, and would take two encodings of one point.
        is_reduced = 0 < int.from_bytes(point, "little") < _P
        return is_reduced and bool(self._sodium.crypto_core_ristretto255_is_valid_point(point))


def _split(data: Points, size: int = POINT_BYTES) -> list[bytes]:
    whole = bytes(data)
    return [whole[start : start + size] for start in range(0, len(whole), size)]


# The reference: RFC 9496, sections 3 and 4, with its names. Points are (X, Y, Z, T), x = X/Z, y = Y/Z, x y = T/Z.

_Coordinates = tuple[mpz, mpz, mpz, mpz]

_P = mpz(2**255 - 19)
_D = mpz(37095705934669439343138083508754565189542113879843219016388785533085940283555)
_SQRT_M1 = mpz(19681161376707505956807079304988542015446066515923890162744021073123829784752)
_SQRT_AD_MINUS_ONE = mpz(25063068953384623474111414158702152701244531502492656460079210482610430750235)
_INVSQRT_A_MINUS_D = mpz(54469307008909316920995813868745141605393597292927456921205312896311721017578)
_ONE_MINUS_D_SQ = (1 - _D * _D) % _P
_D_MINUS_ONE_SQ = (_D - 1) ** 2 % _P
_ZERO: _Coordinates = (mpz(0), mpz(1), mpz(1), mpz(0))
_WINDOW = 8


def _root_of_ratio(u: mpz, v: mpz) -> tuple[bool, mpz]:
    """SQRT_RATIO_M1: whether u/v is a square, and the non-negative root of it, or of i u/v."""
    r = u * v**3 * gmpy2.powmod(u * v**7, (_P - 5) // 8, _P) % _P
    check = v * r * r % _P
    is_flipped = check == -u % _P
    if is_flipped or check == -u * _SQRT_M1 % _P:
        r = r * _SQRT_M1 % _P
    return bool(check == u % _P or is_flipped), _absolute(r)


def _absolute(value: mpz) -> mpz:
    return -value % _P if value % 2 else value


def _decoded_all(points: Points) -> list[_Coordinates]:
    return [_decoded(encoded, place) for place, encoded in enumerate(_split(points))]


def _decoded(encoded: bytes, place: int) -> _Coordinates:
    s = mpz(int.from_bytes(encoded, "little"))
    if s >= _P or s % 2 or s == 0:
        raise refusal(place)
    u1, u2 = (1 - s * s) % _P, (1 + s * s) % _P
    v = (-_D * u1 * u1 - u2 * u2) % _P
    was_square, root = _root_of_ratio(mpz(1), v * u2 * u2 % _P)
    den_x = root * u2 % _P
    x = _absolute(2 * s * den_x % _P)
    y = u1 * root * den_x * v % _P
    t = x * y % _P
    if not was_square or t % 2 or y == 0:
        raise refusal(place)
    return x, y, mpz(1), t


def _encoded(point: _Coordinates) -> bytes:
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % _P, x * y % _P
    _, root = _root_of_ratio(mpz(1), u1 * u2 * u2 % _P)
    den1, den2 = root * u1 % _P, root * u2 % _P
    z_inverse = den1 * den2 * t % _P
    den = den2
    if t * z_inverse % _P % 2:
        x, y, den = y * _SQRT_M1 % _P, x * _SQRT_M1 % _P, den1 * _INVSQRT_A_MINUS_D % _P
    if x * z_inverse % _P % 2:
        y = -y % _P
    return int(_absolute(den * (z - y) % _P)).to_bytes(POINT_BYTES, "little")


def _mapped_all(uniform: Points) -> list[_Coordinates]:
    found = []
    for place, each in enumerate(_split(uniform, UNIFORM_BYTES)):
        point = _plus(_mapped(each[:POINT_BYTES]), _mapped(each[POINT_BYTES:]))
        if point[0] * point[1] % _P == 0:
            raise refusal(place)
        found.append(point)
    return found


def _mapped(data: bytes) -> _Coordinates:
    """MAP of RFC 9496: bytes to a point, without the highest bit, and not necessarily reduced."""
    t = mpz(int.from_bytes(data, "little") % 2**255)
    r = _SQRT_M1 * t * t % _P
    u = (r + 1) * _ONE_MINUS_D_SQ % _P
    v = (-1 - r * _D) * (r + _D) % _P
    was_square, s = _root_of_ratio(u, v)
    c = mpz(-1)
    if not was_square:
        s, c = -_absolute(s * t % _P) % _P, r
    n = (c * (r - 1) * _D_MINUS_ONE_SQ - v) % _P
    w0, w1, w2, w3 = 2 * s * v % _P, n * _SQRT_AD_MINUS_ONE % _P, (1 - s * s) % _P, (1 + s * s) % _P
    return w0 * w3 % _P, w2 * w1 % _P, w1 * w3 % _P, w0 * w2 % _P


def _plus(left: _Coordinates, right: _Coordinates) -> _Coordinates:
    x1, y1, z1, t1 = left
    x2, y2, z2, t2 = right
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * _D * t1 * t2 % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _doubled(point: _Coordinates) -> _Coordinates:
    x, y, z, _ = point
    xx, yy = x * x % _P, y * y % _P
    e, g, h = 2 * x * y % _P, yy - xx, yy + xx
    f = 2 * z * z % _P - g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _negative(point: _Coordinates) -> _Coordinates:
    return -point[0] % _P, point[1], point[2], -point[3] % _P


def _multiplied(point: _Coordinates, scalar: int) -> _Coordinates:
    """The scalar times the point, by digits of four bits, highest first."""
    multiples = [_ZERO, point]
    while len(multiples) < 16:
        multiples.append(_plus(multiples[-1], point))
    total = _ZERO
    for digit in f"{scalar:x}":
        for _ in range(4):
            total = _doubled(total)
        total = _plus(total, multiples[int(digit, 16)])
    return total


class PythonSum:
    """A sum by buckets (Pippenger): for each window of eight bits and each of its values, the sum of its points."""

    def __init__(self) -> None:
        self._windows = [[_ZERO] * ((1 << _WINDOW) + 1) for _ in range(8 * FACTOR_BYTES // _WINDOW)]
        self._is_spoilt = False

    def add(self, points: Points, factors: Points) -> None:
        check_factors(points, factors)
        try:
            decoded = _decoded_all(points)
        except CryptoError:
            self._is_spoilt = True
            raise
        for point, encoded in zip(decoded, _split(factors, FACTOR_BYTES), strict=True):
            factor = int.from_bytes(encoded, "little", signed=True)
            signed = _negative(point) if factor < 0 else point
            for buckets, digit in zip(self._windows, abs(factor).to_bytes(FACTOR_BYTES, "little"), strict=True):
                if digit:
                    buckets[digit] = _plus(buckets[digit], signed)

    def total(self) -> bytes:
        if self._is_spoilt:
            raise spoilt()
        total = _ZERO
        for buckets in reversed(self._windows):
            for _ in range(_WINDOW):
                total = _doubled(total)
            running = _ZERO
            for bucket in reversed(buckets[1:]):
                running = _plus(running, bucket)
                total = _plus(total, running)
        return _encoded(total)
