"""A proof that many points of P-256 were all multiplied with the same secret scalar: one for a whole list.

Points travel as x-coordinates, and a point and its negative have the same one. So the prover says of each product
whether it is the multiple of the canonical point above its x, or the negative of that: one bit. These bits and the
products are fixed before the verifier draws its challenge. Both then form the same random combination of the points and
of the products, and one proof of equal logarithms (Chaum and Pedersen) covers them all. docs/alignment.md has the
argument.

Multiplications with secrets are those of the `cryptography` library. What is calculated here is public to both sides.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence

import gmpy2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from gmpy2 import mpz

from plumbob.crypto.curve import ORDER, POINT_BYTES, uncompressed
from plumbob.errors import CryptoError

FACTOR_BITS = 64
"""Of the random combination: a wrong list passes with probability 2**-64, once, because the verifier draws it."""
PUBLIC_BYTES = 1 + 2 * POINT_BYTES
PROOF_BYTES = 2 * POINT_BYTES

Point = tuple[mpz, mpz]
Jacobian = tuple[mpz, mpz, mpz]

_P = mpz(2**256 - 2**224 + 2**192 + 2**96 - 1)
_B = mpz(0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B)
_G = (
    mpz(0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296),
    mpz(0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5),
)
_NOWHERE = (mpz(1), mpz(1), mpz(0))
_CURVE = ec.SECP256R1()
_ECDH = ec.ECDH()


class Prover:
    """The side that knows the scalar."""

    def __init__(self, scalar: int) -> None:
        self._scalar = scalar
        self._key = ec.derive_private_key(scalar, _CURVE)

    def public(self) -> bytes:
        """The scalar times the generator: what all products are compared with."""
        return self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def signs(self, points: bytes, products: bytes) -> bytes:
        """A byte for each product: 0 where it is the multiple of the canonical point itself, 1 for its negative."""
        own = _point(self.public())
        pairs = zip(lifted(points), lifted(products), strict=True)
        return bytes(self._is_negative(point, product, own) for point, product in pairs)

    def _is_negative(self, point: Point, product: Point, own: Point) -> bool:
        """The library gives x-coordinates only; that of the multiple of point + generator tells the two signs apart."""
        shifted = _to_affine(_plus(_from_affine(point), _G))
        if shifted is None:
            raise CryptoError("a point is the generator's negative, which no id hashes to")
        expected = self._times(shifted)
        candidate = _to_affine(_plus(_from_affine(product), own))
        return candidate is None or candidate[0] != expected

    def prove(self, context: bytes, points: bytes, challenge: bytes) -> bytes:
        """For the combination that the verifier's challenge gives."""
        combination = combined(lifted(points), factors(challenge, len(points) // POINT_BYTES))
        product = self._times(combination)
        # Drawn from all that the proof depends on, so that no two proofs share it, after a restart either.
        secret = _to_bytes(self._scalar) + context + challenge + _coordinates(combination)
        drawn = hashlib.shake_256(b"plumbob same scalar nonce" + secret).digest(48)
        nonce = 1 + int.from_bytes(drawn, "big") % (ORDER - 1)
        key = ec.derive_private_key(nonce, _CURVE)
        first = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        second = mpz(int.from_bytes(key.exchange(_ECDH, _load_point(combination)), "big"))
        answer = _challenge(context, self.public(), combination, product, first, second)
        return _to_bytes(answer) + _to_bytes((nonce - answer * self._scalar) % ORDER)

    def _times(self, point: Point) -> mpz:
        return mpz(int.from_bytes(self._key.exchange(_ECDH, _load_point(point)), "big"))


def verify(
    context: bytes, public: bytes, points: bytes, products: bytes, signs: Sequence[int], challenge: bytes, proof: bytes
) -> bool:
    """Whether every product is the same multiple of its point as `public` is of the generator, up to its sign."""
    drawn = factors(challenge, len(signs))
    signed = [-factor if sign else factor for factor, sign in zip(drawn, signs, strict=True)]
    own, combination = _point(public), combined(lifted(points), drawn)
    product = combined(lifted(products), signed)
    answer, response = (int.from_bytes(proof[at : at + POINT_BYTES], "big") for at in (0, POINT_BYTES))
    first = _to_affine(_sum(_multiple(_G, response), _multiple(own, answer)))
    second = _to_affine(_sum(_multiple(combination, response), _multiple(product, answer)))
    if first is None or second is None:
        return False
    encoded = b"\4" + _coordinates(first)
    expected = _challenge(context, public, combination, product[0], encoded, second[0])
    return hmac.compare_digest(_to_bytes(expected), proof[:POINT_BYTES])


def lifted(points: bytes) -> list[Point]:
    """The canonical point above each x-coordinate: y is the root that is itself a square. CryptoError without one."""
    return [_point(whole) for whole in uncompressed(points)]


def factors(challenge: bytes, count: int) -> list[int]:
    """Of the combination: 64 random bits below a 1, so that none is 0 and leaves its point out."""
    size = FACTOR_BITS // 8
    drawn = hashlib.shake_256(b"plumbob combination" + challenge).digest(size * count)
    return [int.from_bytes(drawn[at : at + size], "little") | 1 << FACTOR_BITS for at in range(0, len(drawn), size)]


def combined(points: Sequence[Point], multiples: Sequence[int]) -> Point:
    """The sum of all points times their factors, by buckets (Pippenger): a few additions for each point."""
    window = max(2, min(12, len(points).bit_length() - 3))
    total = _NOWHERE
    for start in range((FACTOR_BITS // window) * window, -1, -window):
        for _ in range(window):
            total = _double(total)
        total = _sum(total, _windowed(points, multiples, start, window))
    found = _to_affine(total)
    if found is None:
        raise CryptoError("a random combination of points vanished; the points are not independent")
    return found


def _windowed(points: Sequence[Point], multiples: Sequence[int], start: int, window: int) -> Jacobian:
    """The sum over one digit of each factor: every point into its digit's bucket, then the buckets by their number."""
    buckets = [_NOWHERE] * (1 << window)
    for (x, y), multiple in zip(points, multiples, strict=True):
        digit = (abs(multiple) >> start) & ((1 << window) - 1)
        if digit:
            buckets[digit] = _plus(buckets[digit], (x, -y % _P) if multiple < 0 else (x, y))
    running = total = _NOWHERE
    for bucket in reversed(buckets[1:]):
        running = _sum(running, bucket)
        total = _sum(total, running)
    return total


def _challenge(context: bytes, public: bytes, combination: Point, product: mpz, first: bytes, second: mpz) -> int:
    fields = (context, public, _coordinates(combination), _to_bytes(product), first, _to_bytes(second))
    joined = b"".join(len(field).to_bytes(8, "little") + field for field in fields)
    return int.from_bytes(hashlib.sha256(b"plumbob same scalar" + joined).digest(), "big") % ORDER


def _point(whole: bytes) -> Point:
    x, y = (mpz(int.from_bytes(whole[at : at + POINT_BYTES], "big")) for at in (1, 1 + POINT_BYTES))
    if whole[0] != 4 or len(whole) != PUBLIC_BYTES or max(x, y) >= _P or (y * y - (x * x - 3) * x - _B) % _P:
        raise CryptoError("an x-coordinate belongs to no point of the curve")
    return x, y


def _load_point(point: Point) -> ec.EllipticCurvePublicKey:
    return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, b"\4" + _coordinates(point))


def _coordinates(point: Point) -> bytes:
    return _to_bytes(point[0]) + _to_bytes(point[1])


def _to_bytes(value: mpz | int) -> bytes:
    return int(value).to_bytes(POINT_BYTES, "big")


# Points in Jacobian coordinates: x / z**2, y / z**3.


def _from_affine(point: Point) -> Jacobian:
    return point[0], point[1], mpz(1)


def _to_affine(point: Jacobian) -> Point | None:
    x, y, z = point
    if z == 0:
        return None
    inverse = gmpy2.invert(z, _P)
    square = inverse * inverse % _P
    return x * square % _P, y * square * inverse % _P


def _multiple(point: Point, factor: int) -> Jacobian:
    total = _NOWHERE
    for bit in bin(factor)[2:]:
        total = _double(total)
        if bit == "1":
            total = _plus(total, point)
    return total


def _double(point: Jacobian) -> Jacobian:
    x, y, z = point
    if z == 0:
        return point
    delta, gamma = z * z % _P, y * y % _P
    beta = x * gamma % _P
    alpha = 3 * (x - delta) * (x + delta) % _P
    new_x = (alpha * alpha - 8 * beta) % _P
    new_z = 2 * y * z % _P
    return new_x, (alpha * (4 * beta - new_x) - 8 * gamma * gamma) % _P, new_z


def _plus(point: Jacobian, other: Point) -> Jacobian:
    """A point with an affine one."""
    return _sum(point, (other[0], other[1], mpz(1)))


def _sum(left: Jacobian, right: Jacobian) -> Jacobian:
    x1, y1, z1 = left
    x2, y2, z2 = right
    if z1 == 0 or z2 == 0:
        return right if z1 == 0 else left
    square1 = z1 * z1 % _P
    if z2 == 1:
        u1, s1 = x1, y1
    else:
        square2 = z2 * z2 % _P
        u1, s1 = x1 * square2 % _P, y1 * square2 * z2 % _P
    u2, s2 = x2 * square1 % _P, y2 * square1 * z1 % _P
    across, up = (u2 - u1) % _P, (s2 - s1) % _P
    if across == 0:
        return _double(left) if up == 0 else _NOWHERE
    square = across * across % _P
    cube, base = square * across % _P, u1 * square % _P
    x3 = (up * up - cube - 2 * base) % _P
    return x3, (up * (base - x3) - s1 * cube) % _P, z1 * z2 * across % _P


def packed_bits(bits: Iterable[int]) -> bytes:
    """Eight to a byte, the first one lowest."""
    joined = list(bits)
    return bytes(sum(bit << place for place, bit in enumerate(joined[at : at + 8])) for at in range(0, len(joined), 8))


def unpacked_bits(data: bytes, count: int) -> list[int]:
    """The inverse of `packed_bits`."""
    return [data[place // 8] >> (place % 8) & 1 for place in range(count)]
