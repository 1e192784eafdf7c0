"""Points of P-256, by their x-coordinate alone: hashed to, and multiplied by a secret scalar.

The multiplications are those of the `cryptography` library (ECDH, whose result is an x-coordinate). A point and its
negative have the same x, before and after a multiplication, so that the sign never matters: any y that fits will do.

This module is not among the names of `plumbob.crypto`, which needs numpy and gmpy2 only.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256

import gmpy2
import numpy as np
from cryptography.hazmat.primitives.asymmetric import ec
from gmpy2 import mpz

from plumbob.crypto.engines import native_is_built
from plumbob.crypto.engines.interface import Engine, Ring
from plumbob.crypto.engines.python import PythonEngine
from plumbob.crypto.limbs import from_ints
from plumbob.errors import CryptoError

POINT_BYTES = 32
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_FIELD = mpz(2**256 - 2**224 + 2**192 + 2**96 - 1)
_B = mpz(0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B)
_RING = Ring(int(_FIELD), 1)
_CURVE = ec.SECP256R1()
_ECDH = ec.ECDH()
_MOST_TRIES = 256  # Each fails with probability 1/2.


class Scalar:
    """A secret multiplier, in [1, ORDER)."""

    def __init__(self, value: int) -> None:
        self._key = ec.derive_private_key(value, _CURVE)

    def times_hashed(self, domain: bytes, texts: Iterable[bytes]) -> bytes:
        """The multiples of the points that texts hash to, one x-coordinate after the other."""
        hashed = list(_hash_to_points(domain, texts))
        return self._times(_with_roots([_to_bytes(x) for x, _ in hashed], [square for _, square in hashed]))

    def times(self, points: bytes) -> bytes:
        """The multiples of points given by their x-coordinates; CryptoError where one is not of this curve."""
        return self._times(uncompressed(points))

    def _times(self, points: Sequence[bytes]) -> bytes:
        exchange, load = self._key.exchange, ec.EllipticCurvePublicKey.from_encoded_point
        try:
            # The library looks whether each is on the curve: without a square root there is no y, and it is not.
            return b"".join([exchange(_ECDH, load(_CURVE, point)) for point in points])
        except ValueError:
            raise CryptoError("an x-coordinate belongs to no point of the curve") from None


def hashed_points(domain: bytes, texts: Iterable[bytes]) -> bytes:
    """The x-coordinates that texts hash to."""
    return b"".join(_to_bytes(x) for x, _ in _hash_to_points(domain, texts))


def split(points: bytes) -> list[bytes]:
    """A message of points as single x-coordinates."""
    return [points[start : start + POINT_BYTES] for start in range(0, len(points), POINT_BYTES)]


def uncompressed(points: bytes) -> list[bytes]:
    """Points as the library reads them fastest; what has no y gets one that is refused there."""
    xs = split(points)
    values = [mpz(int.from_bytes(x, "big")) for x in xs]
    if any(x >= _FIELD for x in values):
        raise CryptoError("an x-coordinate is not below the field's size")
    return _with_roots(xs, [_right_side(x) for x in values])


def _hash_to_points(domain: bytes, texts: Iterable[bytes]) -> Iterator[tuple[mpz, mpz]]:
    """(x, y squared) for each text: the first hash of domain, counter and text that is the x-coordinate of a point."""
    starts = [domain + bytes([counter]) for counter in range(_MOST_TRIES)]
    for text in texts:
        for start in starts:
            x = mpz(int.from_bytes(sha256(start + text).digest(), "big"))
            square = _right_side(x)
            if gmpy2.legendre(square, _FIELD) == 1 and x < _FIELD:
                yield x, square
                break
        else:
            raise CryptoError(f"hash-to-curve failed after {_MOST_TRIES} tries; this never happens")


def _right_side(x: mpz) -> mpz:
    return ((x * x - 3) * x + _B) % _FIELD


def _with_roots(xs: Sequence[bytes], squares: Sequence[mpz]) -> list[bytes]:
    """4, x, y for each x, with y a square root if there is one. The kernel takes all roots at once."""
    limbs = from_ints(squares, _RING.width)
    roots = np.ascontiguousarray(_engine().power(_RING, limbs, (int(_FIELD) + 1) // 4), dtype="<u8")
    whole = np.empty((len(xs), 1 + 2 * POINT_BYTES), dtype=np.uint8)
    whole[:, 0] = 4
    whole[:, 1 : 1 + POINT_BYTES] = np.frombuffer(b"".join(xs), dtype=np.uint8).reshape(-1, POINT_BYTES)
    whole[:, 1 + POINT_BYTES :] = roots.view(np.uint8)[:, ::-1]
    joined, size = whole.tobytes(), whole.shape[1]
    return [joined[start : start + size] for start in range(0, len(joined), size)]


def _to_bytes(x: mpz) -> bytes:
    return int(x).to_bytes(POINT_BYTES, "big")


@cache
def _engine() -> Engine:
    """The kernel where it has vector instructions; on single short residues GMP is faster."""
    if native_is_built():
        from plumbob.crypto.engines.native import NativeEngine

        engine = NativeEngine(threads=1)
        if engine.path.startswith("avx"):
            return engine
    return PythonEngine()
