"""The prime-order group ristretto255 (RFC 9496): points of 32 bytes, times secret scalars and in public combinations.

An element has exactly one encoding, so that two points are equal where their bytes are. What is no element's encoding
is refused, and so is the identity, whose product anybody knows.

The kernel multiplies (native/edwards.h), several points at a time and on several threads, in time that does not depend
on a secret scalar. Combinations are of public numbers only.

This module is not among the names of `plumbob.crypto`: only who aligns ids needs it.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto import _kernel
from plumbob.crypto.kernel import KernelEngine
from plumbob.errors import CryptoError

POINT_BYTES = 32
SCALAR_BYTES = 32
UNIFORM_BYTES = 64
FACTOR_BYTES = 16
ORDER = 2**252 + 27742317777372353535851937790883648493
GENERATOR = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
IDENTITY = bytes(POINT_BYTES)

Points = bytes | bytearray | memoryview
PackedTexts = tuple[Points, NDArray[np.int64], NDArray[np.int64]]
"""A buffer, and where each text begins and ends in it."""


def uniform_strings(beginning: bytes, texts: PackedTexts) -> bytes:
    """SHA-512 of this beginning and each text, one after the other: what `times_hashed` takes."""
    data, starts, ends = texts
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    begun, hashed = hashlib.sha512(beginning), []
    for start, end in spans:
        each = begun.copy()
        each.update(data[start:end])
        hashed.append(each.digest())
    return b"".join(hashed)


def available_paths() -> list[str]:
    """The instruction sets that the kernel can use on this machine, best first; "portable" is always the last."""
    return _kernel.ristretto_paths()


class RistrettoGroup(KernelEngine):
    """Points of ristretto255 as bytes, one after the other without gaps."""

    def __init__(self, path: str | None = None, threads: int | None = None) -> None:
        super().__init__(available_paths(), path, threads)

    def times(self, points: Points, scalar: int) -> bytes:
        """The multiples of points; CryptoError where one is no point, or is the identity."""
        check_size(points, POINT_BYTES)
        return _answer(_kernel.ristretto_times(self.path, points, scalar_bytes(scalar), self.threads))

    def times_hashed(self, uniform: Points, scalar: int = 1) -> bytes:
        """The multiples of the points that uniform strings of 64 bytes, hashes for example, are mapped to."""
        check_size(uniform, UNIFORM_BYTES)
        encoded = b"" if scalar == 1 else scalar_bytes(scalar)
        return _answer(_kernel.ristretto_times_mapped(self.path, uniform, encoded, self.threads))

    def add(self, left: Points, right: Points) -> bytes:
        """The sum of each pair; CryptoError as in `times`. A point and its negative give the identity."""
        check_pairs(left, right)
        return _answer(_kernel.ristretto_add(self.path, left, right, self.threads))

    def new_sum(self) -> "PointSum":
        """A sum of points to which nothing was added yet."""
        return PointSum(self.path, self.threads)


class PointSum:
    """A sum of points times factors that grows from chunk to chunk."""

    def __init__(self, path: str, threads: int) -> None:
        self._buckets = _kernel.ristretto_buckets(path)
        self._threads = threads

    def add(self, points: Points, factors: Points) -> None:
        """Add each point times its factor: 16 bytes, little-endian and signed. CryptoError where one is no point."""
        check_factors(points, factors)
        refused = _kernel.ristretto_combine(self._buckets, points, factors, self._threads)
        if refused is not None:
            raise refusal(refused)

    def total(self) -> bytes:
        """The sum of all that was added; of nothing, the identity, whose bytes are all zero."""
        try:
            return _kernel.ristretto_join(self._buckets)
        except ValueError:
            raise spoilt() from None


def refusal(place: int) -> CryptoError:
    """The error for bytes that encode no point."""
    return CryptoError(
        f"point {place} (counted from 0) is not the canonical encoding of an element of ristretto255 other than the "
        "identity; whoever sent it must send points of this group"
    )


def spoilt() -> CryptoError:
    """The error for a sum to which something was added that is no point."""
    return CryptoError("a point was refused, or a call interrupted, while this sum was made; start a new one")


def _answer(answer: tuple[bytes, None] | tuple[None, int]) -> bytes:
    points, refused = answer
    if points is None:
        raise refusal(refused or 0)
    return points


def check_size(data: Points, size: int) -> None:
    """Refuse bytes that are no multiple of this size."""
    if memoryview(data).nbytes % size:
        raise CryptoError(f"{memoryview(data).nbytes} bytes: expected a multiple of {size}; is the last one cut off?")


def check_pairs(left: Points, right: Points) -> None:
    """Refuse a point that is cut off, and more points on one side than on the other."""
    check_size(left, POINT_BYTES)
    if memoryview(left).nbytes != memoryview(right).nbytes:
        raise CryptoError("expected as many points right as left")


def check_factors(points: Points, factors: Points) -> None:
    """Refuse a factor too few or too many."""
    check_size(points, POINT_BYTES)
    if memoryview(points).nbytes * FACTOR_BYTES != memoryview(factors).nbytes * POINT_BYTES:
        raise CryptoError(f"expected a factor of {FACTOR_BYTES} bytes for each point")


def scalar_bytes(scalar: int) -> bytes:
    """A scalar as the kernel takes it; CryptoError where it is zero, or not below the order."""
    if not 0 < scalar < ORDER:
        raise CryptoError("a scalar is outside the range from 1 to the group's order - 1: reduce it modulo ORDER")
    return int(scalar).to_bytes(SCALAR_BYTES, "little")
