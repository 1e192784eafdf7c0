"""Vectors of ciphertexts, and the one kind of them that may leave.

`EncryptedVector` calculates and cannot be serialised. `Sendable` can: its ciphertexts were freshly randomised by the
last thing that was done to them, and anything calculated from one is an `EncryptedVector` again. What comes from
outside enters through `admit` only, so every vector holds units in range and a secret key never meets anything else.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Union

import gmpy2
import numpy as np
from gmpy2 import mpz

from plumbob.crypto.fixed_point import Encoded
from plumbob.crypto.limbs import Limbs, from_bytes, from_ints, is_less, to_bytes, to_mpz
from plumbob.errors import CiphertextRefusedError, CryptoError

if TYPE_CHECKING:
    from plumbob.crypto.paillier import PublicKey

Plain = Sequence[int]
FEW = 16  # Numbers that are multiplied one after the other.


class EncryptedVector:
    """Ciphertexts under one public key; `+`, `-`, `*` and `@` mean what they mean for the plaintexts."""

    def __init__(self, key: "PublicKey", limbs: Limbs) -> None:
        self.key = key
        self._limbs = limbs

    def __len__(self) -> int:
        return len(self._limbs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} ciphertexts)"

    @property
    def limbs(self) -> Limbs:
        """The ciphertexts as an engine takes them."""
        return self._limbs

    def __getitem__(self, rows: slice) -> "EncryptedVector":
        return EncryptedVector(self.key, self._limbs[rows])

    def __add__(self, other: Union["EncryptedVector", Plain]) -> "EncryptedVector":
        self._refuse_mismatch(other)
        right = other.limbs if isinstance(other, EncryptedVector) else self.key.embed(other)
        return EncryptedVector(self.key, self.key.engine.multiply(self.key.ring, self._limbs, right))

    def __neg__(self) -> "EncryptedVector":
        inverses = (gmpy2.invert(value, self.key.ring.modulus) for value in to_mpz(self._limbs))
        return EncryptedVector(self.key, from_ints(inverses, self.key.ring.width))

    def __sub__(self, other: Union["EncryptedVector", Plain]) -> "EncryptedVector":
        return self + (-other if isinstance(other, EncryptedVector) else [-value for value in other])

    def __mul__(self, factor: int) -> "EncryptedVector":
        """Every plaintext times one integer."""
        positive = EncryptedVector(self.key, self.key.engine.power(self.key.ring, self._limbs, abs(factor)))
        return positive if factor >= 0 else -positive

    def __matmul__(self, matrix: Encoded) -> "EncryptedVector":
        """This vector times an integer matrix of public width, one ciphertext per column."""
        if matrix.values.ndim != 2 or len(matrix.values) != len(self):
            raise CryptoError(f"expected a matrix with {len(self)} rows, got shape {matrix.values.shape}")
        sums = self.key.engine.combine(self.key.ring, self._limbs, matrix.values, matrix.bits)
        return EncryptedVector(self.key, sums)

    def randomised(self) -> "Sendable":
        """The same plaintexts under fresh randomness that hides the old one, also from the key's owner."""
        fresh = self.key.randomisers(len(self))
        return Sendable(self.key, self.key.engine.multiply(self.key.ring, self._limbs, fresh))

    def _refuse_mismatch(self, other: Union["EncryptedVector", Plain]) -> None:
        if len(other) != len(self):
            raise CryptoError(f"expected {len(self)} values to add, got {len(other)}")
        if isinstance(other, EncryptedVector) and other.key.n != self.key.n:
            raise CryptoError("expected ciphertexts under the same key; these belong to two different keys")


class Sendable(EncryptedVector):
    """Freshly randomised ciphertexts: the only ones with bytes. Made by `randomised` and by a key's `encrypt`."""

    def to_bytes(self) -> bytes:
        """The ciphertexts one after the other, little-endian, each of the same width."""
        return to_bytes(self._limbs)


def admit(key: "PublicKey", data: bytes, count: int, sent: Collection[bytes] = ()) -> EncryptedVector:
    """Admit a peer's ciphertexts once they are proved to be such. `sent` holds ciphertexts that must not come back.

    Decrypting 0, or any multiple of n's factors, gives a secret key away, hence the checks come before everything.
    """
    size = key.ciphertext_bytes
    if len(data) != count * size:
        raise CiphertextRefusedError(f"expected {count} ciphertexts of {size} bytes, got {len(data)} bytes")
    if any(data[start : start + size] in sent for start in range(0, len(data), size)):
        raise CiphertextRefusedError("a ciphertext that we sent came back unchanged; expected a masked, fresh one")
    limbs = np.ascontiguousarray(from_bytes(data, key.ring.width))
    _refuse_outside_group(key, limbs)
    return EncryptedVector(key, limbs)


def _refuse_outside_group(key: "PublicKey", limbs: Limbs) -> None:
    modulus = from_ints([key.ring.modulus], key.ring.width)[0]
    if not (limbs.any(axis=1) & is_less(limbs, modulus)).all():
        raise CiphertextRefusedError("a ciphertext is 0 or not reduced; expected 1 <= c < modulus")
    # A product is a unit if and only if every factor is: one gcd serves for all.
    if gmpy2.gcd(_product(key, limbs), key.n) != 1:
        raise CiphertextRefusedError("a ciphertext shares a factor with the key; expected units only")


def _product(key: "PublicKey", limbs: Limbs) -> mpz:
    """The product of all rows, through the engine's packing without a shift, which multiplies many at once."""
    while len(limbs) > FEW:
        limbs = key.engine.pack(key.ring, limbs, FEW, 0)
    product = mpz(1)
    for value in to_mpz(limbs):
        product = product * value % key.n
    return product
