"""Number-theoretic transforms in numpy: the readable definition of the order in which residues are stored and sent.

Modulo a prime p with a root r of x**degree + 1, a polynomial is stored as its values at the odd powers of r, in
bit-reversed order; products are then taken value by value.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from plumbob.crypto.lattice.interface import Residues
from plumbob.errors import CryptoError


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
def root(prime: int, degree: int) -> int:
    """A root of x**degree + 1: the first that small bases give."""
    for base in range(2, 1000):
        found = pow(base, (prime - 1) // (2 * degree), prime)
        if pow(found, degree, prime) == prime - 1:
            return found
    raise CryptoError(f"no transform of degree {degree} modulo {prime}: use a prime that is 1 modulo {2 * degree}")


@cache
def _powers(prime: int, degree: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The root's powers and their inverses, in bit-reversed order."""
    generator, bits = root(prime, degree), degree.bit_length() - 1
    reversed_order = [int(format(index, f"0{bits}b")[::-1], 2) for index in range(degree)]
    powers = [pow(generator, exponent, prime) for exponent in reversed_order]
    inverses = [pow(power, -1, prime) for power in powers]
    return np.array(powers, dtype=np.uint64), np.array(inverses, dtype=np.uint64)
