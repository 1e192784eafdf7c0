"""Integers as rows of 64-bit limbs, least significant first: the form in which engines take and return them.

A C-contiguous array of shape (count, width) is also the wire format, so that a message needs no conversion.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Literal

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

Limbs = NDArray[np.uint64]

LIMB_BITS = 64
ORDER: Literal["little"] = "little"


def width_for(bound: int) -> int:
    """How many limbs hold every integer in [0, bound)."""
    return max(1, -(-(int(bound) - 1).bit_length() // LIMB_BITS))


def from_ints(values: Iterable[int | mpz], width: int) -> Limbs:
    """Limbs of non-negative integers, each below 2**(64 * width)."""
    size = width * 8
    joined = b"".join([value.to_bytes(size, ORDER) for value in values])
    return np.frombuffer(joined, dtype="<u8").reshape(-1, width).astype(np.uint64, copy=False)


def to_ints(limbs: Limbs) -> list[int]:
    """The integers back, as Python's own."""
    return list(map(int.from_bytes, _rows(limbs), repeat(ORDER)))


def to_bytes(limbs: Limbs) -> bytes:
    """The integers one after the other, little-endian, each of the same width."""
    return np.ascontiguousarray(limbs, dtype="<u8").tobytes()


def from_bytes(data: bytes, width: int) -> Limbs:
    """The inverse of `to_bytes`; the length must be a multiple of the width, which the caller has checked."""
    return np.frombuffer(data, dtype="<u8").reshape(-1, width).astype(np.uint64, copy=False)


def to_mpz(limbs: Limbs) -> list[mpz]:
    """The integers back, in the form that the Python engine calculates with."""
    return list(map(mpz.from_bytes, _rows(limbs), repeat(ORDER)))


def _rows(limbs: Limbs) -> list[bytes]:
    """The bytes of each integer; numpy cuts them faster than slices do."""
    whole = np.ascontiguousarray(limbs, dtype="<u8").view(f"V{limbs.shape[1] * 8}")
    pieces: list[bytes] = whole.ravel().tolist()
    return pieces


def is_less(limbs: Limbs, bound: Limbs) -> NDArray[np.bool_]:
    """For each row whether it is below the bound, one row of the same width: the highest limb that differs decides."""
    differs = limbs != bound
    highest = limbs.shape[1] - 1 - differs[:, ::-1].argmax(axis=1)
    below: NDArray[np.bool_] = np.take_along_axis(limbs, highest[:, None], axis=1)[:, 0] < bound[highest]
    return below


def concatenate(parts: Sequence[Limbs]) -> Limbs:
    """Rows of several arrays of the same width, one below the other."""
    return np.ascontiguousarray(np.concatenate(parts, axis=0))
