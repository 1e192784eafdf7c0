"""Residues in numpy: how they are transformed, drawn and packed. The kernel must give these numbers and bytes.

Modulo a prime p with a root r of x**degree + 1, a polynomial is stored as its values at the odd powers of r, in
bit-reversed order; products are then taken value by value. On the wire a residue has 50 bits.

Random and public polynomials come from ChaCha20 streams (RFC 8439). A stream is named by a key of 32 bytes and by two
numbers: the polynomial's index and the prime's. Its first block has counter 0. Words are little-endian.
"""

import struct
from functools import cache

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Packed, Residues
from plumbob.crypto.lattice.sets import ERROR_COINS, PRIME_BITS, ParameterSet, root
from plumbob.crypto.streams import chacha20

SMALL_STREAM = 0xFFFFFFFF
"""Stands in place of a prime's index, for polynomials that are the same modulo every prime."""
REFUSED_BYTE = 255  # 255 is divisible by three: the bytes below it give each ternary value equally often.


def multiply(left: Residues, right: Residues | np.uint64, prime: int) -> Residues:
    """Products modulo a prime below 2**50, value by value.

    The quotient is estimated in floating point, which is off by at most one; the remainder is then exact modulo 2**64.
    """
    quotient = (left.astype(np.float64) * right.astype(np.float64) / prime).astype(np.uint64)
    remainder = (left * right - quotient * np.uint64(prime)).astype(np.int64)
    remainder = np.where(remainder < 0, remainder + prime, remainder)
    return np.where(remainder >= prime, remainder - prime, remainder).astype(np.uint64)


def forward(values: Residues, prime: int) -> Residues:
    """Transform along the last axis, from coefficients to transformed order."""
    degree = values.shape[-1]
    powers = _powers(prime, degree)[0]
    result = values.copy()
    blocks, stride = 1, degree // 2
    while stride:
        cut = result.reshape(*values.shape[:-1], blocks, 2, stride)
        low, high = cut[..., 0, :].copy(), multiply(cut[..., 1, :], powers[blocks : 2 * blocks, None], prime)
        cut[..., 0, :] = (low + high) % np.uint64(prime)
        cut[..., 1, :] = (low + np.uint64(prime) - high) % np.uint64(prime)
        blocks, stride = 2 * blocks, stride // 2
    return result


def inverse(values: Residues, prime: int) -> Residues:
    """Transform back along the last axis, from transformed order to coefficients."""
    degree = values.shape[-1]
    powers = _powers(prime, degree)[1]
    result = values.copy()
    blocks, stride = degree // 2, 1
    while blocks:
        cut = result.reshape(*values.shape[:-1], blocks, 2, stride)
        low, high = cut[..., 0, :].copy(), cut[..., 1, :].copy()
        cut[..., 0, :] = (low + high) % np.uint64(prime)
        cut[..., 1, :] = multiply(low + np.uint64(prime) - high, powers[blocks : 2 * blocks, None], prime)
        blocks, stride = blocks // 2, 2 * stride
    return multiply(result, np.uint64(pow(degree, -1, prime)), prime)


@cache
def _powers(prime: int, degree: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The root's powers and their inverses, in bit-reversed order."""
    generator, bits = root(prime, degree), degree.bit_length() - 1
    reversed_order = [int(format(index, f"0{bits}b")[::-1], 2) for index in range(degree)]
    powers = [pow(generator, exponent, prime) for exponent in reversed_order]
    inverses = [pow(power, -1, prime) for power in powers]
    return np.array(powers, dtype=np.uint64), np.array(inverses, dtype=np.uint64)


# Streams.


def keystream(key: bytes, index: int, part: int, size: int) -> bytes:
    """The first bytes of a stream."""
    stream: bytes = chacha20(key, struct.pack("<IIQ", 0, part, index)).update(bytes(size))
    return stream


def uniform(key: bytes, index: int, part: int, bound: int, count: int) -> NDArray[np.uint64]:
    """Numbers uniform below `bound`, by rejection among the low 50 bits of the stream's 64-bit words."""
    mask = np.uint64((1 << PRIME_BITS) - 1)
    spare = 64
    while True:
        words = np.frombuffer(keystream(key, index, part, 8 * (count + spare)), dtype="<u8") & mask
        accepted = words[words < np.uint64(bound)]
        if len(accepted) >= count:
            return accepted[:count].astype(np.uint64)
        spare = 2 * spare + count


def ternary(key: bytes, index: int, count: int) -> NDArray[np.int64]:
    """Numbers uniform in {-1, 0, 1}: bytes modulo three, of which one value in 256 is refused."""
    spare = 256
    while True:
        drawn = np.frombuffer(keystream(key, index, SMALL_STREAM, count + spare), dtype=np.uint8)
        accepted = drawn[drawn != REFUSED_BYTE]
        if len(accepted) >= count:
            values: NDArray[np.int64] = accepted[:count].astype(np.int64) % 3 - 1
            return values
        spare = 2 * spare + count


def errors(key: bytes, index: int, count: int) -> NDArray[np.int64]:
    """Heads among 21 coins less heads among 21 others: standard deviation 3.24, never above 21."""
    words = np.frombuffer(keystream(key, index, SMALL_STREAM, 8 * count), dtype="<u8")
    mask = np.uint64((1 << ERROR_COINS) - 1)
    return _heads(words & mask) - _heads(words >> np.uint64(ERROR_COINS) & mask)


def _heads(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    total = np.zeros(len(words), dtype=np.int64)
    for coin in range(ERROR_COINS):
        total += (words >> np.uint64(coin) & np.uint64(1)).astype(np.int64)
    return total


# The wire.


def pack(values: Residues) -> Packed:
    """Arrays (..., degree) of residues as (..., bytes): 50 bits each, the lowest first."""
    octets = np.ascontiguousarray(values, dtype="<u8").view(np.uint8).reshape(*values.shape, 8)
    bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., :PRIME_BITS]
    joined = bits.reshape(*values.shape[:-1], values.shape[-1] * PRIME_BITS)
    return np.packbits(joined, axis=-1, bitorder="little")


def unpack(parameters: ParameterSet, packed: Packed) -> Residues:
    """The inverse of `pack`, for arrays (..., primes, bytes). ValueError if a residue is not below its prime."""
    bits = np.unpackbits(packed, axis=-1, bitorder="little")
    residues = np.zeros((*packed.shape[:-1], parameters.degree, 64), dtype=np.uint8)
    residues[..., :PRIME_BITS] = bits.reshape(*packed.shape[:-1], parameters.degree, PRIME_BITS)
    values = np.packbits(residues, axis=-1, bitorder="little").view("<u8")[..., 0].astype(np.uint64)
    if (values >= np.array(parameters.primes, dtype=np.uint64)[:, None]).any():
        raise ValueError("expected residues below their primes")
    return values
