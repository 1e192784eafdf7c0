"""Points of P-256 by their x-coordinate: as textbook arithmetic has them, and refused where they are none."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbob.crypto import curve
from plumbob.crypto.curve import ORDER, Scalar, hashed_points, split, uncompressed
from plumbob.crypto.engines.python import PythonEngine
from plumbob.errors import CryptoError

FIELD = 2**256 - 2**224 + 2**192 + 2**96 - 1
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
Point = tuple[int, int] | None
DOMAIN = b"a domain of this test"


def added(left: Point, right: Point) -> Point:
    """The sum of two points, by chord and tangent."""
    if left is None or right is None:
        return left or right
    if left[0] == right[0] and (left[1] + right[1]) % FIELD == 0:
        return None
    if left == right:
        slope = (3 * left[0] ** 2 - 3) * pow(2 * left[1], -1, FIELD)
    else:
        slope = (right[1] - left[1]) * pow(right[0] - left[0], -1, FIELD)
    x = (slope * slope - left[0] - right[0]) % FIELD
    return x, (slope * (left[0] - x) - left[1]) % FIELD


def multiplied(point: Point, scalar: int) -> Point:
    """By doubling and adding."""
    total: Point = None
    for bit in bin(scalar)[2:]:
        total = added(total, total)
        total = added(total, point) if bit == "1" else total
    return total


def lifted(x: bytes) -> Point:
    """A point with this x-coordinate."""
    value = int.from_bytes(x, "big")
    y = pow(value**3 - 3 * value + B, (FIELD + 1) // 4, FIELD)
    assert (y * y - value**3 + 3 * value - B) % FIELD == 0
    return value, y


@settings(max_examples=10, deadline=None)
@given(st.integers(1, ORDER - 1), st.lists(st.binary(max_size=40), min_size=1, max_size=3))
def test_multiples_are_those_of_the_textbook(scalar: int, texts: list[bytes]) -> None:
    """Hashed points, and points given by x, times a scalar: as chords and tangents give them."""
    points = hashed_points(DOMAIN, texts)
    expected = []
    for x in split(points):
        multiple = multiplied(lifted(x), scalar)
        assert multiple is not None
        expected.append(multiple[0].to_bytes(32, "big"))
    assert split(Scalar(scalar).times(points)) == expected
    assert split(Scalar(scalar).times_hashed(DOMAIN, texts)) == expected


def test_a_published_vector() -> None:
    """The first ECDH vector for P-256 that NIST publishes."""
    x = bytes.fromhex("700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287")
    scalar = 0x7D7DC5F71EB29DDAF80D6214632EEAE03D9058AF1FB6D22ED80BADB62BC1A534
    assert Scalar(scalar).times(x).hex() == "46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b"


def test_scalars_commute_and_cancel() -> None:
    """Two scalars in either order give the same points, and an inverse takes one away."""
    first, second = (1 + int.from_bytes(os.urandom(31), "big") for _ in range(2))
    points = hashed_points(DOMAIN, [b"anna", b"bert", b"carl"])
    both = Scalar(second).times(Scalar(first).times(points))
    assert both == Scalar(first).times(Scalar(second).times(points))
    assert Scalar(pow(first, -1, ORDER)).times(both) == Scalar(second).times(points)


def test_hashing_depends_on_domain_and_text() -> None:
    """The same text gives another point in another domain, other texts give others, and each is below the field."""
    texts = [str(number).encode() for number in range(200)]
    here, there = (split(hashed_points(domain, texts)) for domain in (DOMAIN, b"another"))
    assert len({*here, *there}) == 400
    assert all(int.from_bytes(x, "big") < FIELD for x in here)


def test_a_hash_is_frozen() -> None:
    """What a text hashes to never changes: two versions must find the same ids."""
    assert hashed_points(b"domain", [b"text"]).hex() == FROZEN


FROZEN = "9302a28e9c4e5197f1539d90388ac38713a7edee67e1b4307dbc8cb518e55ee0"


def off_curve() -> bytes:
    """The smallest x without a point."""
    return next(
        x.to_bytes(32, "big") for x in range(100) if pow(x**3 - 3 * x + B, (FIELD - 1) // 2, FIELD) == FIELD - 1
    )


@pytest.mark.parametrize("x", [off_curve(), FIELD.to_bytes(32, "big"), b"\xff" * 32], ids=["none", "field", "largest"])
def test_what_is_no_point_is_refused(x: bytes) -> None:
    """An x without a point, or not reduced, alone or among others, is refused and not multiplied."""
    good = hashed_points(DOMAIN, [b"anna"])
    for points in (x, good + x, x + good):
        with pytest.raises(CryptoError, match="x-coordinate"):
            Scalar(7).times(points)


def test_without_the_kernel_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python engine finds the same roots."""
    points = hashed_points(DOMAIN, [b"anna", b"bert"])
    found = uncompressed(points)
    monkeypatch.setattr(curve, "_engine", PythonEngine)
    assert uncompressed(points) == found


def test_nothing_is_nothing() -> None:
    """No points, no multiples."""
    assert Scalar(3).times(b"") == Scalar(3).times_hashed(DOMAIN, []) == hashed_points(DOMAIN, []) == b""
