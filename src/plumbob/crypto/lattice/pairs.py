"""Shares of up to 128 bits as numpy arrays: the last axis holds two 64-bit limbs, the lower one first.

Two parties hold x as x0 + x1 modulo 2**bits. Each of them can lift its share alone, as long as abs(x) is small beside
the ring: that goes wrong with probability abs(x) / 2**bits, because only then does the sum of both shares not wrap
exactly once. With three or more parties it is wrong half of the time: `lift` is for two, and `masks` lifts for more.
Shares that were lifted are whole numbers, which do not wrap: any number of parties can `round_off`.
"""

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Packed, Pairs

BITS = 128
WORD = (1 << 64) - 1


def from_integers(values: NDArray[np.int64]) -> Pairs:
    """Signed numbers, modulo 2**128."""
    signed = np.asarray(values, dtype=np.int64)
    return np.stack([signed.view(np.uint64), (signed >> np.int64(63)).view(np.uint64)], axis=-1)


def add(left: Pairs, right: Pairs) -> Pairs:
    """Sums, number by number, modulo 2**128."""
    low = left[..., 0] + right[..., 0]
    carry = (low < left[..., 0]).astype(np.uint64)
    return np.stack([low, left[..., 1] + right[..., 1] + carry], axis=-1)


def negate(values: Pairs) -> Pairs:
    """Numbers with the other sign, modulo 2**128."""
    low = ~values[..., 0] + np.uint64(1)
    return np.stack([low, ~values[..., 1] + (low == 0).astype(np.uint64)], axis=-1)


def subtract(left: Pairs, right: Pairs) -> Pairs:
    """Differences, number by number, modulo 2**128."""
    return add(left, negate(right))


def reduce(values: Pairs, bits: int) -> Pairs:
    """Numbers modulo 2**bits."""
    return values & from_whole((1 << bits) - 1)


def lift(share: Pairs, modulus: int, is_first: bool) -> Pairs:
    """A share of x modulo `modulus`, at most 2**127, as a share modulo 2**128 of the same x."""
    return share.copy() if is_first else add(share, from_whole(-modulus))


def round_off(whole: Pairs, dropped: int) -> Pairs:
    """A share that is a signed whole number, divided by 2**dropped, at most 2**63, and rounded to the nearest."""
    low = whole[..., 0] + np.uint64(1 << dropped >> 1)
    high = (whole[..., 1] + (low < whole[..., 0])).view(np.int64)
    rounded = np.empty_like(whole)
    rounded[..., 0] = low >> np.uint64(dropped) | high.view(np.uint64) << np.uint64(64 - dropped)
    rounded[..., 1] = (high >> np.int64(dropped)).view(np.uint64)
    return rounded


def modulo(whole: Pairs, modulus: int) -> Pairs:
    """Signed whole numbers smaller than the modulus, brought into [0, modulus)."""
    return add_where(whole, whole[..., 1] >> np.uint64(63), modulus)


def add_where(values: Pairs, is_added: NDArray[np.uint64], whole: int) -> Pairs:
    """Add a whole number to those numbers whose flag is 1, modulo 2**128."""
    low, high = from_whole(whole)
    total = np.empty_like(values)
    np.add(values[..., 0], low * is_added, out=total[..., 0])
    np.add(values[..., 1], high * is_added, out=total[..., 1])
    total[..., 1] += total[..., 0] < values[..., 0]
    return total


def add_modulo(left: Pairs, right: Pairs, modulus: int) -> Pairs:
    """Sums of numbers below the modulus, which has at most 126 bits."""
    low = left[..., 0] + right[..., 0]
    high = left[..., 1] + right[..., 1] + (low < left[..., 0])
    modulus_low, modulus_high = from_whole(modulus)
    less_low = low - modulus_low
    less_high = high - modulus_high - (low < modulus_low)
    is_below_modulus = less_high >> np.uint64(63) != 0
    total = np.empty(np.broadcast_shapes(left.shape, right.shape), dtype=np.uint64)
    total[..., 0] = np.where(is_below_modulus, low, less_low)
    total[..., 1] = np.where(is_below_modulus, high, less_high)
    return total


def is_below(values: Pairs, bound: int) -> NDArray[np.bool_]:
    """Whether each number in [0, 2**128) is below the bound."""
    low, high = from_whole(bound)
    below: NDArray[np.bool_] = (values[..., 1] < high) | ((values[..., 1] == high) & (values[..., 0] < low))
    return below


def from_whole(value: int) -> Pairs:
    """One whole number, modulo 2**128."""
    return np.array([value & WORD, value >> 64 & WORD], dtype=np.uint64)


def to_octets(values: Pairs, size: int) -> Packed:
    """Numbers (..., 2) as (..., size): their lowest bytes, little-endian."""
    octets = np.ascontiguousarray(values, dtype="<u8").view(np.uint8)
    return np.ascontiguousarray(octets[..., :size])


def from_octets(octets: Packed) -> Pairs:
    """The inverse of `to_octets`."""
    whole = np.zeros((*octets.shape[:-1], 16), dtype=np.uint8)
    whole[..., : octets.shape[-1]] = octets
    return whole.view("<u8").astype(np.uint64)
