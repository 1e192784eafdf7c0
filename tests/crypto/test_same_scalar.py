"""One proof for a whole list: an honest list passes, a list with a single foreign point does not."""

import secrets

import gmpy2
import pytest

from plumbob.crypto import same_scalar
from plumbob.crypto.curve import ORDER, POINT_BYTES, Scalar, hashed_points
from plumbob.crypto.same_scalar import Prover, combined, factors, lifted, verify
from plumbob.errors import CryptoError

CONTEXT = b"a session"


def a_list(count: int) -> bytes:
    """Points that texts hash to."""
    return hashed_points(b"test", [str(number).encode() for number in range(count)])


def judged(count: int, swap: tuple[int, int] | None = None, foreign: bool = False, flip: int | None = None) -> bool:
    """Whether a list passes, after something was done to its products."""
    scalar, other = (1 + secrets.randbelow(ORDER - 1) for _ in range(2))
    points = a_list(count)
    products = [Scalar(scalar).times(points)[at : at + POINT_BYTES] for at in range(0, len(points), POINT_BYTES)]
    prover, challenge = Prover(scalar), secrets.token_bytes(32)
    if swap is not None:
        products[swap[0]], products[swap[1]] = products[swap[1]], products[swap[0]]
    if foreign:
        products[0] = Scalar(other).times(points[:POINT_BYTES])
    joined = b"".join(products)
    signs = list(prover.signs(points, joined))
    if flip is not None:
        signs[flip] ^= 1
    return verify(CONTEXT, prover.public(), points, joined, signs, challenge, prover.prove(CONTEXT, points, challenge))


@pytest.mark.parametrize("count", [1, 2, 3, 9, 130])
def test_an_honest_list_passes(count: int) -> None:
    """Whatever its length and the signs of its points."""
    assert judged(count)


def test_a_list_with_something_wrong_does_not() -> None:
    """Two products exchanged, one under another scalar, one with the other sign: each is noticed."""
    assert not judged(9, swap=(2, 5))
    assert not judged(9, foreign=True)
    assert not judged(9, flip=4)


def test_a_proof_is_for_one_context_and_one_challenge() -> None:
    """It cannot be sent again in another session or for another combination."""
    scalar, points = 77, a_list(5)
    products, prover = Scalar(scalar).times(points), Prover(scalar)
    signs, challenge = prover.signs(points, products), secrets.token_bytes(32)
    proof = prover.prove(CONTEXT, points, challenge)
    assert verify(CONTEXT, prover.public(), points, products, signs, challenge, proof)
    assert not verify(b"another", prover.public(), points, products, signs, challenge, proof)
    assert not verify(CONTEXT, prover.public(), points, products, signs, secrets.token_bytes(32), proof)
    assert not verify(CONTEXT, Prover(78).public(), points, products, signs, challenge, proof)


def test_combinations_are_those_of_single_multiples() -> None:
    """Buckets give what adding one multiple after the other gives."""
    points, drawn = lifted(a_list(40)), factors(b"c", 40)
    signed = [-factor if place % 3 else factor for place, factor in enumerate(drawn)]
    total = same_scalar._NOWHERE
    for point, factor in zip(points, signed, strict=True):
        x, y = point
        there = (x, y if factor > 0 else -y % same_scalar._P)
        total = same_scalar._sum(total, same_scalar._multiple(there, abs(factor)))
    assert combined(points, signed) == same_scalar._to_affine(total)


def test_what_is_no_point_is_refused() -> None:
    """An x without a y belongs to no list."""
    without_y = next(
        x for x in range(1, 99) if gmpy2.legendre(x**3 - 3 * x + int(same_scalar._B), same_scalar._P) == -1
    )
    with pytest.raises(CryptoError):
        lifted(without_y.to_bytes(POINT_BYTES, "big"))
