"""The prime-order group ristretto255 (RFC 9496): points of 32 bytes, times secret scalars and in public combinations.

An element has exactly one encoding, so that two points are equal where their bytes are, and engines that are right
agree bit for bit. What is no element's encoding is refused, and so is the identity, whose product anybody knows.

The kernel multiplies (native/edwards.h), several points at a time and on several threads. Without it `rbcl` serves
where it is installed (libsodium's group), else gmpy2's integers: slowly, and in time that depends on a secret scalar,
which `is_constant_time` says. Combinations are of public numbers only, on every engine.

This module is not among the names of `plumbob.crypto`, which needs numpy and gmpy2 only.
"""

import hashlib
import importlib
import importlib.util
import warnings
from abc import ABC, abstractmethod
from functools import cache
from types import ModuleType
from typing import Protocol

import gmpy2
import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from plumbob.crypto.kernel import KernelEngine, cores, native_is_built
from plumbob.errors import CryptoError

POINT_BYTES = 32
SCALAR_BYTES = 32
UNIFORM_BYTES = 64
FACTOR_BYTES = 16
ORDER = 2**252 + 27742317777372353535851937790883648493
GENERATOR = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
IDENTITY = bytes(POINT_BYTES)

NAMES = ("auto", "native", "rbcl", "python")
Points = bytes | bytearray | memoryview
PackedTexts = tuple[Points, NDArray[np.int64], NDArray[np.int64]]
"""A buffer, and where each text begins and ends in it."""


class PointSum(Protocol):
    """A sum of points times factors that grows from chunk to chunk."""

    def add(self, points: Points, factors: Points) -> None:
        """Add each point times its factor: 16 bytes, little-endian and signed. CryptoError where one is no point."""

    def total(self) -> bytes:
        """The sum of all that was added; of nothing, the identity, whose bytes are all zero."""


class RistrettoGroup(ABC):
    """Points of ristretto255 as bytes, one after the other without gaps."""

    name: str
    """The engine's name in records and benchmarks."""
    is_constant_time: bool
    """Whether the time that a multiplication takes is independent of the scalar."""

    def times(self, points: Points, scalar: int) -> bytes:
        """The multiples of points; CryptoError where one is no point, or is the identity."""
        _check_size(points, POINT_BYTES)
        return self._times(points, _scalar_bytes(scalar))

    def times_hashed(self, uniform: Points, scalar: int = 1) -> bytes:
        """The multiples of the points that uniform strings of 64 bytes, hashes for example, are mapped to."""
        _check_size(uniform, UNIFORM_BYTES)
        return self._times_hashed(uniform, b"" if scalar == 1 else _scalar_bytes(scalar))

    def added(self, left: Points, right: Points) -> bytes:
        """The sum of each pair; CryptoError as in `times`. A point and its negative give the identity."""
        _check_size(left, POINT_BYTES)
        if memoryview(left).nbytes != memoryview(right).nbytes:
            raise CryptoError("expected as many points right as left")
        return self._added(left, right)

    def new_sum(self) -> PointSum:
        """A sum of points to which nothing was added yet."""
        return _PythonSum()

    @abstractmethod
    def _times(self, points: Points, scalar: bytes) -> bytes: ...

    @abstractmethod
    def _times_hashed(self, uniform: Points, scalar: bytes) -> bytes:
        """Without a scalar, the points themselves."""

    @abstractmethod
    def _added(self, left: Points, right: Points) -> bytes: ...


def choose(name: str = "auto", threads: int | None = None) -> RistrettoGroup:
    """The engine of that name, on `threads` threads (None: every core); `auto` is the fastest one that is here."""
    if name not in NAMES:
        raise CryptoError(f"engine {name!r}: expected one of {', '.join(NAMES)}")
    if name == "native" or (name == "auto" and native_is_built()):
        return NativeGroup(threads=threads)
    if name == "rbcl" or (name == "auto" and rbcl_is_installed()):
        return SodiumGroup()
    if name == "auto":
        _say_once_that_it_is_slow()
    return PythonGroup()


def uniform_strings(beginning: bytes, texts: PackedTexts, threads: int = 1) -> bytes:
    """SHA-512 of this beginning and each text, one after the other: what `times_hashed` takes."""
    data, starts, ends = texts
    if native_is_built():
        hashed: bytes = _kernel().ristretto_hash(beginning, data, starts.data, ends.data, threads)
        return hashed
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return b"".join(hashlib.sha512(beginning + data[start:end]).digest() for start, end in spans)


def available_paths() -> list[str]:
    """The instruction sets that the kernel can use on this machine, best first; none where it was not built."""
    return list(_kernel().ristretto_paths()) if native_is_built() else []


@cache
def rbcl_is_installed() -> bool:
    """Whether libsodium's group can be imported."""
    return importlib.util.find_spec("rbcl") is not None


@cache
def _say_once_that_it_is_slow() -> None:
    warnings.warn(
        "the native kernel was not built; falling back to points in Python, which are a hundred times slower and "
        "whose timing depends on the secret scalar. Install a C++ compiler and reinstall plumbob, or install rbcl",
        RuntimeWarning,
        stacklevel=3,
    )


def _kernel() -> ModuleType:
    return importlib.import_module("plumbob.crypto._kernel")


class NativeGroup(KernelEngine, RistrettoGroup):
    """The group in the kernel, by one of its paths (default: the best one here)."""

    is_constant_time = True

    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        if not native_is_built():
            raise CryptoError("the kernel was not built here: install a C++ compiler and reinstall; or use 'python'")
        super().__init__(available_paths(), path, cores() if threads is None else threads)

    def _times(self, points: Points, scalar: bytes) -> bytes:
        return _answer(_kernel().ristretto_times(self.path, points, scalar, self.threads))

    def _times_hashed(self, uniform: Points, scalar: bytes) -> bytes:
        return _answer(_kernel().ristretto_times_mapped(self.path, uniform, scalar, self.threads))

    def _added(self, left: Points, right: Points) -> bytes:
        return _answer(_kernel().ristretto_add(self.path, left, right, self.threads))

    def new_sum(self) -> PointSum:
        return _NativeSum(self.path, self.threads)


class _NativeSum:
    def __init__(self, path: str, threads: int) -> None:
        self._buckets = _kernel().ristretto_buckets(path)
        self._threads = threads

    def add(self, points: Points, factors: Points) -> None:
        _check_factors(points, factors)
        refused = _kernel().ristretto_combine(self._buckets, points, factors, self._threads)
        if refused is not None:
            raise refusal(refused)

    def total(self) -> bytes:
        try:
            found: bytes = _kernel().ristretto_join(self._buckets)
        except ValueError:
            raise _spoilt() from None
        return found


class PythonGroup(RistrettoGroup):
    """The group on gmpy2's integers: the reference, in time that depends on the scalar."""

    name = "python"
    is_constant_time = False

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


class SodiumGroup(RistrettoGroup):
    """libsodium's ristretto255, through rbcl. Python calculates the combinations, of public numbers, which it lacks."""

    name = "rbcl"
    is_constant_time = True

    def __init__(self) -> None:
        if not rbcl_is_installed():
            raise CryptoError("rbcl is not installed: install it, or use another engine")
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


def refusal(place: int) -> CryptoError:
    """The error for bytes that encode no point."""
    return CryptoError(
        f"point {place} (counted from 0) is not the canonical encoding of an element of ristretto255 other than the "
        "identity; whoever sent it must send points of this group"
    )


def _spoilt() -> CryptoError:
    return CryptoError("a point was refused, or a call interrupted, while this sum was made; start a new one")


def _answer(answer: tuple[bytes, None] | tuple[None, int]) -> bytes:
    points, refused = answer
    if points is None:
        raise refusal(refused or 0)
    return points


def _check_size(data: Points, size: int) -> None:
    if memoryview(data).nbytes % size:
        raise CryptoError(f"{memoryview(data).nbytes} bytes: expected a multiple of {size}; is the last one cut off?")


def _check_factors(points: Points, factors: Points) -> None:
    _check_size(points, POINT_BYTES)
    if memoryview(points).nbytes * FACTOR_BYTES != memoryview(factors).nbytes * POINT_BYTES:
        raise CryptoError(f"expected a factor of {FACTOR_BYTES} bytes for each point")


def _scalar_bytes(scalar: int) -> bytes:
    if not 0 < scalar < ORDER:
        raise CryptoError("a scalar is outside the range from 1 to the group's order - 1: reduce it modulo ORDER")
    return int(scalar).to_bytes(SCALAR_BYTES, "little")


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


class _PythonSum:
    """A sum by buckets (Pippenger): for each window of eight bits and each of its values, the sum of its points."""

    def __init__(self) -> None:
        self._windows = [[_ZERO] * ((1 << _WINDOW) + 1) for _ in range(8 * FACTOR_BYTES // _WINDOW)]
        self._is_spoilt = False

    def add(self, points: Points, factors: Points) -> None:
        _check_factors(points, factors)
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
            raise _spoilt()
        total = _ZERO
        for buckets in reversed(self._windows):
            for _ in range(_WINDOW):
                total = _doubled(total)
            running = _ZERO
            for bucket in reversed(buckets[1:]):
                running = _plus(running, bucket)
                total = _plus(total, running)
        return _encoded(total)
