"""A party's secret scalar of one alignment: what it multiplies points by, and proves."""

from collections.abc import Iterable

from plumbob.crypto import same_scalar
from plumbob.crypto.ristretto import ORDER, PackedTexts, Points, RistrettoGroup, uniform_strings


class Blinder:
    """Multiplies by a scalar and by its inverse, and proves that it did; the kernel spreads points over threads."""

    def __init__(self, scalar: int, domain: bytes, threads: int) -> None:
        self._scalar, self._inverse = scalar, pow(scalar, -1, ORDER)
        self._domain = domain
        self._group = RistrettoGroup(threads=threads)

    def hashed(self, texts: PackedTexts, scalar: int = 1) -> bytes:
        """Texts hashed to points, times a scalar."""
        # The domain has a fixed length.
        return self._group.times_hashed(uniform_strings(self._domain, texts), scalar)

    def blinded(self, texts: PackedTexts) -> bytes:
        """Texts hashed to points, times the scalar."""
        return self.hashed(texts, self._scalar)

    def raised(self, points: Points) -> bytes:
        """Points times the scalar; CryptoError where one is no point."""
        return self._group.times(points, self._scalar)

    def lowered(self, points: Points) -> bytes:
        """Points times the scalar's inverse; CryptoError where one is no point."""
        return self._group.times(points, self._inverse)

    def public(self) -> bytes:
        """The scalar times the generator."""
        return same_scalar.public_point(self._group, self._scalar)

    def prove(self, context: bytes, points: Iterable[Points], challenge: bytes) -> bytes:
        """Prove that all points, chunk by chunk, were multiplied by this scalar."""
        combination = same_scalar.combined(self._group, points, challenge)
        return same_scalar.prove(self._group, self._scalar, context, combination)

    def is_proved(
        self,
        context: bytes,
        public: bytes,
        points: Iterable[Points],
        products: Iterable[Points],
        challenge: bytes,
        proof: bytes,
    ) -> bool:
        """Whether a peer proved the same; CryptoError where it sent something that is no point."""
        combination = same_scalar.combined(self._group, points, challenge)
        product = same_scalar.combined(self._group, products, challenge)
        return same_scalar.verify(self._group, context, public, combination, product, proof)
