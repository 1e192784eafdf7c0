"""A proof that all points of a list were multiplied by the same secret scalar: one for the whole list.

Both sides form the same random combination of the points, and the verifier that of the products; one proof of equal
logarithms (Chaum and Pedersen) covers them all. The factors have 128 bits and follow from a challenge that nobody could
know before the products were fixed. docs/alignment.md has the argument.
"""

import hashlib
import hmac
from collections.abc import Iterable

from plumbob.crypto.ristretto import (
    FACTOR_BYTES,
    GENERATOR,
    IDENTITY,
    ORDER,
    POINT_BYTES,
    SCALAR_BYTES,
    Points,
    RistrettoGroup,
)
from plumbob.errors import CryptoError

PROOF_BYTES = 2 * SCALAR_BYTES
NONCE_BYTES = 48  # So many more than a scalar has that the remainder is uniform.


def combine(group: RistrettoGroup, chunks: Iterable[Points], challenge: bytes) -> bytes:
    """The sum of all points times their factors. CryptoError where one is no point."""
    total = group.new_sum()
    for number, points in enumerate(chunks):
        total.add(points, factors(challenge, number, len(points) // POINT_BYTES))
    found = total.total()
    if found == IDENTITY:
        raise CryptoError("a random combination of points vanished; the points are not independent")
    return found


def factors(challenge: bytes, chunk: int, count: int) -> bytes:
    """The factors for the points of one chunk: any signed number of 128 bits for each."""
    start = b"plumbob combination" + challenge + chunk.to_bytes(8, "little")
    return hashlib.shake_256(start).digest(FACTOR_BYTES * count)


def public_point(group: RistrettoGroup, scalar: int) -> bytes:
    """The scalar times the generator: what all products are compared with."""
    return group.times(GENERATOR, scalar)


def prove(group: RistrettoGroup, scalar: int, context: bytes, combination: bytes) -> bytes:
    """Prove that a combination of products is this multiple of the combination of their points."""
    public, product = public_point(group, scalar), group.times(combination, scalar)
    # Drawn from all that the proof depends on, so that no two proofs share it, after a restart either.
    secret = scalar.to_bytes(SCALAR_BYTES, "little") + hashlib.sha512(context).digest() + combination
    drawn = hashlib.shake_256(b"plumbob same scalar nonce" + secret).digest(NONCE_BYTES)
    nonce = 1 + int.from_bytes(drawn, "little") % (ORDER - 1)
    answer = _answer(context, public, combination, product, group.times(GENERATOR + combination, nonce))
    response = (nonce - answer * scalar) % ORDER
    return answer.to_bytes(SCALAR_BYTES, "little") + response.to_bytes(SCALAR_BYTES, "little")


def verify(
    group: RistrettoGroup, context: bytes, public: bytes, combination: bytes, product: bytes, proof: bytes
) -> bool:
    """Whether the product is the same multiple of the combination as `public` is of the generator."""
    answer, response = (int.from_bytes(part, "little") for part in (proof[:SCALAR_BYTES], proof[SCALAR_BYTES:]))
    if len(proof) != PROOF_BYTES or not (0 < answer < ORDER and 0 < response < ORDER):
        return False
    nonces = group.add(group.times(GENERATOR + combination, response), group.times(public + product, answer))
    expected = _answer(context, public, combination, product, nonces)
    return hmac.compare_digest(expected.to_bytes(SCALAR_BYTES, "little"), proof[:SCALAR_BYTES])


def _answer(context: bytes, *points: bytes) -> int:
    fields = (context, *points)
    joined = b"".join(len(field).to_bytes(8, "little") + field for field in fields)
    return int.from_bytes(hashlib.sha512(b"plumbob same scalar" + joined).digest(), "little") % ORDER
