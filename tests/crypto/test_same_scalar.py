"""One proof for a whole list: an honest list passes, a list with a single foreign point does not."""

import hashlib

import pytest

from plumbob.crypto.ristretto import GENERATOR, IDENTITY, ORDER, POINT_BYTES, RistrettoGroup
from plumbob.crypto.same_scalar import PROOF_BYTES, combine, factors, prove, public_point, verify
from plumbob.errors import CryptoError

GROUP = RistrettoGroup(threads=1)
CONTEXT, CHALLENGE, SCALAR = b"a session", bytes(range(32)), 0xC0FFEE << 200
CHUNK = 4 * POINT_BYTES


def a_list(count: int) -> bytes:
    """Points that texts hash to."""
    return GROUP.times_hashed(b"".join(hashlib.sha512(str(number).encode()).digest() for number in range(count)))


def over(points: bytes, challenge: bytes = CHALLENGE) -> bytes:
    """The combination of a list, in chunks."""
    return combine(GROUP, (points[at : at + CHUNK] for at in range(0, len(points), CHUNK)), challenge)


def judged(count: int, products: dict[int, bytes] | None = None) -> bool:
    """Whether a list passes in which some products are others."""
    points = a_list(count)
    returned = bytearray(GROUP.times(points, SCALAR))
    for place, product in (products or {}).items():
        returned[place * POINT_BYTES : (place + 1) * POINT_BYTES] = product
    public, proof = public_point(GROUP, SCALAR), prove(GROUP, SCALAR, CONTEXT, over(points))
    return verify(GROUP, CONTEXT, public, over(points), over(bytes(returned)), proof)


@pytest.mark.parametrize("count", [1, 2, 4, 9, 130])
def test_an_honest_list_passes(count: int) -> None:
    """A proof holds for an honest list of any length."""
    assert judged(count)


def test_a_list_with_something_wrong_does_not() -> None:
    """Two products exchanged, one under another scalar, one negated: each is noticed."""
    right = GROUP.times(a_list(9), SCALAR)
    products = [right[at : at + POINT_BYTES] for at in range(0, len(right), POINT_BYTES)]
    assert not judged(9, {2: products[5], 5: products[2]})
    assert not judged(9, {8: GROUP.times(a_list(1), SCALAR + 1)})
    assert not judged(9, {4: GROUP.times(products[4], ORDER - 1)})


def test_a_proof_is_for_one_context_challenge_and_scalar() -> None:
    """It cannot be sent again in another session or for another combination."""
    points = a_list(5)
    public, product = public_point(GROUP, SCALAR), GROUP.times(over(points), SCALAR)
    proof = prove(GROUP, SCALAR, CONTEXT, over(points))
    assert verify(GROUP, CONTEXT, public, over(points), product, proof)
    assert not verify(GROUP, b"another", public, over(points), product, proof)
    other = over(points, bytes(32))
    assert not verify(GROUP, CONTEXT, public, other, GROUP.times(other, SCALAR), proof)
    assert not verify(GROUP, CONTEXT, public_point(GROUP, 78), over(points), product, proof)


@pytest.mark.parametrize("number", [0, ORDER, 2**256 - 1])
@pytest.mark.parametrize("part", [0, 1])
def test_numbers_that_are_no_scalars_prove_nothing(number: int, part: int) -> None:
    """Zero, and second forms of a scalar, are refused wherever they stand."""
    point = a_list(1)
    proof = prove(GROUP, SCALAR, CONTEXT, point)
    parts = [proof[:32], proof[32:]]
    parts[part] = number.to_bytes(32, "little")
    product = GROUP.times(point, SCALAR)
    assert not verify(GROUP, CONTEXT, public_point(GROUP, SCALAR), point, product, b"".join(parts))
    assert not verify(GROUP, CONTEXT, public_point(GROUP, SCALAR), point, product, proof[: PROOF_BYTES - 1])


def test_the_identity_is_no_side_of_a_proof() -> None:
    """The identity, whose logarithm anybody knows, is refused as a public point and as a product."""
    point = a_list(1)
    proof = prove(GROUP, SCALAR, CONTEXT, point)
    for public, product in ((IDENTITY, GROUP.times(point, SCALAR)), (GENERATOR, IDENTITY)):
        with pytest.raises(CryptoError, match="identity"):
            verify(GROUP, CONTEXT, public, point, product, proof)


def test_factors_are_those_of_their_chunk() -> None:
    """Chunks have factors of their own, of all signed numbers of 128 bits; a longer chunk begins as a shorter one."""
    assert factors(CHALLENGE, 1, 3) == factors(CHALLENGE, 1, 5)[:48] != factors(CHALLENGE, 2, 3)
    drawn = factors(CHALLENGE, 0, 4096)
    signed = [int.from_bytes(drawn[at : at + 16], "little", signed=True) for at in range(0, len(drawn), 16)]
    assert min(signed) < -(2**126)
    assert max(signed) > 2**126
    assert 1800 < sum(value < 0 for value in signed) < 2300


def test_a_combination_that_vanishes_is_refused() -> None:
    """Without points, or with points that cancel out, a proof is refused: one about nothing would always hold."""
    with pytest.raises(CryptoError, match="vanished"):
        combine(GROUP, [], CHALLENGE)
