"""Multiplying many points by a party's secret scalar, in the kernel's threads while messages travel.

Work is asked for first and fetched later. One thread of this process calls the kernel, which lets go of the interpreter
and spreads the points over threads of its own.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from plumbob.crypto import same_scalar
from plumbob.crypto.ristretto import ORDER, PackedTexts, Points, RistrettoGroup, uniform_strings

Pending = Callable[[], bytes]
"""Points that are being calculated; the call waits for them."""


class Blinder:
    """Multiplies by a scalar and by its inverse, and proves that it did."""

    def __init__(self, scalar: int, domain: bytes, threads: int) -> None:
        self._scalar, self._inverse = scalar, pow(scalar, -1, ORDER)
        self._domain = domain
        self._group = RistrettoGroup(threads=threads)
        self._helper = ThreadPoolExecutor(1)

    def blind(self, texts: PackedTexts) -> Pending:
        """PackedTexts hashed to points, times the scalar."""
        return self._helper.submit(self.hashed, texts, self._scalar).result

    def raised(self, points: Points) -> Pending:
        """Multiply points by the scalar; the fetching raises CryptoError where one is no point."""
        return self._helper.submit(self._group.times, points, self._scalar).result

    def lowered(self, points: Points) -> Pending:
        """Multiply points by the scalar's inverse."""
        return self._helper.submit(self._group.times, points, self._inverse).result

    def hashed(self, texts: PackedTexts, scalar: int = 1) -> bytes:
        """PackedTexts hashed to points, times a scalar."""
        # The domain has a fixed length.
        return self._group.times_hashed(uniform_strings(self._domain, texts), scalar)

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

    def close(self) -> None:
        self._helper.shutdown(cancel_futures=True)
